"""`/v1/collections/{collection}/jobs`, `/v1/jobs` and `/v1/job-kinds`"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from gainboard.analyses.job_kinds import every_kind, find_kind
from gainboard.api.bodies import JsonRoute
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey, once
from gainboard.api.job_answers import JobContextDep, Wait, WorkAnswers, documented_events
from gainboard.api.job_requests import KindName, NewJob
from gainboard.api.models.common import Page
from gainboard.api.models.jobs import FigureAnswer, JobAnswer, KindAnswer, KindsAnswer, Progress, TableAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.errors import (
    BadExpression,
    BadGains,
    Conflict,
    Forbidden,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    NeedsIntents,
    NoQrels,
    TooManyJobs,
    UnsupportedMediaType,
)
from gainboard.jobs.access import JOBS, JobsWanted, Seen, find_work
from gainboard.jobs.access import list_jobs as list_seen_jobs
from gainboard.jobs.submission import launch
from gainboard.store.job_records import JobState, StoredJob

router = APIRouter(prefix="/v1", tags=["jobs"], responses=documented(), route_class=JsonRoute)

ON_LAUNCH = (
    BadExpression,
    NeedsIntents,
    BadGains,
    Forbidden,
    JudgmentsHidden,
    NoQrels,
    Conflict,
    TooManyJobs,
    UnsupportedMediaType,
    KeyReused,
    KeyInUse,
)
FINISHED: dict[int, dict[str, Any]] = {200: {"model": JobAnswer, "description": "The job exists and has succeeded"}}
CANCELLED: dict[int, dict[str, Any]] = {
    200: {"model": JobAnswer, "description": "The job was already over, and is unchanged"}
}


def show(request: Request, seen: Seen[StoredJob], made: dict[str, Any] | None) -> JobAnswer:
    """Return a job, with the tables and figures of its result if `made` names them."""
    job, own = seen.work, ANSWERS.address(request, seen.work)
    return JobAnswer(
        id=job.id,
        collection=seen.collections[0].name,
        kind=job.kind,
        state=job.state,
        progress=Progress(done=job.parts_done, total=job.parts),
        params=job.params,
        qrels_version=job.qrels_version,
        judgment_set=job.judgment_set,
        created_at=job.created_at,
        started_at=job.started_at,
        finished_at=job.finished_at,
        result_url=f"{own}/result" if job.result_sha256 else None,
        pairs_url=f"{own}/pairs" if job.exhibits and job.exhibits.get("pairs") else None,
        error=job.error,
        tables=[TableAnswer.below(own, **each) for each in made["tables"]] if made else None,
        figures=[FigureAnswer.below(own, **each) for each in made["figures"]] if made else None,
    )


ANSWERS = WorkAnswers(JOBS, show)

JobId = Annotated[str, Path(alias="job", description="The job's id")]


def _seen_job(job: JobId, workspace: WorkspaceDep, principal: PrincipalDep) -> Seen[StoredJob]:
    return find_work(workspace, principal, JOBS, job)


SeenJobDep = Annotated[Seen[StoredJob], Depends(_seen_job)]


@router.get("/job-kinds")
def list_job_kinds() -> KindsAnswer:
    """List every kind of job: what it computes, its parameters, and the form of its result."""
    return KindsAnswer(
        items=[
            KindAnswer(
                name=kind.name,
                definition=kind.definition,
                params=kind.schema(),
                example=kind.example(),
                result=kind.result_schema(),
            )
            for kind in every_kind()
        ]
    )


@router.post(
    "/collections/{collection}/jobs",
    status_code=202,
    response_model=JobAnswer,
    responses=documented(*ON_LAUNCH, also=FINISHED),
)
def ask_for_job(
    collection: CollectionName,
    sent: NewJob,
    desk: JobContextDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for an analysis of stored runs (principals who may see the judgments), or for another order of the documents
    (organisers). An equal request returns the job that exists; a failed or cancelled job is queued again.
    """

    def act() -> Response:
        job = launch(desk.workspace, desk.principal, collection, find_kind(sent.kind), sent.params)
        return ANSWERS.asked(desk, job.id)

    return once(desk.workspace, desk.principal, desk.request, idempotency_key, fingerprint, act)


@router.get("/jobs", responses=documented(JudgmentsHidden))
def list_jobs(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    collection: Annotated[str | None, Query(description="Only jobs about this collection")] = None,
    kind: Annotated[KindName | None, Query(description="Only jobs of this kind")] = None,
    state: Annotated[JobState | None, Query(description="Only jobs in this state")] = None,
) -> Page[JobAnswer]:
    """List the jobs that this token may see, newest first, without their tables and figures."""
    wanted = JobsWanted(collection, kind, state)
    found = list_seen_jobs(workspace, principal, wanted, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.work.number, lambda each: show(request, each, None))


@router.get("/jobs/{job}", response_model=JobAnswer)
async def read_job(desk: JobContextDep, seen: SeenJobDep, wait: Wait = 0) -> Response:
    """Return one job. With `wait`, answer as soon as the job is over, or when the time is up."""
    return await ANSWERS.read(desk, seen, wait)


@router.get(
    "/jobs/{job}/events",
    response_class=EventSourceResponse,
    responses=documented(also=documented_events("job", "JobAnswer")),
)
async def follow_job(desk: JobContextDep, first: SeenJobDep) -> AsyncIterable[ServerSentEvent]:
    """Send the job now, and again at every change of its state or progress, as server-sent events (`event: job`) until
    it is over. Close the stream then: otherwise a browser's EventSource connects again.
    """
    async for event in ANSWERS.follow(desk, first):
        yield event


@router.delete(
    "/jobs/{job}",
    status_code=202,
    response_model=JobAnswer,
    responses=documented(Forbidden, also=CANCELLED),
)
def cancel_job(job: JobId, desk: JobContextDep) -> Response:
    """Cancel a job that is queued or running (organisers, and the token that asked for it)."""
    return ANSWERS.cancel(desk, job)
