"""`/v1/collections/{collection}/jobs`, `/v1/jobs` and `/v1/job-kinds`

Workers have made results, tables and figures before. Answers are what the database has, and no result is parsed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Annotated, Any, Literal, Union

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from gainboard import errors
from gainboard.analyses.job_kinds import every_kind, find_kind, schema_of
from gainboard.analyses.verify import VerifyResult
from gainboard.api.answers import takes_gzip
from gainboard.api.dependencies import CollectionName, PrincipalDep, WorkspaceDep, accepts
from gainboard.api.idempotency import KeyedDep
from gainboard.api.job_answers import JobContext, JobContextDep, KindName, NewJob, WorkAnswers, exhibits, finished
from gainboard.api.models import jobs as models
from gainboard.api.models.common import Page
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.evaluation.releases.document import FrozenMatrix
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.access import JOBS, JobsWanted, Seen, find_work
from gainboard.jobs.access import list_jobs as list_seen_jobs
from gainboard.jobs.files import find_file, packed_file, read_file
from gainboard.jobs.results import PairsWanted, content, find_pairs, require_current, require_result
from gainboard.jobs.submission import admit, launch
from gainboard.jobs.verification import DependedJob, DependedOn, dependencies, verify
from gainboard.notation.queries import JobResultQuery, JobsQuery, PairsQuery
from gainboard.store.files import GZIP
from gainboard.store.job_records import StoredFile, StoredJob, StoredReport, StoredWork

CSV = "text/csv"
LATEX = "application/x-tex"
SVG = "image/svg+xml"
# A figure that is opened in a browser must run no script and load nothing, whatever its labels contain.
SVG_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    )
}
IN_ONE_PIECE = 1 << 18
"""The size up to which an answer is sent in one piece. Longer answers are streams, which need little memory."""
QUICK = 1
"""The gzip level of streams, which are compressed while they are sent."""


def text_answer(*media_types: str) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI responses of a route that answers with text of these types."""
    content = {media_type: {"schema": {"type": "string"}} for media_type in media_types}
    return {200: {"description": "The result, or the part of it that was asked for", "content": content}}


