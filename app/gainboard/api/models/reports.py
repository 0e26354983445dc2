"""Reports and their kinds."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.jobs import Progress, ShownFigure, ShownTable
from gainboard.store.job_records import JobState


class PaperTable(ShownTable):
    """A table under its number in the paper; `collection` is null where it is about all of them."""

    number: str
    collection: str | None


class PaperFigure(ShownFigure):
    """A figure under its number in the paper."""

    number: str
    collection: str | None


class NeededJob(Model):
    """A job whose result the report lays out."""

    collection: str
    key: str = Field(description="What the report calls it")
    kind: str
    id: str
    state: JobState
    url: str


class NotThere(Model):
    """Tables or figures of the paper that cannot be had of this collection, and why."""

    collection: str
    what: str
    why: str


class ShownReport(Model):
    """A paper's tables and figures for collections here. The same request on the same data is the same report."""

    id: str = Field(description="SHA-256 of all that the report depends on")
    name: str
    title: str
    collections: list[str]
    state: JobState = Field(description="Of its jobs together; failed as soon as one of them has failed")
    progress: Progress
    params: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result_url: str | None = Field(description="Null until it has succeeded")
    error: str | None = Field(description="Why it failed")
    jobs: list[NeededJob]
    left_out: list[NotThere] = Field(description="What is known to be missing before anything is worked")
    tables: list[PaperTable] | None = Field(description="Null until it has succeeded, and in lists")
    figures: list[PaperFigure] | None = Field(description="Null until it has succeeded, and in lists")


class ShownReportKind(Model):
    """A kind of report."""

    name: str
    title: str = Field(description="The paper's")
    reference: str
    definition: str
    params: dict[str, Any] = Field(description="JSON Schema: every parameter with its description, default, limits")
    example: dict[str, Any] = Field(description="A body that asks for it")


class ReportKindsAnswer(Model):
    """Every kind of report."""

    items: list[ShownReportKind]
