"""Reports and their kinds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.jobs import Progress, ShownFigure, ShownTable
from gainboard.store.job_records import JobState


class PaperTable(ShownTable):
    """A table under its number in the paper. `collection` is null if it is about all collections."""

    number: str
    collection: str | None


class PaperFigure(ShownFigure):
    """A figure under its number in the paper."""

    number: str
    collection: str | None


class NeededJob(Model):
    """A job whose result the report uses."""

    collection: str
    key: str = Field(description="The report's name for it")
    kind: str
    id: str
    state: JobState
    url: str


class NotThere(Model):
    """Tables or figures of the paper that are not available for this collection, and why."""

    collection: str
    what: str
    why: str


class ShownReport(Model):
    """A paper's tables and figures for stored collections. The same request on the same data is the same report."""

    id: str = Field(description="SHA-256 of everything that the report depends on")
    name: str
    title: str
    collections: list[str]
    state: JobState = Field(description="The state of all its jobs together; failed as soon as one job has failed")
    progress: Progress
    params: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result_url: str | None = Field(description="Null until the report has succeeded")
    error: str | None = Field(description="Why the report failed")
    jobs: list[NeededJob]
    left_out: list[NotThere] = Field(description="What is known to be missing before the jobs run")
    tables: list[PaperTable] | None = Field(description="Null until the report has succeeded, and in lists")
    figures: list[PaperFigure] | None = Field(description="Null until the report has succeeded, and in lists")


class ShownReportKind(Model):
    """A kind of report."""

    name: str
    title: str = Field(description="The paper's")
    reference: str
    definition: str
    params: dict[str, Any] = Field(description="JSON Schema of the parameters, with descriptions, defaults and limits")
    example: dict[str, Any] = Field(description="An example of a request body")


class ReportKindsAnswer(Model):
    """The list of every kind of report."""

    items: list[ShownReportKind]
