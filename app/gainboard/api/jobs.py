"""`/v1/collections/{collection}/jobs`, `/v1/jobs` and `/v1/job-kinds`"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Literal, Union

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from gainboard.analyses.job_kinds import every_kind, find_kind, schema_of
from gainboard.analyses.verify import VerifyResult
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.idempotency import KeyedDep
from gainboard.api.job_answers import JobContextDep, WorkAnswers, finished
from gainboard.api.job_requests import KindName, NewJob
from gainboard.api.models.common import Page
from gainboard.api.models.jobs import (
    DependedQrels,
    DependedRun,
    DependedSettings,
    Dependencies,
    FigureAnswer,
    JobAnswer,
    KindAnswer,
    KindsAnswer,
    PairAnswer,
    Progress,
    TableAnswer,
)
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.results import CSV, LATEX, add_exhibit_routes, json_answer, result_answer, table_answer
from gainboard.api.routes import CheckedRoute
from gainboard.errors import (
    BadExpression,
    BadGains,
    Conflict,
    Forbidden,
    InvalidRequest,
    JobNotFinished,
    JudgmentsHidden,
    KeyInUse,
    KeyReused,
    NeedsIntents,
    NoQrels,
    NoResult,
    ResultOutdated,
    TooManyJobs,
    UnsupportedMediaType,
)
from gainboard.evaluation.releases.document import FrozenMatrix
from gainboard.jobs.access import JOBS, JobsWanted, Seen, find_work
from gainboard.jobs.access import list_jobs as list_seen_jobs
from gainboard.jobs.pairs import PairsWanted, find_pairs
from gainboard.jobs.results import require_result
from gainboard.jobs.submission import admit, launch
from gainboard.jobs.verification import DependedJob, DependedOn, dependencies, verify
from gainboard.notation.queries import JobResultQuery, JobsQuery, PairsQuery
from gainboard.store.job_records import StoredJob

router = APIRouter(prefix="/v1", tags=["jobs"], responses=documented(), route_class=CheckedRoute)

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
_RESULT_MODELS = (*(kind.result_model for kind in every_kind()), VerifyResult)
JOB_RESULT: Any = Annotated[Union[_RESULT_MODELS], Field(discriminator="kind")]  # noqa: UP007
"""The model of every result of a job, told apart by its kind."""


def show(request: Request, seen: Seen[StoredJob], exhibits: dict[str, Any] | None) -> JobAnswer:
    """Return a job, with the tables and figures of its result if `exhibits` names them."""
    job, url = seen.work, ANSWERS.address(request, seen.work)
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
        result_url=f"{url}/result" if job.result_sha256 else None,
        pairs_url=f"{url}/pairs" if job.exhibits and job.exhibits.get("pairs") else None,
        error=job.error,
        origin=job.origin,
        tables=[TableAnswer.below(url, **exhibit) for exhibit in exhibits["tables"]] if exhibits else None,
        figures=[FigureAnswer.below(url, **exhibit) for exhibit in exhibits["figures"]] if exhibits else None,
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
                params=schema_of(kind.params_model),
                example=kind.example(),
                result=schema_of(kind.result_model, "serialization"),
            )
            for kind in every_kind()
        ]
    )


@router.post(
    "/collections/{collection}/jobs",
    status_code=202,
    response_model=JobAnswer,
    responses=documented(*ON_LAUNCH, also=finished("job", JobAnswer)),
)
def ask_for_job(
    collection: CollectionName,
    sent: NewJob,
    context: JobContextDep,
    keyed: KeyedDep,
) -> Response:
    """Ask for an analysis of stored runs (principals who may see the judgments), or for a pool or another order of the
    documents (organisers). An equal request returns the job that exists; a failed or cancelled job is queued again.
    """

    def act() -> Response:
        job = launch(context.workspace, context.principal, collection, find_kind(sent.kind), sent.params)
        return ANSWERS.asked(context, job.id)

    permit = partial(admit, context.workspace, context.principal, collection, find_kind(sent.kind))
    return keyed.answer_once(act, permit=permit, again=partial(ANSWERS.again, context))


@router.get("/jobs", responses=documented(JudgmentsHidden))
def list_jobs(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[JobsQuery, asked_by(JobsQuery, kind=KindName | Literal["verify"])],
    paging: PagingDep,
) -> Page[JobAnswer]:
    """List the jobs that this token may see, newest first, without their tables and figures."""
    listed = list_seen_jobs(workspace, principal, JobsWanted(**asked), paging.after_number, paging.wanted)
    return paging.page(listed, lambda seen: seen.work.number, lambda seen: show(request, seen, None))


ANSWERS.add_routes(router, JobAnswer, _seen_job)


@router.get(
    "/jobs/{job}/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=result_answer(JOB_RESULT, CSV, LATEX)),
)
async def read_job_result(
    seen: SeenJobDep,
    context: JobContextDep,
    asked: Annotated[JobResultQuery, asked_by(JobResultQuery)],
) -> Response:
    """Return the result, or one of its tables as CSV or LaTeX. Equal requests on equal data have equal results."""
    accepted: Literal["json", "csv", "latex"] = "json"
    if accepts(context.request, CSV):
        accepted = "csv"
    elif accepts(context.request, LATEX):
        accepted = "latex"
    form, table = asked.get("format") or accepted, asked.get("table")
    if form == "json" and table is not None:
        raise InvalidRequest.at(
            "query.table",
            "not-for-json",
            "`table` has no effect on JSON, which is the whole result. Add format=csv or format=latex.",
        )
    if form == "json":
        return await run_in_threadpool(json_answer, context.request, context.workspace, seen.work)
    return await table_answer(context, seen.work, table, form)


@router.get("/jobs/{job}/pairs", responses=documented(JobNotFinished, NoResult))
def read_job_pairs(
    seen: SeenJobDep,
    workspace: WorkspaceDep,
    asked: Annotated[PairsQuery, asked_by(PairsQuery)],
    paging: PagingDep,
) -> Page[PairAnswer]:
    """List the pairs of runs that a job of kind bootstrap-sensitivity has tested, metric by metric."""
    require_result(seen.work)
    page = find_pairs(workspace, seen.work, PairsWanted(**asked), paging.after_number, paging.limit)
    shown = [
        PairAnswer(metric=numbered.metric, **numbered.pair.as_json(numbered.is_corrected)) for numbered in page.pairs
    ]
    return paging.short_page(shown, page.more_after)


add_exhibit_routes(router, "job", _seen_job)


@router.get("/jobs/{job}/dependencies", responses=documented(JobNotFinished, NoResult, JudgmentsHidden, Conflict))
def read_job_dependencies(seen: SeenJobDep, workspace: WorkspaceDep, principal: PrincipalDep) -> Dependencies:
    """Return all that the result depends on: parameters, settings, and the hashes of the judgments and runs (those who
    may see the judgments). With these files, `gainboard verify` computes the result on another machine.
    """
    return show_dependencies(dependencies(workspace, principal, seen.work))


def show_dependencies(depended: DependedJob) -> Dependencies:
    """Return what the result of a job depends on."""
    job = depended.job
    return Dependencies(
        job=job.id,
        kind=job.kind,
        params=depended.params,
        engine_version=job.engine_version or 0,
        result_sha256=require_result(job),
        **depended_files(depended),
    )


def depended_files(depended: DependedOn) -> dict[str, Any]:
    """Return the files of a collection that results depend on, with its settings."""
    return {
        "collection": DependedSettings.model_validate(depended.collection, from_attributes=True),
        "qrels": [DependedQrels.model_validate(version, from_attributes=True) for version in depended.qrels],
        "runs": [DependedRun.model_validate(run, from_attributes=True) for run in depended.runs],
        "score_matrices": [
            FrozenMatrix(**{name: matrix[name] for name in FrozenMatrix.model_fields})
            for matrix in depended.score_matrices
        ],
    }


def add_verification_route(router: APIRouter, noun: str, seen: Callable[..., Seen[Any]]) -> None:
    """Add the route that verifies a job or report. `seen` is the dependency that finds one."""
    seen_work: Any = Depends(seen)

    @router.post(
        f"/{noun}s/{{{noun}}}/verify",
        name=f"verify_{noun}",
        status_code=202,
        response_model=JobAnswer,
        responses=documented(
            Forbidden, JobNotFinished, NoResult, Conflict, TooManyJobs, also=finished("job", JobAnswer)
        ),
        description=f"Compute the result of a {noun} again from what is stored, as a job of kind `verify`, and compare "
        "it with the stored result. The job's result says `identical`, `equal` (to 1e-12 relative), `different` or "
        "`not-comparable` (made by another version). An equal request returns the job that exists, until the service "
        "computes with other libraries.",
    )
    def verify_result(context: JobContextDep, seen: Seen[Any] = seen_work) -> Response:
        return ANSWERS.asked(context, verify(context.workspace, context.principal, seen.work).id)


add_verification_route(router, "job", _seen_job)
