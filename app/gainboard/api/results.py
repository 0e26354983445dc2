"""`/v1/jobs/{job}/result` and `/v1/reports/{report}/result`: results, their tables and figures, and the pairs of a job.

Workers have made all of it before. These routes send what the database has, and parse no result.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Any, Literal, Union

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse
from pydantic import Field

from gainboard.analyses.job_kinds import every_kind
from gainboard.analyses.result_models import ReportResult
from gainboard.api.answers import takes_gzip
from gainboard.api.dependencies import WorkspaceDep, accepts
from gainboard.api.job_answers import JobContext, JobContextDep, exhibits
from gainboard.api.jobs import SeenJobDep
from gainboard.api.models.common import Page
from gainboard.api.models.jobs import PairAnswer
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.reports import SeenReportDep
from gainboard.errors import InvalidRequest, JobNotFinished, NoResult, NotFound, ResultOutdated
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.derived_files import REPORT_LATEX
from gainboard.jobs.files import find_file, packed_file, read_file
from gainboard.jobs.pairs import NumberedPair, PairsWanted, find_pairs
from gainboard.jobs.results import content, require_current, require_result
from gainboard.notation.types import NUMBER
from gainboard.store.files import GZIP
from gainboard.store.job_records import StoredFile, StoredJob, StoredReport, StoredWork

of_jobs = APIRouter(prefix="/v1/jobs/{job}", tags=["jobs"], responses=documented())
of_reports = APIRouter(prefix="/v1/reports/{report}", tags=["reports"], responses=documented())

CSV = "text/csv"
LATEX = "application/x-tex"
SVG = "image/svg+xml"
# A figure that is opened in a browser must run no script and load nothing, whatever its labels contain.
SVG_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'"
    )
}
JOB_RESULT: Any = Annotated[Union[tuple(kind.result for kind in every_kind())], Field(discriminator="kind")]  # noqa: UP007
"""The model of every result of a job, told apart by its kind."""
IN_ONE_PIECE = 1 << 18
"""The size up to which an answer is sent in one piece. Longer answers are streams, which need little memory."""
QUICK = 1
"""The gzip level of streams, which are compressed while they are sent."""

JobExhibit = Annotated[str, Path(description="One of the names in the job's `tables` and `figures`")]
ReportExhibit = Annotated[str, Path(description="One of the names in the report's `tables` and `figures`")]


def text_answer(*media_types: str) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI responses of a route that answers with text of these types."""
    content = {each: {"schema": {"type": "string"}} for each in media_types}
    return {200: {"description": "The result, or the part of it that was asked for", "content": content}}


def result_answer(model: Any, *media_types: str) -> dict[int, dict[str, Any]]:
    """Return the OpenAPI responses of a route that answers with JSON of this model or with text of these types."""
    described = text_answer(*media_types)
    described[200]["model"] = model
    return described


def _streamed(pieces: Iterable[bytes], media_type: str, sha256: str, request: Request) -> Response:
    """Answer with a stream, compressed if the client accepts gzip."""
    if not takes_gzip(request.headers):
        return StreamingResponse(pieces, media_type=media_type, headers={"ETag": f'"{sha256}"'})
    headers = {"ETag": f'"{sha256}-gzip"', "Content-Encoding": "gzip"}
    return StreamingResponse(_gzipped(pieces), media_type=media_type, headers=headers)


