"""Liveness, readiness, and the front door"""

from __future__ import annotations

from fastapi import APIRouter, Response
from pydantic import BaseModel

from app import __version__
from app.api.dependencies import WorkspaceDep
from app.api.problems import documented

router = APIRouter(tags=["health"], responses=documented())


class Health(BaseModel):
    """That the service runs, and which version of it."""

    status: str = "ok"
    version: str = __version__


class Ready(BaseModel):
    """That the service can answer."""

    status: str = "ok"
    database: str = "ok"


class Door(BaseModel):
    """Where to go from here."""

    name: str = "Gainboard"
    version: str = __version__
    documentation: str = "/docs"
    openapi: str = "/openapi.json"
    metrics: str = "/v1/metrics"
    collections: str = "/v1/collections"


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
def read_readiness(workspace: WorkspaceDep, response: Response) -> Ready:
    """Whether the database answers too; 503 where it does not."""
    workspace.database.ping()
    response.headers["Cache-Control"] = "no-store"
    return Ready()
