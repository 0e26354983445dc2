"""Jobs and reports as objects, and the calls that ask for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar, Unpack

from gainboard.api.models.common import Page
from gainboard.api.models.jobs import (
    JobAnswer,
    KindAnswer,
    KindsAnswer,
    PairAnswer,
    Progress,
    ReportAnswer,
    ReportKindAnswer,
    ReportKindsAnswer,
)
from gainboard.client.answers import Picture, ResultTable
from gainboard.client.connections import Awaited, Blocking, call, listing
from gainboard.client.errors import NoAnswer, Problem, WorkFailed
from gainboard.client.requests import Call, Pages, Request, api_path, of_collection, read_mapping, read_model, read_text
from gainboard.errors import BadInput
from gainboard.notation.queries import LONGEST_WAIT, JobsQuery, PairsQuery, ReportsQuery
from gainboard.vocabulary import JobState, label_of_matrix

if TYPE_CHECKING:
    from gainboard.analyses.result_models import JobResult, ReportResult

BETWEEN_PROGRESS = 1.0
LATEX, SVG = "application/x-tex", "image/svg+xml"

AnswerT = TypeVar("AnswerT", bound="JobAnswer | ReportAnswer")


class BackgroundWork(Generic[AnswerT]):
    """A job or a report: its progress and its result."""

    _noun: ClassVar[str]
    latest: AnswerT
    """The service's last answer about it."""

    def __init__(self, connection: Any, shown: AnswerT) -> None:
        self._connection = connection
        self.latest = shown

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id[:12]} {self.state}>"

    @property
    def id(self) -> str:
        """The id by which the service finds it."""
        return self.latest.id

    @property
    def state(self) -> JobState:
        """The last known state."""
        return self.latest.state

    @property
    def progress(self) -> Progress:
        """The last known number of finished parts, and the number of all parts."""
        return self.latest.progress

    @property
    def is_over(self) -> bool:
        """Return whether its state is final."""
        return self.state not in ("queued", "running")

    @call
    def refresh(self) -> Call[AnswerT]:
        """Ask for its present state, and return that."""
        return self._read()

    @call
    def wait(self, timeout: float | None = None, progress: Callable[[AnswerT], object] | None = None) -> Call[AnswerT]:
        """Wait until it has succeeded. `progress` is called with its state, at the start and about every second.

        Raise WorkFailed if it fails or is cancelled, and NoAnswer after `timeout` seconds.
        """
        ends = time.monotonic() + timeout if timeout is not None else float("inf")
        while not self.is_over:
            if progress is not None:
                progress(self.latest)
            # Of the monotonic clock: the clock on the wall may be set back while we wait.
            left = ends - time.monotonic()
            if left <= 0:
                raise NoAnswer(
                    f"The {self._noun} is still {self.state} after {timeout:g} seconds. It goes on; wait again to "
                    "see its end."
                )
            yield from self._read(min(left, LONGEST_WAIT if progress is None else BETWEEN_PROGRESS))
        if progress is not None:
            progress(self.latest)
        if self.state != "succeeded":
            raise WorkFailed(self._noun, self.state, self.latest.error)
        return self.latest

    @call
    def cancel(self) -> Call[AnswerT]:
        """Cancel it, unless it is over."""
        return self._update(Request("DELETE", self._path()))

    @call
    def result_json(self) -> Call[dict[str, Any]]:
        """Return the result as JSON. Raise Problem while there is none."""
        return self._result_json()

    @call
    def dependencies(self) -> Call[dict[str, Any] | None]:
        """Return all that the result depends on, with hashes of files, as `gainboard verify` reads it.

        It is None if the token may not see the judgments.
        """
        try:
            return (yield from read_mapping(Request("GET", self._path("dependencies"))))
        except Problem as problem:
            if problem.status not in (403, 404, 409):
                raise
            return None

    @call
    def uploaded_scores(self) -> Call[dict[str, str]]:
        """Return the uploaded scores that the result depends on, as CSV by the metric's label.

        Those that were deleted since then are left out.
        """
        depended = yield from read_mapping(Request("GET", self._path("dependencies")))
        found = {}
        for each in depended.get("score_matrices", ()):
            name, version = str(each["name"]), int(each["version"])
            path = api_path("collections", depended["collection"]["name"], "score-matrices", name)
            try:
                text = yield from read_text(Request("GET", path, {"version": version}, accept="text/csv"))
            except Problem as problem:
                if problem.status != 404:
                    raise
            else:
                found[label_of_matrix(name, version)] = text
        return found

    @call
    def verify(self) -> Call[JobAnswer]:
        """Ask for the job that computes the result again and compares the two; `find_job` waits for it."""
        return read_model(JobAnswer, Request("POST", self._path("verify"), once=True))

    @call
    def table(self, name: str | None = None) -> Call[ResultTable]:
        """Return a table of the result, by default the first one; `latest.tables` lists them."""
        if name is None and self.latest.tables is None:
            yield from self._read()
        if name is None and self.latest.tables is not None:
            if not self.latest.tables:
                raise BadInput(f"The {self._noun} has no table. Read its `result()`.")
            name = self.latest.tables[0].name
        # while there is no table, the service's error says why
        path = self._path("tables", f"{name}.csv") if name is not None else self._path("result")
        return ResultTable((yield from read_text(Request("GET", path, accept="text/csv"))))

    @call
    def latex(self, name: str | None = None) -> Call[str]:
        """Return a table as LaTeX; without a name, all tables of a report or the first table of a job."""
        if name is None:
            return read_text(Request("GET", self._path("result"), {"format": "latex"}, accept=LATEX))
        return read_text(Request("GET", self._path("tables", f"{name}.tex"), accept=LATEX))

    @call
    def figure(self, name: str) -> Call[Picture]:
        """Return a figure as SVG, which notebooks draw; `latest.figures` lists them.

        The server needs the `figures` extra.
        """
        return Picture((yield from read_text(Request("GET", self._path("figures", f"{name}.svg"), accept=SVG))))

    def _result_json(self) -> Call[dict[str, Any]]:
        return read_mapping(Request("GET", self._path("result")))

    def _path(self, *parts: str) -> str:
        return api_path(f"{self._noun}s", self.id, *parts)

    def _model(self) -> type[AnswerT]:
        raise NotImplementedError

    def _read(self, patience: float = 0) -> Call[AnswerT]:
        return self._update(Request("GET", self._path(), {"wait": patience or None}, patience=patience))

    def _update(self, request: Request) -> Call[AnswerT]:
        self.latest = yield from read_model(self._model(), request)
        return self.latest


