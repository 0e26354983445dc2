"""Stored runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gainboard.api.models.answers import Model, ShownWarning

LATE_QUERY = "`exclude` leaves out late runs, which came after the release"


class ShownRun(Model):
    """A stored run. `unjudged_share` is null if the judgments are hidden or do not exist."""

    name: str
    team: str
    tag: str = Field(description="The sixth column of the file (the run tag), unchanged")
    description: str | None
    type: str | None
    pooled: bool
    topics: int
    retrieved: int = Field(description="Number of documents, after truncation to the collection's depth")
    unjudged_share: float | None
    sha256: str = Field(description="SHA-256 of the decompressed file")
    created_at: datetime = Field(description="When the whole file had arrived")
    late: bool = Field(False, description="Whether the run came after the release of judgments that were hidden before")
    warnings: list[ShownWarning]
