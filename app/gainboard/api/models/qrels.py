"""Versions of the judgments."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import Field

from gainboard.api.models.answers import Model, ShownWarning
from gainboard.store.records import OrderBy

Columns = Literal["trec", "topic-document-level", "topic-level-document"]


class ShownQrels(Model):
    """One immutable version of the judgments: how many topics, judged and relevant documents it has."""

    version: int
    state: Literal["draft", "published"] = Field(description="Of a draft only organisers know")
    published_at: datetime | None = Field(description="The version published last is the one that answers")
    topics: int
    judged: int
    relevant: int
    per_level: dict[str, int]
    columns: Columns
    sha256: str
    order_by: OrderBy = Field(description="What decides a document's rank in the runs that are judged by this version")
    created_at: datetime
    warnings: list[ShownWarning]