class JobWork(BackgroundWork["JobAnswer"]):
    """A job: an analysis of stored runs."""

    _noun = "job"

    @call
    def result(self) -> Call[JobResult]:
        """Return the result in the form of its kind. Raise Problem while there is none."""
        from gainboard.analyses.job_kinds import find_kind  # noqa: PLC0415  # imports all that computes

        found = yield from self._result_json()
        return find_kind(self.latest.kind).result_model.model_validate(found, extra="ignore")

    def _model(self) -> type[JobAnswer]:
        return JobAnswer


class ReportWork(BackgroundWork["ReportAnswer"]):
    """A report: a paper's tables and figures."""

    _noun = "report"

    @call
    def result(self) -> Call[ReportResult]:
        """Return the result in the form of its kind. Raise Problem while there is none."""
        from gainboard.analyses.result_models import ReportResult  # noqa: PLC0415  # as above

        return ReportResult.model_validate((yield from self._result_json()), extra="ignore")

    def _model(self) -> type[ReportAnswer]:
        return ReportAnswer


class Job(JobWork, Blocking):
    """A job. Its methods return when they are done."""


class AsyncJob(JobWork, Awaited):
    """A job. Its methods are awaited."""


class Report(ReportWork, Blocking):
    """A report. Its methods return when they are done."""


