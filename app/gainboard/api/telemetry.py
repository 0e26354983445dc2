"""`/metrics`: measurements of the service for Prometheus. They name routes and statuses, never a team or run."""

from __future__ import annotations

import logging
import shutil
import time
from collections import deque
from datetime import UTC, datetime
from functools import cache, lru_cache
from json.encoder import encode_basestring
from threading import Event, Lock, Thread
from typing import Annotated, get_args

from fastapi import APIRouter, Depends, Request, Response
from starlette.types import Scope

from gainboard.api.answers import NEVER
from gainboard.api.dependencies import EngineDep, PrincipalDep, WorkspaceDep
from gainboard.api.problems import documented
from gainboard.api.routes import CheckedRoute
from gainboard.api.uploads import Readers
from gainboard.errors import Forbidden, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker_process import JobTelemetry
from gainboard.store import audit, claims, jobs, processes
from gainboard.vocabulary import JobState

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
    "gainboard_servers": "Servers of the database that live",
    "gainboard_workers": "Workers of the database that live",
    "gainboard_worker_slots": "Processes in which these workers may run jobs",
    "gainboard_last_backup_timestamp_seconds": "Time of the last `gainboard backup`, in seconds since 1970; 0: never",
    "gainboard_last_backup_bytes": "Size of the file that it wrote",
    "gainboard_job_slots": "Processes in which this server runs jobs; 0 if others run them",
    "gainboard_readers": "Uploads that this process may read at once",
    "gainboard_readers_busy": "Uploads that this process reads now",
}
"""Numbers of now, with their meanings. The first eight are those of the database."""

PROBES = ("/healthz", "/readyz", "/metrics")
"""The addresses that machines ask for all the time."""

router = APIRouter(tags=["health"], responses=documented(), route_class=CheckedRoute)


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
        # Without a route, so that both start at 0: Prometheus sees no increase in a counter whose first value is 1.
        answers = Counter(
            "gainboard_answers",
            "Requests answered, by whether the status is 500 or more",
            ("failed",),
            registry=self.registry,
        )
        self._answered = {failed: answers.labels("yes" if failed else "no") for failed in (False, True)}
        self._gauges = {name: Gauge(name, what, registry=self.registry) for name, what in GAUGES.items()}
        by = ("folder",)
        self._free = Gauge("gainboard_folder_free_bytes", "Free space in a folder", by, registry=self.registry)
        self._space = Gauge("gainboard_folder_bytes", "Size of the disk of a folder", by, registry=self.registry)
        self._jobs = Gauge("gainboard_jobs", "Jobs of all collections", ("state",), registry=self.registry)
        self.work = JobTelemetry(self.registry)

    def note_database(self, workspace: Workspace) -> None:
        """Set what the database says about jobs, workers and backups. Every process reports the same numbers."""
        with workspace.database.reading() as tx:
            backup = audit.last(tx, audit.AuditWanted(action="backup-taken"))
            by_state, oldest = jobs.count_by_state(tx), jobs.oldest_open(tx)
            (ready, running), living = claims.count(tx), processes.list_processes(tx, workspace.database.path)
        workers = [process for process in living if process.kind == "worker"]
        for state in get_args(JobState):  # none is stored as damaged, so that is always 0
            self._jobs.labels(state).set(by_state.get(state, 0))
        self.note_now(
            gainboard_oldest_open_job_seconds=(workspace.now() - oldest).total_seconds() if oldest else 0,
            gainboard_chunks_ready=ready,
            gainboard_chunks_running=running,
            gainboard_servers=len(living) - len(workers),
            gainboard_workers=len(workers),
            gainboard_worker_slots=sum(worker.slots for worker in workers),
            gainboard_last_backup_timestamp_seconds=datetime.fromisoformat(backup.at).timestamp() if backup else 0,
            gainboard_last_backup_bytes=backup.details.get("bytes", 0) if backup else 0,
        )
        if backup and {"free_bytes", "disk_bytes"} <= backup.details.keys():
            self._note_space("backups", backup.details["free_bytes"], backup.details["disk_bytes"])

    def note_folders(self, workspace: Workspace) -> None:
        """Set the free space of the folders in which this server stores: none if all is on another host."""
        file, objects = workspace.database.path, workspace.database.objects
        for name, folder in (("data", file and file.parent), ("objects", objects and objects.folder)):
            if folder:
                disk = shutil.disk_usage(folder)
                self._note_space(name, disk.free, disk.total)

    def _note_space(self, folder: str, free: int, size: int) -> None:
        self._free.labels(folder).set(free)
        self._space.labels(folder).set(size)

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
        self._answered[status >= 500].inc()


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
def read_telemetry(
    request: Request, workspace: WorkspaceDep, engine: EngineDep, allowed: Annotated[None, Depends(_may_read)]
) -> Response:
    """Return counts and times of requests, and jobs by state, in Prometheus's text format (organisers)."""
    telemetry: Telemetry | None = request.app.state.telemetry
    if telemetry is None:
        raise NotFound(
            "Nothing is measured: the `metrics` extra is not installed. Install it, in the folder of Gainboard's "
            "source (pip install '.[metrics]'), and restart the service."
        )
    telemetry.note_database(workspace)
    readers: Readers = request.app.state.readers
    telemetry.note_folders(workspace)
    telemetry.note_now(
        gainboard_readers=readers.most,
        gainboard_readers_busy=readers.busy,
        gainboard_job_slots=engine.slots if engine.works == "here" else 0,
    )
    return Response(
        generate_latest(telemetry.registry), media_type=CONTENT_TYPE_LATEST, headers={"Cache-Control": NEVER}
    )


