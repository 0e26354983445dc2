"""Scores of runs."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model


class ScoredRun(Model):
    """A run's scores by label; null where a score is undefined."""

    name: str
    team: str
    topics_missing: int | None = Field(
        description="Topics of the qrels that the run lacks, each of which scores 0; of the declared ones, or null, "
        "while the judgments are hidden"
    )
    mean: dict[str, float | None]
    topics: dict[str, dict[str, float | None]] | None = None


class ScoresAnswer(Model):
    """Scores, and what was left out of them and why."""

    collection: str
    qrels_version: int
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="The label that each expression became")
    runs: list[ScoredRun]
    topics_scored: dict[str, int] | None = Field(description="Topics in the mean, by label; null while hidden")
    topics_undefined: dict[str, list[str]] | None = Field(
        description="Topics left out, for they have nothing to find; null while hidden"
    )
    withheld: dict[str, str] = Field(description="Runs that get no score while the judgments are hidden, and why")
