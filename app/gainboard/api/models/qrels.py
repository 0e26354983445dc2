"""Versions of the judgments."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from gainboard.api.models.answers import Model, ShownWarning
from gainboard.store.records import OrderBy

Columns = Literal["trec", "topic-document-level", "topic-level-document", "topic-intent-document-level"]


class ShownQrels(Model):
    """One immutable version of the judgments, with its numbers of topics, judged and relevant documents."""

    version: int
    judgments: str = Field("official", description="The judgment set of the version")
    state: Literal["draft", "published"] = Field(description="Only organisers see drafts")
    in_use: bool = Field(description="Whether it answers requests that name no version: it was published last")
    published_at: datetime | None = Field(description="When it was published, for the last time")
    topics: int
    judged: int
    relevant: int
    per_level: dict[str, int]
    columns: Columns
    sha256: str
    order_by: OrderBy = Field(description="What determines the rank of a document in the runs judged by this version")
    created_at: datetime
    warnings: list[ShownWarning]
    job: str | None = Field(
        None, description="The job that judges all runs by it, and publishes it unless a draft was asked for"
    )
