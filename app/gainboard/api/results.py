"""Results of jobs and of reports, their tables and figures.

Workers have made all of it before. These answers are what the database has, and no result is parsed.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import Any, Literal

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from gainboard.api.answers import takes_gzip
from gainboard.api.job_answers import JobContext, JobContextDep, exhibits
from gainboard.api.problems import documented
from gainboard.errors import JobNotFinished, NoResult, NotFound, ResultOutdated
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.access import Seen
from gainboard.jobs.files import find_file, packed_file, read_file
from gainboard.jobs.results import content, require_current, require_result
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
        raise NotFound(f"The table {named['name']!r} is too long for LaTeX. Get it as CSV: tables/{named['name']}.csv.")
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
        raise NotFound(
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
    raise NotFound(
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
        answers = documented(JobNotFinished, NoResult, ResultOutdated, also=text_answer(media_type))
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
