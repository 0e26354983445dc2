"""The answer of a report: the results of its jobs, laid out. It is made when it is asked for, and kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gainboard.errors import JobNotFinished, NoResult, NotFound
from gainboard.evaluation.workspace import Workspace
from gainboard.exhibits import Figure, Table, figure_as_json, table_as_json
from gainboard.store.job_records import Chapter, Report
from gainboard.work.layout.composing import Answer, E, Placed, compose
from gainboard.work.layout.laid import Laid, LeftOut
from gainboard.work.report_kinds import About, Found, ReportKind, ReportParams, find_report_kind
from gainboard.work.results import parsed


def error_of(report: Report) -> str | None:
    """Why the report failed: the first of its jobs that has no result."""
    if report.state != "failed":
        return None
    lost = next(job for job in report.jobs if job.state in ("failed", "cancelled"))
    why = "was cancelled" if lost.state == "cancelled" else f"failed: {lost.error}"
    return f"Its job {lost.id} ({lost.kind}) {why}"


def require_jobs(report: Report) -> None:
    """Raises JobNotFinished or NoResult unless all jobs of the report have succeeded."""
    if report.state == "succeeded":
        return
    if not report.is_over:
        message = f"The report is {report.state}: {report.parts_done} of {report.parts} parts are done."
        raise JobNotFinished(f"{message} Wait for it with ?wait=30.")
    why = f"failed. {error_of(report)}." if report.state == "failed" else "was cancelled."
    raise NoResult(f"The report {why} Ask for it again, and what is missing is queued again.")


def answer_of(workspace: Workspace, report: Report) -> Answer:
    """What the report shows. Raises as `require_jobs`."""
    require_jobs(report)
    found: Answer = workspace.reports.get(report.id, lambda: _made(workspace, report))
    return found


def _made(workspace: Workspace, report: Report) -> Answer:
    kind = find_report_kind(report.name)
    asked = kind.params.model_validate(report.params)
    laid = {chapter.about["collection"]: _lay_out(workspace, kind, asked, chapter) for chapter in report.chapters}
    return compose(laid)


def _lay_out(workspace: Workspace, kind: ReportKind[Any], asked: ReportParams, chapter: Chapter) -> Sequence[Laid]:
    results = {key: parsed(workspace, job) for key, job in chapter.jobs.items()}
    about = About(**chapter.about | {"versions": tuple(chapter.about["versions"])})
    return [*(LeftOut(**each) for each in chapter.left_out), *kind.lay_out(Found(about, results), asked)]


def as_json(report: Report, answer: Answer) -> dict[str, Any]:
    """The answer as JSON values. It holds no times: equal requests on equal data have equal answers."""
    kind = find_report_kind(report.name)
    return {
        "report": report.name,
        "title": kind.title,
        "reference": kind.reference,
        "params": report.params,
        "collections": [chapter.about for chapter in report.chapters],
        "jobs": [
            {"collection": chapter.about["collection"], "key": key, "kind": job.kind, "id": job.id}
            for chapter in report.chapters
            for key, job in chapter.jobs.items()
        ],
        "tables": [_placed(each, table_as_json(each.exhibit)) for each in answer.tables],
        "figures": [_placed(each, figure_as_json(each.exhibit)) for each in answer.figures],
        "left_out": [{"collection": name, "what": each.what, "why": each.why} for name, each in answer.left_out],
        "remarks": [{"collection": name, "text": each.text} for name, each in answer.remarks],
    }


def _placed(placed: Placed[E], shown: dict[str, Any]) -> dict[str, Any]:
    return {"number": placed.number, "collection": placed.collection, **shown}


def table(workspace: Workspace, report: Report, name: str) -> Table:
    """The table of this name; raises NotFound with the names of those there are, or as `require_jobs`."""
    return _find("table", answer_of(workspace, report).tables, name)


def figure(workspace: Workspace, report: Report, name: str) -> Figure:
    """The figure of this name; raises as `table`."""
    return _find("figure", answer_of(workspace, report).figures, name)


def _find(what: str, among: Sequence[Placed[E]], name: str) -> E:
    for each in among:
        if each.exhibit.name == name:
            return each.exhibit
    there_are = ", ".join(each.exhibit.name for each in among) or "none"
    raise NotFound(f"The report has no {what} {name!r}; there are: {there_are}.")
