"""Liveness, readiness, and the first page."""

from __future__ import annotations

from fastapi import APIRouter, Response

from gainboard import compiled
from gainboard.api.caching import NEVER
from gainboard.api.dependencies import EngineDep, WorkspaceDep
from gainboard.api.models.service import Door, Health, Ready
from gainboard.api.problems import documented
from gainboard.store import fleet

router = APIRouter(tags=["health"], responses=documented())


@router.get("/")
def read_root() -> Door:
    """Return the addresses to start from."""
    return Door()


@router.get("/healthz")
def read_health(response: Response) -> Health:
    """Return that the process answers."""
    response.headers["Cache-Control"] = NEVER
    return Health()


@router.get("/readyz")
def read_readiness(workspace: WorkspaceDep, engine: EngineDep, response: Response) -> Ready:
    """Return whether the database answers too; the status is 503 if it does not."""
    workspace.database.ping()
    response.headers["Cache-Control"] = NEVER
    with workspace.database.reading() as tx:
        alive = fleet.living_workers(tx)
    return Ready(
        jobs=engine.works,
        job_slots=engine.slots,
        workers=len(alive),
        worker_slots=sum(worker.slots for worker in alive),
        worker_slots_busy=sum(worker.working for worker in alive),
        compiled=compiled.loaded(),
    )
