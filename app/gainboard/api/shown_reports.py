"""A report as its principals see it, for every route that answers with one."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request

from gainboard.api.answers import place
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.models.jobs import Progress
from gainboard.api.models.reports import NeededJob, NotThere, PaperFigure, PaperTable, ShownReport
from gainboard.evaluation.workspace import Workspace
from gainboard.store.job_records import Report
from gainboard.work.answers import answer_of, error_of
from gainboard.work.report_kinds import find_report_kind
from gainboard.work.seen_reports import SeenReport, find_report

ReportId = Annotated[str, Path(alias="report", description="The report's id")]


def _seen_report(report: ReportId, workspace: WorkspaceDep, principal: PrincipalDep) -> SeenReport:
    return find_report(workspace, principal, report)


SeenReportDep = Annotated[SeenReport, Depends(_seen_report)]


def show(request: Request, seen: SeenReport) -> ShownReport:
    """A report in a list: without its tables and figures, for which the results of its jobs would be read."""
    report = seen.report
    is_done = report.state == "succeeded"
    return ShownReport(
        id=report.id,
        name=report.name,
        title=find_report_kind(report.name).title,
        collections=[collection.name for collection in seen.collections],
        state=report.state,
        progress=Progress(done=report.parts_done, total=report.parts),
        params=report.params,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        result_url=f"{_own(request, report)}/result" if is_done else None,
        error=error_of(report),
        jobs=_jobs(request, seen),
        left_out=[
            NotThere(collection=collection.name, what=each["what"], why=each["why"])
            for collection, chapter in zip(seen.collections, report.chapters, strict=True)
            for each in chapter.left_out
        ],
        tables=None,
        figures=None,
    )


def _own(request: Request, report: Report) -> str:
    return place(request, f"/v1/reports/{report.id}")


def _jobs(request: Request, seen: SeenReport) -> list[NeededJob]:
    return [
        NeededJob(
            collection=collection.name,
            key=key,
            kind=job.kind,
            id=job.id,
            state=job.state,
            url=place(request, f"/v1/jobs/{job.id}"),
        )
        for collection, chapter in zip(seen.collections, seen.report.chapters, strict=True)
        for key, job in chapter.jobs.items()
    ]


def show_whole(request: Request, workspace: Workspace, seen: SeenReport) -> ShownReport:
    """A report with its tables and figures, once it has some."""
    shown = show(request, seen)
    if seen.report.state != "succeeded":
        return shown
    found, own = answer_of(workspace, seen.report), _own(request, seen.report)
    shown.tables = [
        PaperTable.below(own, each.exhibit.name, each.exhibit.caption, number=each.number, collection=each.collection)
        for each in found.tables
    ]
    shown.figures = [
        PaperFigure.below(own, each.exhibit.name, each.exhibit.caption, number=each.number, collection=each.collection)
        for each in found.figures
    ]
    return shown
