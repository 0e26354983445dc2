"""Scores of runs."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.topic_groups import ChosenGroup


class TiedScores(Model):
    """Scores under another order of tied documents, by label."""

    mean: dict[str, float | None]
    topics: dict[str, dict[str, float | None]] | None = None


class ShownTies(Model):
    """The ties of a run: documents of a topic with equal retrieval scores, in the precision of the collection's order.

    With `ties=range`, `worst` and `best` have the lowest and the highest score of each topic over all orders of tied
    documents. With `ties=expected`, `expected` has the mean over all orders, and `standard_error` its error. It is 0
    for exact values, else that of 1,000 orders drawn with seed 0.
    """

    tied_share: float | None = Field(
        description="Share of the retrieved documents with the same retrieval score as a neighbour of their topic; "
        "null if ranks order the collection's runs"
    )
    topics_cut: int = Field(
        description="Number of topics with documents beyond the collection's depth that are tied with the last one. "
        "They are not part of any order"
    )
    worst: TiedScores | None = None
    best: TiedScores | None = None
    expected: TiedScores | None = None
    standard_error: TiedScores | None = None


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
    ties: ShownTies | None = Field(None, description="Only with `ties=`")


class ScoresAnswer(Model):
    """Scores, and what was left out of them and why."""

    collection: str
    qrels_version: int | None = Field(description="Null while the judgments are hidden")
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic_group: ChosenGroup | None = Field(None, description="Only with `topics=` and the name of a group")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    runs: list[ScoredRun]
    topics_scored: dict[str, int] | None = Field(
        description="Number of topics in the mean, by label; null while the judgments are hidden"
    )
    topics_undefined: dict[str, list[str]] | None = Field(
        description="Topics left out: no relevant document or, for graded metrics, no gain. Null while the judgments "
        "are hidden"
    )
    withheld: dict[str, str] = Field(description="Runs without a score while the judgments are hidden, and why")
