"""`/v1/reports` and `/v1/report-kinds`"""

from __future__ import annotations

from collections.abc import AsyncIterable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.sse import EventSourceResponse, ServerSentEvent

from gainboard.analyses.report_kinds import every_report_kind, find_report_kind
from gainboard.api.answers import address
from gainboard.api.bodies import JsonRoute
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey, once
from gainboard.api.job_answers import JobContextDep, Wait, WorkAnswers, documented_events
from gainboard.api.job_requests import NewReport, ReportName
from gainboard.api.jobs import ON_LAUNCH
from gainboard.api.models.common import Page
from gainboard.api.models.jobs import (
    NeededJob,
    NotThere,
    PaperFigure,
    PaperTable,
    Progress,
    ReportAnswer,
    ReportKindAnswer,
    ReportKindsAnswer,
)
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.errors import Forbidden, JudgmentsHidden
from gainboard.jobs.access import REPORTS, Seen, find_work
from gainboard.jobs.access import list_reports as list_seen_reports
from gainboard.jobs.report_planning import launch
from gainboard.store.job_records import StoredReport

router = APIRouter(prefix="/v1", tags=["reports"], responses=documented(), route_class=JsonRoute)

FINISHED: dict[int, dict[str, Any]] = {
    200: {"model": ReportAnswer, "description": "The report exists and has succeeded"}
}
CANCELLED: dict[int, dict[str, Any]] = {
    200: {"model": ReportAnswer, "description": "The report was already over, and is unchanged"}
}


def show(request: Request, seen: Seen[StoredReport], made: dict[str, Any] | None) -> ReportAnswer:
    """Return a report, with its tables and figures if `made` names them."""
    report, own = seen.work, ANSWERS.address(request, seen.work)
    chapters = list(zip([each.name for each in seen.collections], report.chapters, strict=True))
    return ReportAnswer(
        id=report.id,
        name=report.name,
        title=find_report_kind(report.name).title,
        collections=[name for name, _ in chapters],
        state=report.state,
        progress=Progress(done=report.parts_done, total=report.parts),
        params=report.params,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        result_url=f"{own}/result" if report.state == "succeeded" else None,
        error=report.error,
        jobs=[
            NeededJob(
                collection=name,
                key=key,
                kind=job.kind,
                id=job.id,
                state=job.state,
                url=address(request, f"/v1/jobs/{job.id}"),
            )
            for name, chapter in chapters
            for key, job in chapter.jobs.items()
        ],
        left_out=[
            NotThere(collection=name, what=each["what"], why=each["why"])
            for name, chapter in chapters
            for each in chapter.left_out
        ],
        tables=[PaperTable.below(own, **each) for each in made["tables"]] if made else None,
        figures=[PaperFigure.below(own, **each) for each in made["figures"]] if made else None,
    )


ANSWERS = WorkAnswers(REPORTS, show)

ReportId = Annotated[str, Path(alias="report", description="The report's id")]


def _seen_report(report: ReportId, workspace: WorkspaceDep, principal: PrincipalDep) -> Seen[StoredReport]:
    return find_work(workspace, principal, REPORTS, report)


SeenReportDep = Annotated[Seen[StoredReport], Depends(_seen_report)]


@router.get("/report-kinds")
def list_report_kinds() -> ReportKindsAnswer:
    """List every kind of report: which paper's tables and figures it shows, and its parameters."""
    return ReportKindsAnswer(
        items=[
            ReportKindAnswer(
                name=kind.name,
                title=kind.title,
                reference=kind.reference,
                definition=kind.definition,
                params=kind.schema(),
                example=kind.example(),
            )
            for kind in every_report_kind()
        ]
    )


@router.post(
    "/reports",
    status_code=202,
    response_model=ReportAnswer,
    responses=documented(*ON_LAUNCH, also=FINISHED),
)
def ask_for_report(
    sent: NewReport,
    desk: JobContextDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for a paper's tables and figures for one or several collections (principals who may see the judgments of all
    of them). Jobs that the report needs are queued unless they exist. An equal request returns the report that exists.
    """

    def act() -> Response:
        report = launch(desk.workspace, desk.principal, sent.collections, find_report_kind(sent.name), sent.params)
        return ANSWERS.asked(desk, report.id)

    return once(desk.workspace, desk.principal, desk.request, idempotency_key, fingerprint, act)


@router.get("/reports", responses=documented(JudgmentsHidden))
def list_reports(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    collection: Annotated[str | None, Query(description="Only reports about this collection")] = None,
    name: Annotated[ReportName | None, Query(description="Only reports of this name")] = None,
) -> Page[ReportAnswer]:
    """List the reports that this token may see, newest first, without their tables and figures."""
    found = list_seen_reports(workspace, principal, collection, name, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.work.number, lambda each: show(request, each, None))


@router.get("/reports/{report}", response_model=ReportAnswer)
async def read_report(desk: JobContextDep, seen: SeenReportDep, wait: Wait = 0) -> Response:
    """Return one report. With `wait`, answer as soon as the report is over, or when the time is up."""
    return await ANSWERS.read(desk, seen, wait)


@router.get(
    "/reports/{report}/events",
    response_class=EventSourceResponse,
    responses=documented(also=documented_events("report", "ReportAnswer")),
)
async def follow_report(desk: JobContextDep, first: SeenReportDep) -> AsyncIterable[ServerSentEvent]:
    """Send the report now, and again at every change of its state or progress, as server-sent events (`event: report`)
    until it is over. Close the stream then: otherwise a browser's EventSource connects again.
    """
    async for event in ANSWERS.follow(desk, first):
        yield event


@router.delete(
    "/reports/{report}",
    status_code=202,
    response_model=ReportAnswer,
    responses=documented(Forbidden, also=CANCELLED),
)
def cancel_report(report: ReportId, desk: JobContextDep) -> Response:
    """Cancel a report that is queued or running (organisers of all its collections, and the token that asked for it).
    Its jobs are cancelled too, if they were queued for it and no other report waits for them.
    """
    return ANSWERS.cancel(desk, report)
