"""The state of the service, and the addresses to begin with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gainboard import __version__
from gainboard.api.models.answers import Model


class Health(Model):
    """That the service runs, and which version of it."""

    status: str = "ok"
    version: str = __version__


class Ready(Model):
    """That the service can answer."""

    status: str = "ok"
    database: str = "ok"
    jobs: Literal["here", "elsewhere", "off"] = Field(
        description="Which server works them: this one, another (or this one in a moment); off: this one never does"
    )
    job_slots: int = Field(description="Processes that this server may work jobs in")
    compiled: dict[str, bool] = Field(
        description="What the `fast` extra can compile, and whether it is loaded; plain code serves in its place"
    )


class Door(Model):
    """Where to go from here."""

    name: str = "Gainboard"
    version: str = __version__
    documentation: str = "/docs"
    openapi: str = "/openapi.json"
    metrics: str = "/v1/metrics"
    collections: str = "/v1/collections"
    job_kinds: str = "/v1/job-kinds"
    report_kinds: str = "/v1/report-kinds"
