"""`/v1/reports` and `/v1/report-kinds`"""

from __future__ import annotations

from collections.abc import AsyncIterable
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.sse import EventSourceResponse, ServerSentEvent

from gainboard.api.answers import answer, place
from gainboard.api.asked_work import NewReport, ReportName
from gainboard.api.dependencies import EngineDep, PrincipalDep, WatchDep, WorkspaceDep
from gainboard.api.idempotency import FingerprintDep, IdempotencyKey, once
from gainboard.api.jobs import ON_LAUNCH
from gainboard.api.models.answers import Page
from gainboard.api.models.reports import ReportKindsAnswer, ShownReport, ShownReportKind
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.shown_reports import ReportId, SeenReportDep, show, show_whole
from gainboard.api.waiting import Wait, attended, wait_headers
from gainboard.errors import Forbidden, JudgmentsHidden, Refused, Unavailable
from gainboard.work import seen_reports
from gainboard.work.outlines import launch
from gainboard.work.report_kinds import every_report_kind, find_report_kind

router = APIRouter(prefix="/v1", tags=["reports"], responses=documented())

FINISHED: dict[int, dict[str, Any]] = {200: {"model": ShownReport, "description": "It has succeeded already"}}
CANCELLED: dict[int, dict[str, Any]] = {200: {"model": ShownReport, "description": "It was over, and is unchanged"}}
EVENTS: dict[int, dict[str, Any]] = {
    200: {
        "description": "Events named `report`, whose data is the report; the last one is that of its final state",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}


@router.get("/report-kinds")
def list_report_kinds() -> ReportKindsAnswer:
    """Every kind of report: which paper's tables and figures it shows, and what may be asked of it."""
    return ReportKindsAnswer(
        items=[
            ShownReportKind(
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
    response_model=ShownReport,
    responses=documented(*ON_LAUNCH, also=FINISHED),
)
def ask_for_report(
    sent: NewReport,
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    engine: EngineDep,
    fingerprint: FingerprintDep,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """Ask for a paper's tables and figures for one or several collections (whoever may see the judgments of all of
    them). The jobs that it takes are queued unless they are there; an equal request is the report that is there."""

    def act() -> Response:
        report = launch(workspace, principal, sent.collections, find_report_kind(sent.name), sent.params)
        engine.wake()
        seen = seen_reports.find_report(workspace, principal, report.id)
        headers = {"Location": place(request, f"/v1/reports/{report.id}"), **wait_headers(is_over=seen.report.is_over)}
        return answer(show_whole(request, workspace, seen), 200 if seen.report.is_over else 202, **headers)

    return once(workspace, principal, request, idempotency_key, fingerprint, act)


@router.get("/reports", responses=documented(JudgmentsHidden))
def list_reports(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    paging: PagingDep,
    collection: Annotated[str | None, Query(description="Only those about this collection")] = None,
    name: Annotated[ReportName | None, Query(description="Only those of this name")] = None,
) -> Page[ShownReport]:
    """The reports that this token sees, newest first, without their tables and figures."""
    found = seen_reports.list_reports(workspace, principal, collection, name, paging.after_number, paging.wanted)
    return paging.page(found, lambda each: each.report.number, lambda each: show(request, each))


@router.get("/reports/{report}", response_model=ShownReport)
async def read_report(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    watch: WatchDep,
    seen: SeenReportDep,
    wait: Wait = 0,
) -> Response:
    """One report; with `wait` as soon as it is over, or as it is when the time is up."""
    if wait and not seen.report.is_over:
        await attended(request, watch.until_over(seen.report, wait))
        # Whether the principal still sees it is asked again, for the judgments may have been hidden since.
        seen = await run_in_threadpool(seen_reports.find_report, workspace, principal, seen.report.id)
    shown = await run_in_threadpool(show_whole, request, workspace, seen)
    return answer(shown, 200, **wait_headers(is_over=seen.report.is_over))


@router.get("/reports/{report}/events", response_class=EventSourceResponse, responses=documented(also=EVENTS))
async def follow_report(
    request: Request, workspace: WorkspaceDep, principal: PrincipalDep, watch: WatchDep, first: SeenReportDep
) -> AsyncIterable[ServerSentEvent]:
    """The report now, and again at every change of its state or progress, as server-sent events (`event: report`)
    until it is over. Close the stream then: a browser's EventSource would connect again."""
    async for report in watch.changes(first.report):
        try:
            seen = await run_in_threadpool(seen_reports.find_report, workspace, principal, report.id)
        except (Refused, Unavailable):
            return  # the judgments were hidden meanwhile, or the database is away: who connects again is told
        shown = await run_in_threadpool(show_whole, request, workspace, replace(seen, report=report))
        yield ServerSentEvent(event="report", id=f"{report.state}-{report.parts_done}", data=shown)


@router.delete(
    "/reports/{report}",
    status_code=202,
    response_model=ShownReport,
    responses=documented(Forbidden, also=CANCELLED),
)
def cancel_report(
    report: ReportId, request: Request, workspace: WorkspaceDep, principal: PrincipalDep, engine: EngineDep
) -> Response:
    """Cancel a report that is queued or running (organisers of all its collections, and the token that asked for it),
    and those of its jobs that were queued for it and that no other report waits for."""
    seen, is_cancelled = seen_reports.cancel_report(workspace, principal, report)
    engine.wake()
    return answer(show_whole(request, workspace, seen), 202 if is_cancelled else 200)
