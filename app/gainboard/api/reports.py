"""`/v1/reports` and `/v1/report-kinds`"""

from __future__ import annotations

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request, Response
from fastapi.concurrency import run_in_threadpool

from gainboard.analyses.job_kinds import schema_of
from gainboard.analyses.report_kinds import every_report_kind, find_report_kind
from gainboard.analyses.result_models import ReportResult
from gainboard.api.answers import address
from gainboard.api.dependencies import PrincipalDep, WorkspaceDep, accepts
from gainboard.api.idempotency import KeyedDep
from gainboard.api.job_answers import JobContextDep, NewReport, ReportName, WorkAnswers, finished
from gainboard.api.jobs import (
    LATEX,
    ON_LAUNCH,
    add_exhibit_routes,
    add_verification_route,
    depended_files,
    file_answer,
    json_answer,
    result_answer,
)
from gainboard.api.models.common import Page
from gainboard.api.models.jobs import (
    DependedChapter,
    NeededJob,
    NotThere,
    PaperFigure,
    PaperTable,
    Progress,
    ReportAnswer,
    ReportDependencies,
    ReportKindAnswer,
    ReportKindsAnswer,
)
from gainboard.api.pages import PagingDep
from gainboard.api.problems import documented
from gainboard.api.queries import asked_by
from gainboard.api.routes import CheckedRoute
from gainboard.errors import JobNotFinished, JudgmentsHidden, NoResult, ResultOutdated
from gainboard.jobs.access import REPORTS, Seen, find_work
from gainboard.jobs.access import list_reports as list_seen_reports
from gainboard.jobs.derived_files import REPORT_LATEX
from gainboard.jobs.report_planning import admit, launch
from gainboard.jobs.results import require_result
from gainboard.jobs.verification import DependedOn, DependedReport, report_dependencies
from gainboard.notation.queries import ReportResultQuery, ReportsQuery
from gainboard.store.job_records import Chapter, StoredReport

router = APIRouter(prefix="/v1", tags=["reports"], responses=documented(), route_class=CheckedRoute)


def show(request: Request, seen: Seen[StoredReport], exhibits: dict[str, Any] | None) -> ReportAnswer:
    """Return a report, with its tables and figures if `exhibits` names them."""
    report, url = seen.work, ANSWERS.address(request, seen.work)
    chapters = list(zip([collection.name for collection in seen.collections], report.chapters, strict=True))
    return ReportAnswer(
        id=report.id,
        name=report.name,
        title=find_report_kind(report.name).title if not report.damage else report.name,
        collections=[name for name, _ in chapters],
        state=report.state,
        progress=Progress(done=report.parts_done, total=report.parts),
        params=report.params,
        created_at=report.created_at,
        started_at=report.started_at,
        finished_at=report.finished_at,
        result_url=f"{url}/result" if report.state == "succeeded" else None,
        error=report.error,
        origin=report.origin,
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
            NotThere(collection=name, what=entry["what"], why=entry["why"])
            for name, chapter in chapters
            for entry in chapter.left_out
        ],
        tables=[PaperTable.below(url, **exhibit) for exhibit in exhibits["tables"]] if exhibits else None,
        figures=[PaperFigure.below(url, **exhibit) for exhibit in exhibits["figures"]] if exhibits else None,
    )


ANSWERS = WorkAnswers(
    REPORTS, show, " Its jobs are cancelled too, if they were queued for it and no other report waits for them."
)

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
                params=schema_of(kind.params_model),
                example=kind.example(),
            )
            for kind in every_report_kind()
        ]
    )


@router.post(
    "/reports",
    status_code=202,
    response_model=ReportAnswer,
    responses=documented(*ON_LAUNCH, also=finished("report", ReportAnswer)),
)
def ask_for_report(sent: NewReport, context: JobContextDep, keyed: KeyedDep) -> Response:
    """Ask for a paper's tables and figures for one or several collections (principals who may see the judgments of all
    of them). Jobs that the report needs are queued unless they exist. An equal request returns the report that exists.
    """

    def act() -> Response:
        report = launch(
            context.workspace, context.principal, sent.collections, find_report_kind(sent.name), sent.params
        )
        return ANSWERS.asked(context, report.id)

    permit = partial(admit, context.workspace, context.principal, sent.collections)
    return keyed.answer_once(act, permit=permit, again=partial(ANSWERS.again, context))


@router.get("/reports", responses=documented(JudgmentsHidden))
def list_reports(
    request: Request,
    workspace: WorkspaceDep,
    principal: PrincipalDep,
    asked: Annotated[ReportsQuery, asked_by(ReportsQuery, name=ReportName)],
    paging: PagingDep,
) -> Page[ReportAnswer]:
    """List the reports that this token may see, newest first, without their tables and figures."""
    collection, name = asked.get("collection"), asked.get("name")
    listed = list_seen_reports(workspace, principal, collection, name, paging.after_number, paging.wanted)
    return paging.page(listed, lambda seen: seen.work.number, lambda seen: show(request, seen, None))


ANSWERS.add_routes(router, ReportAnswer, _seen_report)


@router.get(
    "/reports/{report}/result",
    response_class=Response,
    responses=documented(JobNotFinished, NoResult, ResultOutdated, also=result_answer(ReportResult, LATEX)),
)
async def read_report_result(
    seen: SeenReportDep, context: JobContextDep, asked: Annotated[ReportResultQuery, asked_by(ReportResultQuery)]
) -> Response:
    """Return every table and figure with its numbers, and what is missing and why; or all tables as LaTeX."""
    report = seen.work
    form = asked.get("format") or ("latex" if accepts(context.request, LATEX) else "json")
    if form == "latex":
        require_result(report)
        return await file_answer(context, report, REPORT_LATEX, LATEX)
    return await run_in_threadpool(json_answer, context.request, context.workspace, report)


add_exhibit_routes(router, "report", _seen_report)


@router.get("/reports/{report}/dependencies", responses=documented(JobNotFinished, NoResult, JudgmentsHidden))
def read_report_dependencies(
    seen: SeenReportDep, workspace: WorkspaceDep, principal: PrincipalDep
) -> ReportDependencies:
    """Return all that the report depends on: parameters, settings, and the hashes of the judgments and runs of each
    collection (those who may see the judgments). With these files, `gainboard verify` computes it on another machine.
    """
    return show_report_dependencies(report_dependencies(workspace, principal, seen.work))


def show_report_dependencies(depended: DependedReport) -> ReportDependencies:
    """Return what a report depends on."""
    report = depended.report
    chapters = zip(depended.chapters, report.chapters, strict=True)
    return ReportDependencies(
        report=report.id,
        name=report.name,
        params=depended.params,
        result_sha256=require_result(report),
        chapters=[_depended_chapter(depended, chapter) for depended, chapter in chapters],
    )


def _depended_chapter(depended: DependedOn, chapter: Chapter) -> DependedChapter:
    every = chapter.jobs.values()
    groups = [job.params["topics"] for job in every if isinstance(job.params.get("topics"), dict)]
    return DependedChapter(
        topic_groups={group["group"]: group["topics"] for group in groups},
        published=chapter.about["versions"],
        engine_versions={job.kind: job.engine_version or 0 for job in every},
        **depended_files(depended),
    )


add_verification_route(router, "report", _seen_report)