def _gzipped(pieces: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(QUICK, wbits=GZIP)
    for piece in pieces:
        yield compressor.compress(piece)
    yield compressor.flush()


def _json(request: Request, workspace: Workspace, work: StoredWork) -> Response:
    """Answer with a result. Raise JobNotFinished or NoResult if there is none."""
    sha256, pieces = require_result(work), content(workspace, work)
    first, second = next(pieces, b""), next(pieces, None)
    if second is None and len(first) <= IN_ONE_PIECE:
        return Response(first, media_type="application/json")
    rest = chain([first], [second] if second is not None else [], pieces)
    return _streamed(rest, "application/json", sha256, request)


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


async def _table(desk: JobContext, work: StoredWork, name: str | None, form: Literal["csv", "latex"]) -> Response:
    """Answer with the named table, or with the first one if `name` is None."""
    named = _named("table", work, name)
    if form == "latex" and named.get("only_csv"):
        raise NotFound(f"The table {named['name']!r} is too long for LaTeX. Get it as CSV: tables/{named['name']}.csv.")
    ending, media_type = ("csv", CSV) if form == "csv" else ("tex", LATEX)
    return await _shown(desk, work, f"tables/{named['name']}.{ending}", media_type)


async def _shown(desk: JobContext, work: StoredWork, path: str, media_type: str) -> Response:
    """Answer with a file that was stored with a result. Raise ResultOutdated or NotFound if it was not."""
    maker = work.layout if isinstance(work, StoredReport) else work
    file = await run_in_threadpool(find_file, desk.workspace, maker, path) if maker else None
    if file is None:
        require_current(work)
    return await run_in_threadpool(_file, desk.request, desk.workspace, _there(file, path), media_type)


def _there(file: StoredFile | None, path: str) -> StoredFile:
    if file is None:
        raise NotFound(
            f"There is no file {path!r} here. Read the result: its `tables` and `figures` list the addresses."
        )
    return file


async def _figure(desk: JobContext, work: StoredWork, name: str) -> Response:
    """Answer with a figure. The first request for a figure draws all figures of the result, and waits for them."""
    named = _named("figure", work, name)
    path, drawn = f"figures/{named['name']}.svg", await desk.derived_files_made("figures", work)
    file = _there(await run_in_threadpool(find_file, desk.workspace, drawn, path), path)
    return await run_in_threadpool(_file, desk.request, desk.workspace, file, SVG)


def _named(what: Literal["table", "figure"], work: StoredWork, name: str | None) -> dict[str, Any]:
    """Return the named table or figure of a result, or the first one. Raise NotFound, or as `require_result` does."""
    require_result(work)
    if (known := exhibits(work)) is None:
        require_current(work)
    among: list[dict[str, Any]] = (known or {}).get(f"{what}s", [])
    for each in among:
        if name in (None, each["name"]):
            return each
    there_are = ", ".join(each["name"] for each in among) or "none"
    whole = "result" if isinstance(work, StoredJob) else "report"
    raise NotFound(
        f"The {whole} has no {what} {name!r}. Available: {there_are}." if name else f"The {whole} has no {what}."
    )


@of_jobs.get(
    "/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=result_answer(JOB_RESULT, CSV, LATEX)),
)
async def read_result(
    seen: SeenJobDep,
    desk: JobContextDep,
    format: Annotated[Literal["json", "csv", "latex"] | None, Query(description="Overrides the Accept header")] = None,
    table: Annotated[
        str | None, Query(description="Name of the table for CSV or LaTeX; the first table by default")
    ] = None,
) -> Response:
    """Return the result, or one of its tables as CSV or LaTeX. Equal requests on equal data have equal results."""
    form = format or _accepted(desk.request)
    if form == "json" and table is not None:
        raise InvalidRequest.at(
            "query.table",
            "not-for-json",
            "`table` has no effect on JSON, which is the whole result. Add format=csv or format=latex.",
        )
    if form == "json":
        return await run_in_threadpool(_json, desk.request, desk.workspace, seen.work)
    return await _table(desk, seen.work, table, form)


def _accepted(request: Request) -> Literal["json", "csv", "latex"]:
    if accepts(request, CSV):
        return "csv"
    return "latex" if accepts(request, LATEX) else "json"


@of_jobs.get("/pairs", responses=documented(JobNotFinished, NoResult))
def read_pairs(
    seen: SeenJobDep,
    workspace: WorkspaceDep,
    paging: PagingDep,
    metric: Annotated[str | None, Query(description="Only under this metric, given by its label in the result")] = None,
    run: Annotated[str | None, Query(description="Only pairs with this run")] = None,
    significant: Annotated[
        float | None,
        Query(
            gt=0,
            le=1,
            description="Only pairs whose significance level is below this value; the corrected level, if there is one",
        ),
        NUMBER,
    ] = None,
) -> Page[PairAnswer]:
    """List the pairs of runs that a job of kind bootstrap-sensitivity has tested, metric by metric."""
    require_result(seen.work)
    wanted = PairsWanted(metric, run, significant)
    found = find_pairs(workspace, seen.work, wanted, paging.after_number, paging.limit)
    return paging.short_page([_show_pair(each) for each in found.pairs], found.more_after)


def _show_pair(found: NumberedPair) -> PairAnswer:
    return PairAnswer(metric=found.metric, **found.pair.as_json(found.is_corrected))


@of_jobs.get(
    "/tables/{table}.csv",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(CSV)),
)
async def read_table_as_csv(seen: SeenJobDep, table: JobExhibit, desk: JobContextDep) -> Response:
    """Return a table of the result as CSV: a header row, numbers in full precision."""
    return await _table(desk, seen.work, table, "csv")


@of_jobs.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(LATEX)),
)
async def read_table_as_latex(seen: SeenJobDep, table: JobExhibit, desk: JobContextDep) -> Response:
    r"""Return a table of the result as LaTeX with booktabs, ready for `\input`."""
    return await _table(desk, seen.work, table, "latex")


@of_jobs.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(SVG)),
)
async def read_figure(seen: SeenJobDep, figure: JobExhibit, desk: JobContextDep) -> Response:
    """Return a figure of the result as SVG (needs the `figures` extra). The first request draws it, and waits
    for it.
    """
    return await _figure(desk, seen.work, figure)


@of_reports.get(
    "/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=result_answer(ReportResult, LATEX)),
)
async def read_report_result(
    seen: SeenReportDep,
    desk: JobContextDep,
    format: Annotated[
        Literal["json", "latex"] | None,
        Query(description="Overrides the Accept header; LaTeX contains only the tables"),
    ] = None,
) -> Response:
    """Return every table and figure with its numbers, and what is missing and why; or all tables as LaTeX."""
    report = seen.work
    form = format or ("latex" if accepts(desk.request, LATEX) else "json")
    if form == "latex":
        require_result(report)
        return await _shown(desk, report, REPORT_LATEX, LATEX)
    return await run_in_threadpool(_json, desk.request, desk.workspace, report)


@of_reports.get(
    "/tables/{table}.csv",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(CSV)),
)
async def read_report_table_as_csv(seen: SeenReportDep, table: ReportExhibit, desk: JobContextDep) -> Response:
    """Return a table of the report as CSV: a header row, numbers in full precision."""
    return await _table(desk, seen.work, table, "csv")


@of_reports.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(LATEX)),
)
async def read_report_table_as_latex(seen: SeenReportDep, table: ReportExhibit, desk: JobContextDep) -> Response:
    r"""Return a table of the report as LaTeX with booktabs, ready for `\input`."""
    return await _table(desk, seen.work, table, "latex")


@of_reports.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(SVG)),
)
async def read_report_figure(seen: SeenReportDep, figure: ReportExhibit, desk: JobContextDep) -> Response:
    """Return a figure of the report as SVG (needs the `figures` extra). The first request draws it, and waits
    for it.
    """
    return await _figure(desk, seen.work, figure)
