"""`/v1/jobs/{job}/result`, and its tables and figures"""

from __future__ import annotations

from itertools import chain
from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.responses import PlainTextResponse, StreamingResponse

from gainboard.api.dependencies import WorkspaceDep, accepts
from gainboard.api.exhibits import LATEX, SVG, drawn, text_answer, written
from gainboard.api.problems import documented
from gainboard.api.shown_jobs import SeenJobDep
from gainboard.errors import InvalidRequest, JobNotFinished, NoResult
from gainboard.evaluation.workspace import Workspace
from gainboard.store.job_records import Job
from gainboard.work import results

router = APIRouter(prefix="/v1/jobs/{job}", tags=["jobs"], responses=documented())

Format = Literal["json", "csv", "latex"]
Name = Annotated[str, Path(description="As the job's `tables` and `figures` have it")]


RESULT = text_answer("text/csv", LATEX)
RESULT[200]["content"]["application/json"] = {"schema": {"type": "object", "additionalProperties": True}}


@router.get("/result", response_class=Response, responses=documented(JobNotFinished, NoResult, also=RESULT))
def read_result(
    seen: SeenJobDep,
    request: Request,
    workspace: WorkspaceDep,
    format: Annotated[Format | None, Query(description="Wins over the Accept header")] = None,
    table: Annotated[str | None, Query(description="Of CSV and LaTeX; the first one if none")] = None,
) -> Response:
    """The result, or one of its tables as CSV or LaTeX. Equal requests on equal data have equal results."""
    form = format or _accepted(request)
    if form == "json" and table is not None:
        raise InvalidRequest.at("query.table", "not-for-json", "JSON is the whole result; ask for format=csv or latex.")
    if form == "json":
        return _json(workspace, seen.job)
    return written(results.table(workspace, seen.job, table), form)


def _accepted(request: Request) -> Format:
    if accepts(request, "text/csv"):
        return "csv"
    return "latex" if accepts(request, LATEX) else "json"


def _json(workspace: Workspace, job: Job) -> Response:
    headers = {"ETag": f'"{results.require_result(job)}"'}
    pieces = results.content(workspace, job)
    first, second = next(pieces, b""), next(pieces, None)
    if second is None:
        return Response(first, media_type="application/json")  # of one piece, so it may be compressed whole
    return StreamingResponse(chain((first, second), pieces), media_type="application/json", headers=headers)


@router.get(
    "/tables/{table}.csv",
    response_class=PlainTextResponse,
    responses=documented(JobNotFinished, NoResult, also=text_answer("text/csv")),
)
def read_table_as_csv(seen: SeenJobDep, table: Name, workspace: WorkspaceDep) -> Response:
    """A table of the result as CSV: a header row, numbers in full precision."""
    return written(results.table(workspace, seen.job, table), "csv")


@router.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(LATEX)),
)
def read_table_as_latex(seen: SeenJobDep, table: Name, workspace: WorkspaceDep) -> Response:
    """A table of the result as LaTeX with booktabs, ready for `\\input`."""
    return written(results.table(workspace, seen.job, table), "latex")


@router.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(SVG)),
)
def read_figure(seen: SeenJobDep, figure: Name, workspace: WorkspaceDep) -> Response:
    """A figure of the result as SVG (with the `figures` extra)."""
    return drawn(results.figure(workspace, seen.job, figure))
