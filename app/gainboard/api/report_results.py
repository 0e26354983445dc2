"""`/v1/reports/{report}/result`, and its tables and figures"""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Request, Response

from gainboard.api.answers import answer
from gainboard.api.dependencies import WorkspaceDep, accepts
from gainboard.api.exhibits import LATEX, SVG, drawn, text_answer, written
from gainboard.api.problems import documented
from gainboard.api.shown_reports import SeenReportDep
from gainboard.errors import JobNotFinished, NoResult
from gainboard.exhibits import as_latex
from gainboard.work import answers

router = APIRouter(prefix="/v1/reports/{report}", tags=["reports"], responses=documented())

Name = Annotated[str, Path(description="As the report's `tables` and `figures` have it")]
RESULT = text_answer(LATEX)
RESULT[200]["content"]["application/json"] = {"schema": {"type": "object", "additionalProperties": True}}


@router.get("/result", response_class=Response, responses=documented(JobNotFinished, NoResult, also=RESULT))
def read_report_result(
    seen: SeenReportDep,
    request: Request,
    workspace: WorkspaceDep,
    format: Annotated[
        Literal["json", "latex"] | None, Query(description="Wins over the Accept header; LaTeX has the tables alone")
    ] = None,
) -> Response:
    """Every table and figure with its numbers, and what is not there and why; or all tables as LaTeX."""
    found = answers.answer_of(workspace, seen.report)
    form = format or ("latex" if accepts(request, LATEX) else "json")
    if form == "json":
        return answer(answers.as_json(seen.report, found))
    # LaTeX holds back only so many tables at once.
    return Response("\n\\clearpage\n".join(as_latex(each.exhibit) for each in found.tables), media_type=LATEX)


@router.get(
    "/tables/{table}.csv",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer("text/csv")),
)
def read_report_table_as_csv(seen: SeenReportDep, table: Name, workspace: WorkspaceDep) -> Response:
    """A table of the report as CSV: a header row, numbers in full precision."""
    return written(answers.table(workspace, seen.report, table), "csv")


@router.get(
    "/tables/{table}.tex",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(LATEX)),
)
def read_report_table_as_latex(seen: SeenReportDep, table: Name, workspace: WorkspaceDep) -> Response:
    """A table of the report as LaTeX with booktabs, ready for `\\input`."""
    return written(answers.table(workspace, seen.report, table), "latex")


@router.get(
    "/figures/{figure}.svg",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, also=text_answer(SVG)),
)
def read_report_figure(seen: SeenReportDep, figure: Name, workspace: WorkspaceDep) -> Response:
    """A figure of the report as SVG (with the `figures` extra)."""
    return drawn(answers.figure(workspace, seen.report, figure))