class AsyncReport(ReportWork, Awaited):
    """A report. Its methods are awaited."""


JobT = TypeVar("JobT", bound=JobWork)
ReportT = TypeVar("ReportT", bound=ReportWork)


class WorkCalls(Generic[JobT, ReportT]):
    """Jobs and reports, as blocking or awaited objects like their client."""

    _connection: Any
    _job: type[JobT]
    _report: type[ReportT]

    @call
    def job_kinds(self) -> Call[list[KindAnswer]]:
        """Return every kind of job and its parameters."""
        return _items(KindsAnswer, "job-kinds")

    @call
    def job(self, collection: str, kind: str, /, **params: Any) -> Call[JobT]:
        """Ask for a job, such as `"bootstrap-sensitivity", metrics=["AP", "Q"]`.

        An equal request returns the same job.
        """
        sent = {"kind": kind, "params": params}
        return self._request_job(Request("POST", of_collection(collection, "jobs"), json=sent, once=True))

    @call
    def pool(self, collection: str, /, **params: Any) -> Call[JobT]:
        """Make a pool of the runs (organisers), such as `depth=30, order="ntcir"`: a job whose table `pool` has it."""
        sent = {"kind": "pool", "params": params}
        return self._request_job(Request("POST", of_collection(collection, "jobs"), json=sent, once=True))

    @call
    def find_job(self, job_id: str) -> Call[JobT]:
        """Return the job with this id."""
        return self._request_job(Request("GET", api_path("jobs", job_id)))

    @listing
    def jobs(self, **query: Unpack[JobsQuery]) -> Pages[JobT]:
        """List the jobs that the token may see, newest first."""
        page = Page[JobAnswer]
        return Pages(page, api_path("jobs"), query, lambda shown: self._job(self._connection, shown))

    @listing
    def pairs(self, job_id: str, **query: Unpack[PairsQuery]) -> Pages[PairAnswer]:
        """List the pairs of runs that a job of kind bootstrap-sensitivity has tested, metric by metric.

        Give `metric` (a label of the result) or `run` for only their pairs, and `significant` for lower levels only.
        """
        return Pages(Page[PairAnswer], api_path("jobs", job_id, "pairs"), query)

    @call
    def report_kinds(self) -> Call[list[ReportKindAnswer]]:
        """Return every kind of report and its parameters."""
        return _items(ReportKindsAnswer, "report-kinds")

    @call
    def report(self, name: str, collections: str | Sequence[str], /, **params: Any) -> Call[ReportT]:
        """Ask for a paper's tables and figures for one or several collections.

        An equal request returns the same report.
        """
        names = [collections] if isinstance(collections, str) else list(collections)
        sent = {"name": name, "collections": names, "params": params}
        return self._request_report(Request("POST", api_path("reports"), json=sent, once=True))

    @call
    def find_report(self, report_id: str) -> Call[ReportT]:
        """Return the report with this id."""
        return self._request_report(Request("GET", api_path("reports", report_id)))

    @listing
    def reports(self, **query: Unpack[ReportsQuery]) -> Pages[ReportT]:
        """List the reports that the token may see, newest first."""
        page = Page[ReportAnswer]
        return Pages(page, api_path("reports"), query, lambda shown: self._report(self._connection, shown))

    def _request_job(self, request: Request) -> Call[JobT]:
        return self._job(self._connection, (yield from read_model(JobAnswer, request)))

    def _request_report(self, request: Request) -> Call[ReportT]:
        return self._report(self._connection, (yield from read_model(ReportAnswer, request)))


def _items(kind: type[Any], path: str) -> Call[list[Any]]:
    return (yield from read_model(kind, Request("GET", api_path(path)))).items  # type: ignore[no-any-return]
