"""Stored runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gainboard.api.models.answers import Model, ShownWarning


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
    created_at: datetime
    warnings: list[ShownWarning]
