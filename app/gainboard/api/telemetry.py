"""`/metrics`: measurements of the service for Prometheus. They name routes and statuses, never a team or run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response
from starlette.types import Scope

from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.problems import documented
from gainboard.errors import Forbidden, NotFound
from gainboard.store import jobs
from gainboard.store.job_records import JobState

try:
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
except ImportError:  # the `metrics` extra is not installed
    IS_INSTALLED = False
else:
    IS_INSTALLED = True

router = APIRouter(tags=["health"], responses=documented())


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
        self._jobs = Gauge("gainboard_jobs", "Jobs of all collections", ("state",), registry=self.registry)

    def note_jobs(self, by_state: Mapping[JobState, int]) -> None:
        """Set the number of jobs in each state in the database. Every process reports the same number."""
        for state in get_args(JobState):
            self._jobs.labels(state).set(by_state.get(state, 0))

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
    with workspace.database.reading() as tx:
        telemetry.note_jobs(jobs.count_by_state(tx))
    return Response(
        generate_latest(telemetry.registry), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": "no-store"}
    )
