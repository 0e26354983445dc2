"""Stored runs."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gainboard.api.models.answers import Model, ShownWarning


class ShownRun(Model):
    """A stored run. `unjudged_share` is null where the judgments are hidden, or there are none."""

    name: str
    team: str
    tag: str = Field(description="The sixth column, as it stood in the file")
    description: str | None
    type: str | None
    pooled: bool
    topics: int
    retrieved: int = Field(description="Documents, after truncation to the collection's depth")
    unjudged_share: float | None
    sha256: str = Field(description="Of the file, decompressed")
    created_at: datetime
    warnings: list[ShownWarning]
