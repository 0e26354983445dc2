"""Calls for jobs and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from gainboard.client import models
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, model, path
from gainboard.client.work import JobWork, ReportWork

if TYPE_CHECKING:
    from gainboard.api.jobs import ShownKind
    from gainboard.api.reports import ShownReportKind
    from gainboard.store.job_records import JobState

JobT = TypeVar("JobT", bound=JobWork)
ReportT = TypeVar("ReportT", bound=ReportWork)


class WorkCalls(Generic[JobT, ReportT]):
    """Jobs and reports, as the objects of the client's own kind."""

    _connection: Any
    _job: type[JobT]
    _report: type[ReportT]

    @call
    def job_kinds(self) -> Call[list[ShownKind]]:
        """Every kind of job, and what may be asked of it."""
        return _items(models.jobs.KindsAnswer, "job-kinds")

    @call
    def job(self, collection: str, kind: str, /, **params: Any) -> Call[JobT]:
        """Ask for a job, such as `"bootstrap-sensitivity", metrics=["AP", "Q"]`; an equal one is there already."""
        sent = {"kind": kind, "params": params}
        return self._asked_job(Request("POST", path("collections", collection, "jobs"), json=sent, once=True))

    @call
    def find_job(self, job_id: str) -> Call[JobT]:
        """The job of an id."""
        return self._asked_job(Request("GET", path("jobs", job_id)))

    @listing
    def jobs(
        self, *, collection: str | None = None, kind: str | None = None, state: JobState | None = None
    ) -> Pages[JobT]:
        """The jobs that the token sees, newest first."""
        query = {"collection": collection, "kind": kind, "state": state}
        page = models.pages.Page[models.shown_jobs.ShownJob]
        return Pages(page, path("jobs"), query, lambda shown: self._job(self._connection, shown))

    @call
    def report_kinds(self) -> Call[list[ShownReportKind]]:
        """Every kind of report, and what may be asked of it."""
        return _items(models.reports.ReportKindsAnswer, "report-kinds")

    @call
    def report(self, name: str, collections: str | Sequence[str], /, **params: Any) -> Call[ReportT]:
        """Ask for a paper's tables and figures of one or several collections; an equal one is there already."""
        names = [collections] if isinstance(collections, str) else list(collections)
        sent = {"name": name, "collections": names, "params": params}
        return self._asked_report(Request("POST", path("reports"), json=sent, once=True))

    @call
    def find_report(self, report_id: str) -> Call[ReportT]:
        """The report of an id."""
        return self._asked_report(Request("GET", path("reports", report_id)))

    @listing
    def reports(self, *, collection: str | None = None, name: str | None = None) -> Pages[ReportT]:
        """The reports that the token sees, newest first."""
        query = {"collection": collection, "name": name}
        page = models.pages.Page[models.shown_reports.ShownReport]
        return Pages(page, path("reports"), query, lambda shown: self._report(self._connection, shown))

    def _asked_job(self, request: Request) -> Call[JobT]:
        return self._job(self._connection, (yield from model(models.shown_jobs.ShownJob, request)))

    def _asked_report(self, request: Request) -> Call[ReportT]:
        return self._report(self._connection, (yield from model(models.shown_reports.ShownReport, request)))


def _items(kind: type[Any], place: str) -> Call[list[Any]]:
    return (yield from model(kind, Request("GET", path(place)))).items  # type: ignore[no-any-return]
