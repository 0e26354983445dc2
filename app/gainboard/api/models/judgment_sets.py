"""Judgment sets: parallel judgments of one collection under names."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.notation.types import JsonBody

SetState = Literal["hidden", "released"]


class ShownJudgmentSet(Model):
    """A judgment set, with the numbers of the version in use; these are null as long as none is published."""

    name: str
    state: SetState = Field(
        description="Only organisers see a hidden set. A released one is shown to whoever may see the judgments of the "
        "collection"
    )
    created_at: datetime | None = Field(description="Null for the official set, which is as old as the collection")
    released_at: datetime | None = Field(description="Null for the official set, which is released with the collection")
    versions: int = Field(description="Number of its versions; drafts count only for organisers")
    qrels_version: int | None = Field(description="The version in use")
    topics: int | None
    judged: int | None
    relevant: int | None


class JudgmentSetChange(JsonBody):
    """A change of a judgment set."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "released"}]})

    state: SetState