def result_answer(model: Any, *media_types: str) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI responses of a route that answers with JSON of this model or with text of these types."""
    described = text_answer(*media_types)
    described[200]["model"] = model
    return described


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(QUICK, wbits=GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def json_answer(request: Request, workspace: Workspace, work: StoredWork) -> Response:
    """Answer with a result. Raise JobNotFinished or NoResult if there is none."""
    sha256, pieces = require_result(work), content(workspace, work)
    # A second piece is asked for before the answer begins, because only then is its size known to be small.
    first, second = next(pieces, b""), next(pieces, None)
    if second is None and len(first) <= IN_ONE_PIECE:
        return Response(first, media_type="application/json")
    rest = chain([first], [second] if second is not None else [], pieces)
    if not takes_gzip(request.headers):
        return StreamingResponse(rest, media_type="application/json", headers={"ETag": f'"{sha256}"'})
    # The compressed form is another representation, which needs an ETag of its own.
    headers = {"ETag": f'"{sha256}-gzip"', "Content-Encoding": "gzip"}
    return StreamingResponse(_gzipped(rest), media_type="application/json", headers=headers)


def _file(request: Request, workspace: Workspace, file: StoredFile, media_type: str) -> Response:
    """Answer with a file, in its stored gzip form if the client accepts that."""
    headers = dict(SVG_HEADERS) if media_type == SVG else {}
    media_type = f"{media_type}; charset=utf-8" if media_type == SVG else media_type
    if takes_gzip(request.headers):
        pieces, is_packed = packed_file(workspace, file), True
        headers |= {"ETag": f'"{file.sha256}-gzip"', "Content-Encoding": "gzip", "Content-Length": str(file.size)}
    else:
        pieces, is_packed = read_file(workspace, file), False
        headers |= {"ETag": f'"{file.sha256}"'}
    if file.size <= IN_ONE_PIECE and is_packed:
        return Response(b"".join(pieces), media_type=media_type, headers=headers)
    return StreamingResponse(pieces, media_type=media_type, headers=headers)


async def table_answer(
    context: JobContext, work: StoredWork, name: str | None, form: Literal["csv", "latex"]
) -> Response:
    """Answer with the named table, or with the first one if `name` is None."""
    named = _named("table", work, name)
    if form == "latex" and named.get("only_csv"):
        raise errors.NotFound(
            f"The table {named['name']!r} is too long for LaTeX. Get it as CSV: tables/{named['name']}.csv."
        )
    ending, media_type = ("csv", CSV) if form == "csv" else ("tex", LATEX)
    return await file_answer(context, work, f"tables/{named['name']}.{ending}", media_type)


async def file_answer(context: JobContext, work: StoredWork, path: str, media_type: str) -> Response:
    """Answer with a file that was stored with a result. Raise ResultOutdated or NotFound if it was not."""
    maker = work.layout if isinstance(work, StoredReport) else work
    file = await run_in_threadpool(find_file, context.workspace, maker, path) if maker else None
    if file is None:
        require_current(work)
    return await run_in_threadpool(_file, context.request, context.workspace, _there(file, path), media_type)


def _there(file: StoredFile | None, path: str) -> StoredFile:
    if file is None:
        raise errors.NotFound(
            f"There is no file {path!r} here. Read the result: its `tables` and `figures` list the addresses."
        )
    return file


def _named(what: Literal["table", "figure"], work: StoredWork, name: str | None) -> dict[str, Any]:
    """Return the named table or figure of a result, or the first one. Raise NotFound, or as `require_result` does."""
    require_result(work)
    if (named := exhibits(work)) is None:
        require_current(work)
    among: list[dict[str, Any]] = (named or {}).get(f"{what}s", [])
    for exhibit in among:
        if name in (None, exhibit["name"]):
            return exhibit
    there_are = ", ".join(exhibit["name"] for exhibit in among) or "none"
    whole = "result" if isinstance(work, StoredJob) else "report"
    raise errors.NotFound(
        f"The {whole} has no {what} {name!r}. Available: {there_are}." if name else f"The {whole} has no {what}."
    )


def add_exhibit_routes(router: APIRouter, noun: str, seen: Callable[..., Seen[Any]]) -> None:
    """Add the routes of tables and figures of jobs or of reports. `seen` is the dependency that finds one."""
    described = f"One of the names in the {noun}'s `tables` and `figures`"
    address = f"/{noun}s/{{{noun}}}"
    seen_work: Any = Depends(seen)
    # FastAPI writes the name of a parameter into its Path, so each parameter has one of its own.
    csv, latex, svg = (Path(description=described) for _ in range(3))

    def answering(media_type: str) -> dict[str, Any]:
        answers = documented(
            errors.JobNotFinished, errors.NoResult, errors.ResultOutdated, also=text_answer(media_type)
        )
        return {"response_class": Response, "responses": answers}

    @router.get(f"{address}/tables/{{table}}.csv", name=f"read_{noun}_table_as_csv", **answering(CSV))
    async def read_table_as_csv(context: JobContextDep, seen: Seen[Any] = seen_work, table: str = csv) -> Response:
        """Return a table of the result as CSV: a header row, numbers in full precision."""
        return await table_answer(context, seen.work, table, "csv")

    @router.get(f"{address}/tables/{{table}}.tex", name=f"read_{noun}_table_as_latex", **answering(LATEX))
    async def read_table_as_latex(context: JobContextDep, seen: Seen[Any] = seen_work, table: str = latex) -> Response:
        r"""Return a table of the result as LaTeX with booktabs, ready for `\input`."""
        return await table_answer(context, seen.work, table, "latex")

    @router.get(f"{address}/figures/{{figure}}.svg", name=f"read_{noun}_figure", **answering(SVG))
    async def read_figure(context: JobContextDep, seen: Seen[Any] = seen_work, figure: str = svg) -> Response:
        """Return a figure of the result as SVG (needs the `figures` extra). The first request draws it, and waits
        for it.
        """
        named = _named("figure", seen.work, figure)
        path, drawn = f"figures/{named['name']}.svg", await context.derived_files_made("figures", seen.work)
        file = _there(await run_in_threadpool(find_file, context.workspace, drawn, path), path)
        return await run_in_threadpool(_file, context.request, context.workspace, file, SVG)


router = APIRouter(prefix="/v1", tags=["jobs"], responses=documented(), route_class=CheckedRoute)

ON_LAUNCH = (
    errors.BadExpression,
    errors.NeedsIntents,
    errors.BadGains,
    errors.Forbidden,
    errors.JudgmentsHidden,
    errors.NoQrels,
    errors.Conflict,
    errors.TooManyJobs,
    errors.UnsupportedMediaType,
    errors.KeyReused,
    errors.KeyInUse,
)
_RESULT_MODELS = (*(kind.result_model for kind in every_kind()), VerifyResult)
JOB_RESULT: Any = Annotated[Union[_RESULT_MODELS], Field(discriminator="kind")]  # noqa: UP007
"""The model of every result of a job, told apart by its kind."""


def show(request: Request, seen: Seen[StoredJob], exhibits: dict[str, Any] | None) -> models.JobAnswer:
    """Return a job, with the tables and figures of its result if `exhibits` names them."""
    job, url = seen.work, ANSWERS.address(request, seen.work)
    return models.JobAnswer(
        id=job.id,
        collection=seen.collections[0].name,
        kind=job.kind,
        state=job.state,
        progress=models.Progress(done=job.parts_done, total=job.parts),
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
        tables=[models.TableAnswer.below(url, **exhibit) for exhibit in exhibits["tables"]] if exhibits else None,
        figures=[models.FigureAnswer.below(url, **exhibit) for exhibit in exhibits["figures"]] if exhibits else None,
    )


ANSWERS = WorkAnswers(JOBS, show)

JobId = Annotated[str, Path(alias="job", description="The job's id")]


def _seen_job(job: JobId, workspace: WorkspaceDep, principal: PrincipalDep) -> Seen[StoredJob]:
    return find_work(workspace, principal, JOBS, job)


SeenJobDep = Annotated[Seen[StoredJob], Depends(_seen_job)]


@router.get("/job-kinds")
def list_job_kinds() -> models.KindsAnswer:
    """List every kind of job: what it computes, its parameters, and the form of its result."""
    return models.KindsAnswer(
        items=[
            models.KindAnswer(
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
    response_model=models.JobAnswer,
    responses=documented(*ON_LAUNCH, also=finished("job", models.JobAnswer)),
)
def ask_for_job(collection: CollectionName, sent: NewJob, context: JobContextDep, keyed: KeyedDep) -> Response:
    """Ask for an analysis of stored runs (principals who may see the judgments), or for a pool or another order of the
    documents (organisers). An equal request returns the job that exists; a failed or cancelled job is queued again.
    """

    def act() -> Response:
        job = launch(context.workspace, context.principal, collection, find_kind(sent.kind), sent.params)
        return ANSWERS.asked(context, job.id)

    permit = partial(admit, context.workspace, context.principal, collection, find_kind(sent.kind))
    return keyed.answer_once(act, permit=permit, again=partial(ANSWERS.again, context))


@router.get("/jobs", responses=documented(errors.JudgmentsHidden))
def list_jobs(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[JobsQuery, asked_by(JobsQuery, kind=KindName | Literal["verify"])],
    paging: PagingDep,
) -> Page[models.JobAnswer]:
    """List the jobs that this token may see, newest first, without their tables and figures."""
    listed = list_seen_jobs(workspace, principal, JobsWanted(**asked), paging.after_number, paging.wanted)
    return paging.page(listed, lambda seen: seen.work.number, lambda seen: show(request, seen, None))


ANSWERS.add_routes(router, models.JobAnswer, _seen_job)


@router.get(
    "/jobs/{job}/result",
    response_class=Response,
    responses=documented(
        errors.JobNotFinished, errors.NoResult, errors.ResultOutdated, also=result_answer(JOB_RESULT, CSV, LATEX)
    ),
)
async def read_job_result(
    seen: SeenJobDep, context: JobContextDep, asked: Annotated[JobResultQuery, asked_by(JobResultQuery)]
) -> Response:
    """Return the result, or one of its tables as CSV or LaTeX. Equal requests on equal data have equal results."""
    accepted: Literal["json", "csv", "latex"] = "json"
    if accepts(context.request, CSV):
        accepted = "csv"
    elif accepts(context.request, LATEX):
        accepted = "latex"
    form, table = asked.get("format") or accepted, asked.get("table")
    if form == "json" and table is not None:
        raise errors.InvalidRequest.at(
            "query.table",
            "not-for-json",
            "`table` has no effect on JSON, which is the whole result. Add format=csv or format=latex.",
        )
    if form == "json":
        return await run_in_threadpool(json_answer, context.request, context.workspace, seen.work)
    return await table_answer(context, seen.work, table, form)


@router.get("/jobs/{job}/pairs", responses=documented(errors.JobNotFinished, errors.NoResult))
def read_job_pairs(
    seen: SeenJobDep, workspace: WorkspaceDep, asked: Annotated[PairsQuery, asked_by(PairsQuery)], paging: PagingDep
) -> Page[models.PairAnswer]:
    """List the pairs of runs that a job of kind bootstrap-sensitivity has tested, metric by metric."""
    require_result(seen.work)
    page = find_pairs(workspace, seen.work, PairsWanted(**asked), paging.after_number, paging.limit)
    shown = [
        models.PairAnswer(metric=numbered.metric, **numbered.pair.as_json(numbered.is_corrected))
        for numbered in page.pairs
    ]
    return paging.short_page(shown, page.more_after)


add_exhibit_routes(router, "job", _seen_job)


@router.get(
    "/jobs/{job}/dependencies",
    responses=documented(errors.JobNotFinished, errors.NoResult, errors.JudgmentsHidden, errors.Conflict),
)
def read_job_dependencies(seen: SeenJobDep, workspace: WorkspaceDep, principal: PrincipalDep) -> models.Dependencies:
    """Return all that the result depends on: parameters, settings, and the hashes of the judgments and runs (those who
    may see the judgments). With these files, `gainboard verify` computes the result on another machine.
    """
    return show_dependencies(dependencies(workspace, principal, seen.work))


def show_dependencies(depended: DependedJob) -> models.Dependencies:
    """Return what the result of a job depends on."""
    job = depended.job
    return models.Dependencies(
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
        "collection": models.DependedSettings.model_validate(depended.collection, from_attributes=True),
        "qrels": [models.DependedQrels.model_validate(version, from_attributes=True) for version in depended.qrels],
        "runs": [models.DependedRun.model_validate(run, from_attributes=True) for run in depended.runs],
        "score_matrices": [
            FrozenMatrix(**{name: matrix[name] for name in FrozenMatrix.model_fields if name in matrix})
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
        response_model=models.JobAnswer,
        responses=documented(
            errors.Forbidden,
            errors.JobNotFinished,
            errors.NoResult,
            errors.Conflict,
            errors.TooManyJobs,
            also=finished("job", models.JobAnswer),
        ),
        description=f"Compute the result of a {noun} again from what is stored, as a job of kind `verify`, and compare "
        "it with the stored result. The job's result says `identical`, `equal` (to 1e-12 relative), `different` or "
        "`not-comparable` (made by another version). An equal request returns the job that exists, until the service "
        "computes with other libraries.",
    )
    def verify_result(context: JobContextDep, seen: Seen[Any] = seen_work) -> Response:
        return ANSWERS.asked(context, verify(context.workspace, context.principal, seen.work).id)


add_verification_route(router, "job", _seen_job)