access = logging.getLogger("gainboard.access")
_quoted = encode_basestring


@lru_cache(maxsize=1)
def _to_the_second(seconds: int) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}"


class AccessLog:
    """A writer of one line for each request, in a thread of its own, so that no request waits for the log.

    The lines are in the order in which the requests ended. No line is lost when the service stops or when the log is
    slow: if too many lines wait, the thread that adds the next line writes them all.
    """

    MOST_WAITING = 10_000
    SECONDS = 0.1
    """Seconds between two writes."""

    def __init__(self) -> None:
        self._waiting: deque[str] = deque()
        self._writing = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread that writes."""
        self._stopped.clear()
        self._thread = Thread(target=self._run, name="access-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the lines that wait. Later lines are written at once."""
        if (thread := self._thread) is not None:
            # Before the end of the thread: lines that come from now on are written at once.
            self._thread = None
            self._stopped.set()
            thread.join()
        self._write()

    def note(
        self, request_id: str, method: str, path: str, status: int, seconds: float, token: str | None = None
    ) -> None:
        """Add the request's line to the log.

        The query is left out: it may hold what should not stay in a log. `token` is the id of the token that the
        request or its session has, valid or not; None without one.
        """
        if not access.isEnabledFor(logging.INFO):
            return
        now, of_whom = time.time(), "null" if token is None else _quoted(token)
        # Written by hand: an encoder takes three times as long, and a busy server writes thousands of lines a second.
        self._waiting.append(
            f'{{"time": "{_to_the_second(int(now))}.{int(now % 1 * 1e6):06}+00:00", "level": "info", '
            f'"logger": "{access.name}", "message": "request", "request_id": {_quoted(request_id)}, '
            f'"method": {_quoted(method)}, "path": {_quoted(path)}, "status": {status}, "seconds": {seconds:.6f}, '
            f'"token": {of_whom}}}'
        )
        if self._thread is None or len(self._waiting) > self.MOST_WAITING:
            self._write()

    def _run(self) -> None:
        while not self._stopped.wait(self.SECONDS):
            self._write()

    def _write(self) -> None:
        with self._writing:
            # Only the lines of now: others that come meanwhile must not keep the writer here.
            lines = [self._waiting.popleft() for _ in range(len(self._waiting))]
            if lines:
                access.info("%s", "\n".join(lines))
