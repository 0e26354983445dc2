"""Jobs and reports as objects."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar, Generic, TypeVar

from gainboard.api.models.jobs import Progress, ShownJob
from gainboard.api.models.reports import ShownReport
from gainboard.client.calling import Awaited, Blocking, call
from gainboard.client.errors import NoAnswer, WorkFailed
from gainboard.client.requests import Call, Request, mapping, model, path, text
from gainboard.client.tables import Table
from gainboard.errors import BadInput
from gainboard.store.job_records import JobState

LONGEST_WAIT = 30.0
"""Seconds that the service waits for an end before it says how far a job is."""
BETWEEN_PROGRESS = 1.0
LATEX, SVG = "application/x-tex", "image/svg+xml"

ShownT = TypeVar("ShownT", bound="ShownJob | ShownReport")


class Work(Generic[ShownT]):
    """Something that the service works beside requests: how far it is, and what comes out."""

    _noun: ClassVar[str]
    latest: ShownT
    """As the service showed it last."""

    def __init__(self, connection: Any, shown: ShownT) -> None:
        self._connection = connection
        self.latest = shown

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id[:12]} {self.state}>"

    @property
    def id(self) -> str:
        """What it is asked for by."""
        return self.latest.id

    @property
    def state(self) -> JobState:
        """As it was last."""
        return self.latest.state

    @property
    def progress(self) -> Progress:
        """Parts of the work that were done last, and all."""
        return self.latest.progress

    @property
    def is_over(self) -> bool:
        """Whether its state is final."""
        return self.state in ("succeeded", "failed", "cancelled")

    @call
    def refresh(self) -> Call[ShownT]:
        """How it is now."""
        return self._read()

    @call
    def wait(self, timeout: float | None = None, progress: Callable[[ShownT], object] | None = None) -> Call[ShownT]:
        """Wait until it has succeeded. `progress` is called with how it is, at the beginning and about every second.

        Raises WorkFailed if it fails or is cancelled, NoAnswer after `timeout` seconds.
        """
        return self._wait(timeout, progress)

    @call
    def cancel(self) -> Call[ShownT]:
        """Cancel it, unless it is over."""
        return self._shown(Request("DELETE", self._path()))

    @call
    def result(self) -> Call[dict[str, Any]]:
        """The result as JSON; raises Problem while there is none."""
        return mapping(Request("GET", self._path("result")))

    @call
    def table(self, name: str | None = None) -> Call[Table]:
        """A table of the result, the first if none is named; `latest.tables` lists them."""
        return self._table(name)

    @call
    def latex(self, name: str | None = None) -> Call[str]:
        """A table as LaTeX; if none is named a report's tables all together, or a job's first."""
        if name is None:
            return text(Request("GET", self._path("result"), {"format": "latex"}, accept=LATEX))
        return text(Request("GET", self._path("tables", f"{name}.tex"), accept=LATEX))

    @call
    def figure(self, name: str) -> Call[str]:
        """A figure as SVG; `latest.figures` lists them. The server must have the `figures` extra."""
        return text(Request("GET", self._path("figures", f"{name}.svg"), accept=SVG))

    def _path(self, *parts: str) -> str:
        return path(f"{self._noun}s", self.id, *parts)

    def _model(self) -> type[ShownT]:
        raise NotImplementedError

    def _read(self, patience: float = 0) -> Call[ShownT]:
        return self._shown(Request("GET", self._path(), {"wait": patience or None}, patience=patience))

    def _shown(self, request: Request) -> Call[ShownT]:
        self.latest = yield from model(self._model(), request)
        return self.latest

    def _wait(self, timeout: float | None, progress: Callable[[ShownT], object] | None) -> Call[ShownT]:
        ends = time.monotonic() + timeout if timeout is not None else float("inf")
        while not self.is_over:
            if progress is not None:
                progress(self.latest)
            left = ends - time.monotonic()
            if left <= 0:
                raise NoAnswer(f"The {self._noun} is {self.state} still, after {timeout:g} seconds.")
            yield from self._read(min(left, LONGEST_WAIT if progress is None else BETWEEN_PROGRESS))
        if progress is not None:
            progress(self.latest)
        if self.state != "succeeded":
            raise WorkFailed(self._noun, self.state, self.latest.error)
        return self.latest

    def _table(self, name: str | None) -> Call[Table]:
        if name is None and self.latest.tables is None:
            yield from self._read()
        if name is None and self.latest.tables is not None:
            if not self.latest.tables:
                raise BadInput(f"The {self._noun} has no table.")
            name = self.latest.tables[0].name
        # Where there is no table yet, the service says why.
        place = self._path("tables", f"{name}.csv") if name is not None else self._path("result")
        return Table((yield from text(Request("GET", place, accept="text/csv"))))


class JobWork(Work["ShownJob"]):
    """A job: an analysis of stored runs."""

    _noun = "job"

    def _model(self) -> type[ShownJob]:
        return ShownJob


class ReportWork(Work["ShownReport"]):
    """A report: a paper's tables and figures."""

    _noun = "report"

    def _model(self) -> type[ShownReport]:
        return ShownReport


class Job(JobWork, Blocking):
    """A job, whose methods return when they are done."""


class AsyncJob(JobWork, Awaited):
    """A job, whose methods are awaited."""


class Report(ReportWork, Blocking):
    """A report, whose methods return when they are done."""


class AsyncReport(ReportWork, Awaited):
    """A report, whose methods are awaited."""
