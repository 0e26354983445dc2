"""Scores of runs."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model


class ScoredRun(Model):
    """A run's scores by label; null if a score is undefined."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    topics_missing: int | None = Field(
        description="Topics of the qrels that the run lacks, each of which scores 0. While the judgments are hidden: "
        "of the declared topics, or null"
    )
    mean: dict[str, float | None]
    topics: dict[str, dict[str, float | None]] | None = None


class ScoresAnswer(Model):
    """Scores, and what was left out of them and why."""

    collection: str
    qrels_version: int | None = Field(description="Null while the judgments are hidden")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    runs: list[ScoredRun]
    topics_scored: dict[str, int] | None = Field(
        description="Number of topics in the mean, by label; null while the judgments are hidden"
    )
    topics_undefined: dict[str, list[str]] | None = Field(
        description="Topics left out because they have no relevant document; null while the judgments are hidden"
    )
    withheld: dict[str, str] = Field(description="Runs without a score while the judgments are hidden, and why")
