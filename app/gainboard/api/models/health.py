"""The state of the service, and the addresses to start from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gainboard import __version__
from gainboard.api.models.answers import Model


class Health(Model):
    """The answer that the service runs, with its version."""

    status: str = "ok"
    version: str = __version__


class Ready(Model):
    """The answer whether the service can serve requests."""

    status: str = "ok"
    database: str = "ok"
    jobs: Literal["here", "elsewhere", "off"] = Field(
        description="Which server runs jobs: `here`, `elsewhere` (this server may take over soon), or `off`: this "
        "server never does"
    )
    job_slots: int = Field(description="The number of processes in which this server may run jobs")
    workers: int = Field(description="The number of workers of the fleet that are alive (`gainboard worker`)")
    worker_slots: int = Field(description="The number of processes in which they may run jobs")
    worker_slots_busy: int = Field(description="The number of these that work now")
    compiled: dict[str, bool] = Field(
        description="What the `fast` extra can compile, and whether it is loaded; plain code runs otherwise"
    )


class Door(Model):
    """The addresses to start from."""

    name: str = "Gainboard"
    version: str = __version__
    documentation: str = "/docs"
    openapi: str = "/openapi.json"
    metrics: str = "/v1/metrics"
    collections: str = "/v1/collections"
    job_kinds: str = "/v1/job-kinds"
    report_kinds: str = "/v1/report-kinds"
