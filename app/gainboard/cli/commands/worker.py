"""Run jobs on another host, beside servers on PostgreSQL."""

from __future__ import annotations

import os
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

from gainboard.cli.command import Example, Option, command, count
from gainboard.cli.options import HOST, LAST_PORT

if TYPE_CHECKING:
    from gainboard.jobs.worker_process import JobTelemetry


@command(
    __doc__,
    Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard worker", "on a host of the fleet"),
)
def worker(
    *,
    job_slots: Annotated[
        int | None,
        Option(
            "number of processes that run jobs (default: one less than there are cores)",
            metavar="N",
            read=count("a number of processes", 1, 256, 4),
        ),
    ] = None,
    metrics_port: Annotated[
        int | None,
        Option(
            "show measurements to Prometheus on this port", metavar="PORT", read=count("a port", 1, LAST_PORT, 9090)
        ),
    ] = None,
    metrics_host: Annotated[str, "address for it (default: only this machine)"] = HOST,
) -> None:
    """Run jobs of the servers of a PostgreSQL database, on this host. Start any number of workers with the same
    GAINBOARD_DATABASE_URL. Servers share the jobs with them, unless they were started with --job-slots 0. A worker that
    is stopped finishes its chunks first; a second signal ends it at once. If a worker dies, another process does its
    chunks again.
    """
    from gainboard import logs  # noqa: PLC0415
    from gainboard.errors import BadSetting  # noqa: PLC0415
    from gainboard.evaluation.workspace import Workspace  # noqa: PLC0415
    from gainboard.settings import Settings  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415
    from gainboard.store.machine import UMASK  # noqa: PLC0415

    try:
        from gainboard.jobs.fleet import FleetWorker  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"A worker needs more ({error}). Install it, in the folder of Gainboard's source: pip install '.[cluster]'"
        ) from error
    os.umask(UMASK)
    settings = Settings.read(os.environ)
    logs.configure()
    with closing(Database(settings.url, objects=settings.objects)) as database:
        require_current(database)
        measures = _start_telemetry(metrics_host, metrics_port) if metrics_port else None
        slots = job_slots or max(1, settings.slots)
        FleetWorker(Workspace(database), slots, settings.worker_timeout, measures).run()


def _start_telemetry(host: str, port: int) -> JobTelemetry:
    """Return measurements that Prometheus can read at an address of this host."""
    from gainboard.errors import BadSetting  # noqa: PLC0415
    from gainboard.jobs.worker_process import JobTelemetry  # noqa: PLC0415

    try:
        from prometheus_client import CollectorRegistry, start_http_server  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise BadSetting(
            f"--metrics-port needs more ({error}). Install it, in the folder of Gainboard's source: pip install "
            "'.[metrics]'"
        ) from error
    registry = CollectorRegistry()
    try:
        start_http_server(port, host, registry)
    except OSError as error:
        raise BadSetting(f"Cannot listen on {host}:{port}: {error.strerror}. Choose another --metrics-port.") from error
    return JobTelemetry(registry)
