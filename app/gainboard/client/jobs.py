"""Calls for jobs and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from gainboard.api.models.answers import Page
from gainboard.api.models.jobs import KindsAnswer, ShownJob, ShownKind
from gainboard.api.models.reports import ReportKindsAnswer, ShownReport, ShownReportKind
from gainboard.client.calling import call, listing
from gainboard.client.requests import Call, Pages, Request, model, path
from gainboard.client.work import JobWork, ReportWork
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
        return _items(KindsAnswer, "job-kinds")

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
        page = Page[ShownJob]
        return Pages(page, path("jobs"), query, lambda shown: self._job(self._connection, shown))

    @call
    def report_kinds(self) -> Call[list[ShownReportKind]]:
        """Every kind of report, and what may be asked of it."""
        return _items(ReportKindsAnswer, "report-kinds")

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
        page = Page[ShownReport]
        return Pages(page, path("reports"), query, lambda shown: self._report(self._connection, shown))

    def _asked_job(self, request: Request) -> Call[JobT]:
        return self._job(self._connection, (yield from model(ShownJob, request)))

    def _asked_report(self, request: Request) -> Call[ReportT]:
        return self._report(self._connection, (yield from model(ShownReport, request)))


def _items(kind: type[Any], place: str) -> Call[list[Any]]:
    return (yield from model(kind, Request("GET", path(place)))).items  # type: ignore[no-any-return]
