"""`/v1/collections/{collection}/jobs`, `/v1/jobs` and `/v1/job-kinds`"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from gainboard.api.answers import answer, place
from gainboard.api.asked_work import KindName, NewJob
from gainboard.api.dependencies import CollectionName, EngineDep, PrincipalDep, WatchDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey, once
from gainboard.api.models.answers import Page
from gainboard.api.models.jobs import KindsAnswer, ShownJob, ShownKind
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.shown_jobs import JobId, SeenJobDep, show, show_whole
from gainboard.api.waiting import Wait, attended, wait_headers
from gainboard.errors import (
    BadExpression,
    BadGains,
    Forbidden,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    NoQrels,
    Refused,
    TooManyJobs,
    Unavailable,
    UnsupportedMediaType,
)
from gainboard.store.job_records import JobState
from gainboard.work import seen_jobs
from gainboard.work.job_kinds import every_kind, find_kind
from gainboard.work.orders import launch
from gainboard.work.seen_jobs import Wanted

router = APIRouter(prefix="/v1", tags=["jobs"], responses=documented())

ON_LAUNCH = (
    BadExpression,
    BadGains,
    Forbidden,
    JudgmentsHidden,
    NoQrels,
    TooManyJobs,
    UnsupportedMediaType,
    KeyReused,
    KeyInUse,
)
FINISHED: dict[int, dict[str, Any]] = {200: {"model": ShownJob, "description": "It has succeeded already"}}
CANCELLED: dict[int, dict[str, Any]] = {200: {"model": ShownJob, "description": "It was over, and is unchanged"}}
EVENTS: dict[int, dict[str, Any]] = {
    200: {
        "description": "Events named `job`, whose data is the job; the last one is that of its final state",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/job-kinds")
def list_job_kinds() -> KindsAnswer:
    """Every kind of job: what it computes, and what may be asked of it."""
    return KindsAnswer(
        items=[
            ShownKind(name=kind.name, definition=kind.definition, params=kind.schema(), example=kind.example())
            for kind in every_kind()
        ]
    )


@router.post(
    "/collections/{collection}/jobs",
    status_code=202,
    response_model=ShownJob,
    responses=documented(*ON_LAUNCH, also=FINISHED),
)
def ask_for_job(
    collection: CollectionName,
    sent: NewJob,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    engine: EngineDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for an analysis of stored runs (whoever may see the judgments). An equal request is the job that is there;
    one that failed or was cancelled is queued again."""

    def act() -> Response:
        job = launch(workspace, principal, collection, find_kind(sent.kind), sent.params)
        engine.wake()
        seen = seen_jobs.find_job(workspace, principal, job.id)
        headers = {"Location": place(request, f"/v1/jobs/{job.id}"), **wait_headers(is_over=seen.job.is_over)}
        return answer(show_whole(request, workspace, seen), 200 if seen.job.is_over else 202, **headers)

    return once(workspace, principal, request, idempotency_key, fingerprint, act)


@router.get("/jobs", responses=documented(JudgmentsHidden))
def list_jobs(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    collection: Annotated[str | None, Query(description="Only those about this collection")] = None,
    kind: Annotated[KindName | None, Query(description="Only those of this kind")] = None,
    state: Annotated[JobState | None, Query(description="Only those in this state")] = None,
) -> Page[ShownJob]:
    """The jobs that this token sees, newest first, without their tables and figures."""
    wanted = Wanted(collection, kind, state)
    found = seen_jobs.list_jobs(workspace, principal, wanted, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.job.number, lambda each: show(request, each))


@router.get("/jobs/{job}", response_model=ShownJob)
async def read_job(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    watch: WatchDep,
    seen: SeenJobDep,
    wait: Wait = 0,
) -> Response:
    """One job; with `wait` as soon as it is over, or as it is when the time is up."""
    if wait and not seen.job.is_over:
        await attended(request, watch.until_over(seen.job, wait))
        # Whether the principal still sees it is asked again, for the judgments may have been hidden since.
        seen = await run_in_threadpool(seen_jobs.find_job, workspace, principal, seen.job.id)
    return answer(
        await run_in_threadpool(show_whole, request, workspace, seen), 200, **wait_headers(is_over=seen.job.is_over)
    )


@router.get("/jobs/{job}/events", response_class=EventSourceResponse, responses=documented(also=EVENTS))
async def follow_job(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, watch: WatchDep, first: SeenJobDep
) -> AsyncIterable[ServerSentEvent]:
    """The job now, and again at every change of its state or progress, as server-sent events (`event: job`) until it
    is over. Close the stream then: a browser's EventSource would connect again."""
    async for job in watch.changes(first.job):
        try:
            seen = await run_in_threadpool(seen_jobs.find_job, workspace, principal, job.id)
        except (Refused, Unavailable):
            return  # the judgments were hidden meanwhile, or the database is away: who connects again is told
        shown = await run_in_threadpool(show_whole, request, workspace, replace(seen, job=job))
        yield ServerSentEvent(event="job", id=f"{job.state}-{job.parts_done}", data=shown)


@router.delete(
    "/jobs/{job}",
    status_code=202,
    response_model=ShownJob,
    responses=documented(Forbidden, also=CANCELLED),
)
def cancel_job(
    job: JobId, request: Request, workspace: WorkspaceDep, principal: PrincipalDep, engine: EngineDep
) -> Response:
    """Cancel a job that is queued or running (organisers, and the token that asked for it)."""
    seen, is_cancelled = seen_jobs.cancel_job(workspace, principal, job)
    engine.wake()
    return answer(show_whole(request, workspace, seen), 202 if is_cancelled else 200)
