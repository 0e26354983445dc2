"""Score matrices: scores of metrics that were computed elsewhere."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.store.records import Direction


class ShownMatrix(Model):
    """A version of a score matrix: each of its runs has a score on each of its topics."""

    name: str
    metric: str = Field(description="The expression of the metric, such as `custom:nuggets`")
    label: str = Field(description="The same with the version, as answers and jobs show it")
    version: int
    direction: Direction = Field(description="Whether higher or lower scores are better")
    low: float | None = Field(description="The lowest score that is possible; null without a range")
    high: float | None
    missing: str | None = Field(description="The rule for missing scores: a number, `zero` or `drop-topic`")
    filled: int = Field(description="Number of missing scores that the rule filled")
    dropped: list[str] = Field(description="Topics that were left out because a run had no score")
    runs: int
    topics: int
    sha256: str = Field(description="SHA-256 of the file")
    created_at: datetime


class WholeMatrix(ShownMatrix):
    """A score matrix with its scores."""

    run_names: list[str]
    topic_names: list[str]
    scores: list[list[float]] = Field(description="A row for each run, a column for each topic")
