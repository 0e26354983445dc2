"""`/metrics`: measurements of the service for Prometheus. They name routes and statuses, never a team or run."""

from __future__ import annotations

from functools import cache
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response
from starlette.types import Scope

from gainboard.api.answers import NEVER
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.problems import documented
from gainboard.api.readers import Readers
from gainboard.errors import Forbidden, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.telemetry import JobTelemetry
from gainboard.store import claims, fleet, jobs
from gainboard.store.job_records import JobState

try:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ImportError:  # the `metrics` extra is not installed
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

GAUGES = {
    "gainboard_oldest_open_job_seconds": "Time since the oldest job was asked for that is not over; 0 if all are",
    "gainboard_chunks_ready": "Chunks of jobs that wait for a process",
    "gainboard_chunks_running": "Chunks of jobs that processes work on",
    "gainboard_workers": "Workers of the fleet that are alive",
    "gainboard_worker_slots": "Processes in which these workers may run jobs",
    "gainboard_readers": "Uploads that this process may read at once",
    "gainboard_readers_busy": "Uploads that this process reads now",
}
"""Numbers of now, with their meanings. The first five are those of the database."""

PROBES = ("/healthz", "/readyz", "/metrics")
"""The addresses that machines ask for all the time."""

router = APIRouter(tags=["health"], responses=documented())


def is_probe(scope: Scope) -> bool:
    """Return whether a request is a probe, which is left out of traces."""
    return scope["type"] == "http" and scope["path"] in PROBES


class Telemetry:
    """The counters since the process started. Each server process has its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        labels = ("method", "route")
        requests = Counter("gainboard_requests", "Requests answered", (*labels, "status"), registry=self.registry)
        seconds = Histogram("gainboard_request_seconds", "Time to answer a request", labels, registry=self.registry)
        # Finding a child takes longer than counting with it. The registry keeps all children anyway, so this adds no
        # memory.
        self._requests, self._seconds = cache(requests.labels), cache(seconds.labels)
        kept = Counter(
            "gainboard_kept_answers",
            "Scores asked for, by whether the answer was kept",
            ("found",),
            registry=self.registry,
        )
        self._kept = cache(kept.labels)
        self._gauges = {name: Gauge(name, what, registry=self.registry) for name, what in GAUGES.items()}
        self._jobs = Gauge("gainboard_jobs", "Jobs of all collections", ("state",), registry=self.registry)
        self.work = JobTelemetry(self.registry)

    def note_database(self, workspace: Workspace) -> None:
        """Set what the database says about jobs and workers. Every process reports the same numbers."""
        with workspace.database.reading() as tx:
            by_state, oldest = jobs.count_by_state(tx), jobs.oldest_open(tx)
            (ready, running), alive = claims.count(tx), fleet.living_workers(tx)
        for state in get_args(JobState):
            self._jobs.labels(state).set(by_state.get(state, 0))
        self.note_now(
            gainboard_oldest_open_job_seconds=(workspace.now() - oldest).total_seconds() if oldest else 0,
            gainboard_chunks_ready=ready,
            gainboard_chunks_running=running,
            gainboard_workers=len(alive),
            gainboard_worker_slots=sum(worker.slots for worker in alive),
        )

    def note_now(self, **values: float) -> None:
        """Set gauges by name."""
        for name, value in values.items():
            self._gauges[name].set(value)

    def note_kept(self, *, found: bool) -> None:
        """Count a request for scores, and whether its answer was kept from an earlier one."""
        self._kept("yes" if found else "no").inc()

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answered request under its route's template, so that no name gets into the measurements."""
        template = getattr(scope.get("route"), "path_format", "unmatched")
        self._requests(scope["method"], template, str(status)).inc()
        self._seconds(scope["method"], template).observe(seconds)


def _may_read(request: Request, principal: PrincipalDep) -> None:
    if request.app.state.telemetry_is_public:
        return
    principal.require_token()
    if principal.role != "organiser":
        raise Forbidden(
            "Only organisers may read this. Send an organiser's token, or start the service with "
            "GAINBOARD_METRICS=public."
        )


@router.get(
    "/metrics", response_class=Response, responses=documented(Forbidden, also={200: {"content": {"text/plain": {}}}})
)
def read_telemetry(request: Request, workspace: WorkspaceDep, allowed: Annotated[None, Depends(_may_read)]) -> Response:
    """Return counts and times of requests, and jobs by state, in Prometheus's text format (organisers)."""
    telemetry: Telemetry | None = request.app.state.telemetry
    if telemetry is None:
        raise NotFound(
            "Nothing is measured: the `metrics` extra is not installed. Install Gainboard with it and restart the "
            "service."
        )
    telemetry.note_database(workspace)
    readers: Readers = request.app.state.readers
    telemetry.note_now(gainboard_readers=readers.most, gainboard_readers_busy=readers.busy)
    return Response(
        generate_latest(telemetry.registry), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": NEVER}
    )
