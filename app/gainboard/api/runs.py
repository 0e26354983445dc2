"""`/v1/collections/{collection}/runs` and the pool made of them"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import contextmanager_in_threadpool, run_in_threadpool
from fastapi.responses import PlainTextResponse, StreamingResponse

from gainboard.api import uploads
from gainboard.api.answers import address, answer
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.idempotency import IdempotencyKey, once
from gainboard.api.models.answers import Page, ShownWarning
from gainboard.api.models.runs import ShownRun
from gainboard.api.models.texts import Slug, Text
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.qrels import TEXT
from gainboard.errors import (
    Conflict,
    FaultyFile,
    Forbidden,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    NameRequired,
    QuotaExceeded,
    RunExists,
    SubmissionsClosed,
    TeamRequired,
    UnsupportedEncoding,
)
from gainboard.evaluation import pool, runs
from gainboard.evaluation.quotas import uploading
from gainboard.evaluation.runs import RunDetails, SeenRun

router = APIRouter(prefix="/v1/collections/{collection}", tags=["runs"], responses=documented())

RunName = Annotated[str, Path(alias="run", description="The run's name")]


ON_SUBMIT = (
    FaultyFile,
    UnsupportedEncoding,
    TeamRequired,
    NameRequired,
    Forbidden,
    SubmissionsClosed,
    QuotaExceeded,
    RunExists,
    Conflict,
    KeyReused,
    KeyInUse,
)


def show(seen: SeenRun) -> ShownRun:
    """A run as its principal sees it."""
    run = seen.run
    return ShownRun(
        name=run.name,
        team=run.team,
        tag=run.tag,
        description=run.description,
        type=run.type,
        pooled=run.pooled,
        topics=run.topic_count,
        retrieved=run.retrieved,
        unjudged_share=seen.judging.unjudged_share if seen.judging else None,
        sha256=run.sha256,
        created_at=run.created_at,
        warnings=[ShownWarning(**warning) for warning in seen.warnings],
    )


@router.post(
    "/runs",
    status_code=201,
    response_model=ShownRun,
    responses=documented(
        *ON_SUBMIT,
        also={200: {"model": ShownRun, "description": "The same file of the same team: the run that is there"}},
    ),
    openapi_extra=uploads.OPENAPI,
)
async def submit_run(
    collection: CollectionName,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    team: Annotated[Slug | None, Query(description="Required of organisers; a new name creates the team")] = None,
    name: Annotated[Slug | None, Query(description="By default the run tag of the file")] = None,
    description: Annotated[Text | None, Query()] = None,
    type: Annotated[Text | None, Query(description="For example `automatic`")] = None,
    pooled: Annotated[bool, Query(description="Whether its documents go into the pool")] = True,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Submit a run file in TREC's form. It is stored whole or not at all; every fault of it is reported."""
    details = RunDetails(team, name, description, type, pooled)
    await run_in_threadpool(runs.admit, workspace, principal, collection, team)
    async with (
        contextmanager_in_threadpool(uploading(workspace, principal, collection)),
        uploads.received(request, workspace.limits.compressed_bytes) as sent,
    ):

        def act() -> Response:
            seen = runs.submit(workspace, principal, collection, sent.body, details)
            location = address(request, f"/v1/collections/{collection}/runs/{seen.run.name}")
            return answer(show(seen), 201 if seen.created else 200, Location=location)

        return await run_in_threadpool(once, workspace, principal, request, idempotency_key, sent.fingerprint, act)


@router.get("/runs")
def list_runs(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
) -> Page[ShownRun]:
    """The runs that this token sees, by name."""
    found = runs.list_runs(workspace, principal, collection, paging.after, paging.wanted)
    return paging.page(found, lambda each: each.run.name, show)


@router.get("/runs/{run}", response_model=ShownRun, responses=documented(JudgmentsHidden, also=TEXT))
def read_run(
    collection: CollectionName, run: RunName, request: Request, workspace: WorkspaceDep, principal: PrincipalDep
) -> Response:
    """One run; with `Accept: text/plain` the file, byte for byte as it was uploaded, decompressed."""
    is_file = accepts(request, "text/plain")
    seen = runs.described(workspace, principal, collection, run, for_file=is_file)
    if is_file:
        etag = {"ETag": f'"{seen.run.sha256}"'}
        return StreamingResponse(runs.file(workspace, seen.run), media_type="text/plain", headers=etag)
    return answer(show(seen))


@router.delete("/runs/{run}", status_code=204, response_class=Response, responses=documented(Forbidden))
def withdraw_run(collection: CollectionName, run: RunName, workspace: WorkspaceDep, principal: PrincipalDep) -> None:
    """Withdraw a run; its name is free again (its team, organisers)."""
    runs.withdraw(workspace, principal, collection, run)


@router.get("/pool", response_class=PlainTextResponse, responses=documented(Forbidden))
def read_pool(
    collection: CollectionName,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    depth: Annotated[int, Query(ge=1, le=1_000_000, description="Ranks of each pooled run")] = 100,
) -> str:
    """The documents to judge: `topic document` lines, sorted; a third column has the level of those judged already."""
    return "".join(pool.pool(workspace, principal, collection, depth))
