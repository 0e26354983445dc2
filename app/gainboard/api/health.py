"""Liveness, readiness, and the front door"""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field

from gainboard import __version__, compiled
from gainboard.api.dependencies import EngineDep, WorkspaceDep
from gainboard.api.problems import documented

router = APIRouter(tags=["health"], responses=documented())


class Health(BaseModel):
    """That the service runs, and which version of it."""

    status: str = "ok"
    version: str = __version__


class Ready(BaseModel):
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


class Door(BaseModel):
    """Where to go from here."""

    name: str = "Gainboard"
    version: str = __version__
    documentation: str = "/docs"
    openapi: str = "/openapi.json"
    metrics: str = "/v1/metrics"
    collections: str = "/v1/collections"
    job_kinds: str = "/v1/job-kinds"
    report_kinds: str = "/v1/report-kinds"


@router.get("/")
def read_root() -> Door:
    """Where to go from here."""
    return Door()


@router.get("/healthz")
def read_health(response: Response) -> Health:
    """Whether the process answers."""
    response.headers["Cache-Control"] = "no-store"
    return Health()


@router.get("/readyz")
def read_readiness(workspace: WorkspaceDep, engine: EngineDep, response: Response) -> Ready:
    """Whether the database answers too; 503 where it does not."""
    workspace.database.ping()
    response.headers["Cache-Control"] = "no-store"
    return Ready(jobs=engine.works, job_slots=engine.slots, compiled=compiled.loaded())
