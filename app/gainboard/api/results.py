"""`/v1/jobs/{job}/result` and `/v1/reports/{report}/result`, their tables and figures, and the pairs of a job.

Workers have made all of it: what is here is read from the database and sent, and no result is parsed.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from gainboard.api.answers import takes_gzip
from gainboard.api.dependencies import WorkspaceDep, accepts
from gainboard.api.jobs import SeenJobDep
from gainboard.api.models.answers import Page
from gainboard.api.models.jobs import ShownPair
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.reports import SeenReportDep
from gainboard.api.work import Desk, DeskDep, named_exhibits
from gainboard.errors import InvalidRequest, JobNotFinished, NoResult, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.store.files import GZIP
from gainboard.store.job_records import StoredFile, StoredJob, StoredReport, StoredWork
from gainboard.work.chores import REPORT_LATEX
from gainboard.work.files import find_file, packed_file, read_file
from gainboard.work.pairs import NumberedPair, PairsWanted, find_pairs
from gainboard.work.results import content, require_result

of_jobs = APIRouter(prefix="/v1/jobs/{job}", tags=["jobs"], responses=documented())
of_reports = APIRouter(prefix="/v1/reports/{report}", tags=["reports"], responses=documented())

CSV = "text/csv"
LATEX = "application/x-tex"
SVG = "image/svg+xml"
# A figure that is opened by itself runs no script and loads nothing, whatever its labels are.
SVG_HEADERS = {"Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'"}
IN_ONE_PIECE = 1 << 18
"""The bytes up to which an answer is sent whole. Longer ones are streams, which take no memory."""
QUICK = 1
"""The level at which a stream is compressed while it is sent."""

JobExhibit = Annotated[str, Path(description="As the job's `tables` and `figures` have it")]
ReportExhibit = Annotated[str, Path(description="As the report's `tables` and `figures` have it")]


def text_answer(*media_types: str) -> dict[int, dict[str, Any]]:
    """Return what OpenAPI says of a route that answers with text of these types."""
    content = {each: {"schema": {"type": "string"}} for each in media_types}
    return {200: {"description": "The result, or what is shown of it", "content": content}}


def result_answer(*media_types: str) -> dict[int, dict[str, Any]]:
    """Return the same of a route that answers with JSON, too."""
    described = text_answer(*media_types)
    described[200]["content"]["application/json"] = {"schema": {"type": "object", "additionalProperties": True}}
    return described


def _streamed(pieces: Iterable[bytes], media_type: str, sha256: str, request: Request) -> Response:
    """Answer with a stream, compressed on its way for whoever takes that."""
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
    """Answer with a result. Raises JobNotFinished or NoResult."""
    sha256, pieces = require_result(work), content(workspace, work)
    first, second = next(pieces, b""), next(pieces, None)
    if second is None and len(first) <= IN_ONE_PIECE:
        return Response(first, media_type="application/json")
    rest = chain([first], [second] if second is not None else [], pieces)
    return _streamed(rest, "application/json", sha256, request)


def _file(request: Request, workspace: Workspace, file: StoredFile, media_type: str) -> Response:
    """Answer with a file, as it is stored to whoever takes gzip."""
    headers = dict(SVG_HEADERS) if media_type == SVG else {}
    if takes_gzip(request.headers):
        pieces, is_packed = packed_file(workspace, file), True
        headers |= {"ETag": f'"{file.sha256}-gzip"', "Content-Encoding": "gzip", "Content-Length": str(file.size)}
    else:
        pieces, is_packed = read_file(workspace, file), False
        headers |= {"ETag": f'"{file.sha256}"'}
    if file.size <= IN_ONE_PIECE and is_packed:
        return Response(b"".join(pieces), media_type=media_type, headers=headers)
    return StreamingResponse(pieces, media_type=media_type, headers=headers)


async def _table(desk: Desk, work: StoredWork, name: str | None, form: Literal["csv", "latex"]) -> Response:
    """Answer with a table, the first one if no name is given."""
    require_result_or_layout(work)
    named = _named("table", work, (await named_exhibits(desk, work))["tables"], name)
    if form == "latex" and named.get("only_csv"):
        raise NotFound(
            f"The table {named['name']!r} is too long to be printed, and exists as CSV alone. "
            f"Ask for tables/{named['name']}.csv."
        )
    ending, media_type = ("csv", CSV) if form == "csv" else ("tex", LATEX)
    return await _shown(desk, work, f"tables/{named['name']}.{ending}", media_type)


def require_result_or_layout(work: StoredWork) -> None:
    """Raise JobNotFinished or NoResult; but not for a report that an earlier version left without a result."""
    if work.state != "succeeded":
        require_result(work)


async def _shown(desk: Desk, work: StoredWork, path: str, media_type: str) -> Response:
    """Answer with a file of a result; those that an earlier version computed have theirs made now."""
    maker = work.layout if isinstance(work, StoredReport) else work
    file = await run_in_threadpool(find_file, desk.workspace, maker, path) if maker else None
    if file is None:
        maker = await desk.chore_done("files", work)
        file = await run_in_threadpool(find_file, desk.workspace, maker, path)
    return await run_in_threadpool(_file, desk.request, desk.workspace, _there(file, path), media_type)


def _there(file: StoredFile | None, path: str) -> StoredFile:
    if file is None:
        raise NotFound(f"There is no file {path!r} here.")
    return file


async def _figure(desk: Desk, work: StoredWork, name: str) -> Response:
    """Answer with a figure. The first request for one has all figures of the result drawn, and waits for them."""
    require_result_or_layout(work)
    named = _named("figure", work, (await named_exhibits(desk, work))["figures"], name)
    path, drawn = f"figures/{named['name']}.svg", await desk.chore_done("figures", work)
    file = _there(await run_in_threadpool(find_file, desk.workspace, drawn, path), path)
    return await run_in_threadpool(_file, desk.request, desk.workspace, file, SVG)


def _named(what: str, work: StoredWork, among: list[dict[str, Any]], name: str | None) -> dict[str, Any]:
    for each in among:
        if name in (None, each["name"]):
            return each
    there_are = ", ".join(each["name"] for each in among) or "none"
    whole = "result" if isinstance(work, StoredJob) else "report"
    raise NotFound(f"The {whole} has no {what} {name!r}; there are: {there_are}." if name else f"It has no {what}.")


@of_jobs.get(
    "/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=result_answer(CSV, LATEX)),
)
async def read_result(
    seen: SeenJobDep,
    desk: DeskDep,
    format: Annotated[Literal["json", "csv", "latex"] | None, Query(description="Wins over the Accept header")] = None,
    table: Annotated[str | None, Query(description="Of CSV and LaTeX; the first one if none")] = None,
) -> Response:
    """The result, or one of its tables as CSV or LaTeX. Equal requests on equal data have equal results."""
    form = format or _accepted(desk.request)
    if form == "json" and table is not None:
        raise InvalidRequest.at("query.table", "not-for-json", "JSON is the whole result; ask for format=csv or latex.")
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
    metric: Annotated[str | None, Query(description="Only under this metric, by its label in the result")] = None,
    run: Annotated[str | None, Query(description="Only pairs of this run")] = None,
    significant: Annotated[
        float | None,
        Query(gt=0, le=1, description="Only pairs whose level, corrected if it was, is less than this"),
    ] = None,
) -> Page[ShownPair]:
    """The pairs of runs that a job of kind bootstrap-sensitivity has tested, metric by metric."""
    require_result(seen.work)
    wanted = PairsWanted(metric, run, significant)
    found = find_pairs(workspace, seen.work, wanted, paging.after_number, paging.limit)
    return paging.short_page([_show_pair(each) for each in found.pairs], found.more_after)


def _show_pair(found: NumberedPair) -> ShownPair:
    return ShownPair(metric=found.metric, **found.pair.as_json(found.is_corrected))


@of_jobs.get(
    "/tables/{table}.csv",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(CSV)),
)
async def read_table_as_csv(seen: SeenJobDep, table: JobExhibit, desk: DeskDep) -> Response:
    """A table of the result as CSV: a header row, numbers in full precision."""
    return await _table(desk, seen.work, table, "csv")


@of_jobs.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(LATEX)),
)
async def read_table_as_latex(seen: SeenJobDep, table: JobExhibit, desk: DeskDep) -> Response:
    """A table of the result as LaTeX with booktabs, ready for `\\input`."""
    return await _table(desk, seen.work, table, "latex")


@of_jobs.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(SVG)),
)
async def read_figure(seen: SeenJobDep, figure: JobExhibit, desk: DeskDep) -> Response:
    """A figure of the result as SVG (with the `figures` extra). The first request has it drawn, and waits for it."""
    return await _figure(desk, seen.work, figure)


@of_reports.get(
    "/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=result_answer(LATEX)),
)
async def read_report_result(
    seen: SeenReportDep,
    desk: DeskDep,
    format: Annotated[
        Literal["json", "latex"] | None, Query(description="Wins over the Accept header; LaTeX has the tables alone")
    ] = None,
) -> Response:
    """Every table and figure with its numbers, and what is not there and why; or all tables as LaTeX."""
    report = seen.work
    require_result_or_layout(report)
    form = format or ("latex" if accepts(desk.request, LATEX) else "json")
    if form == "latex":
        return await _shown(desk, report, REPORT_LATEX, LATEX)
    layout = report.layout or await desk.chore_done("files", report)
    return await run_in_threadpool(_json, desk.request, desk.workspace, layout)


@of_reports.get(
    "/tables/{table}.csv",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(CSV)),
)
async def read_report_table_as_csv(seen: SeenReportDep, table: ReportExhibit, desk: DeskDep) -> Response:
    """A table of the report as CSV: a header row, numbers in full precision."""
    return await _table(desk, seen.work, table, "csv")


@of_reports.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(LATEX)),
)
async def read_report_table_as_latex(seen: SeenReportDep, table: ReportExhibit, desk: DeskDep) -> Response:
    """A table of the report as LaTeX with booktabs, ready for `\\input`."""
    return await _table(desk, seen.work, table, "latex")


@of_reports.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(SVG)),
)
async def read_report_figure(seen: SeenReportDep, figure: ReportExhibit, desk: DeskDep) -> Response:
    """A figure of the report as SVG (with the `figures` extra). The first request has it drawn, and waits for it."""
    return await _figure(desk, seen.work, figure)
