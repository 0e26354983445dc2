"""One qrels version held against another."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from gainboard.api.models.answers import Model

Kind = Literal["same_better", "no_difference", "appears", "disappears", "reverses"]


class JudgmentChange(Model):
    """A document whose judgment differs; a level is null where it is not judged."""

    topic: str
    document: str
    old: str | None
    new: str | None


class JudgmentsImpact(Model):
    """How the judgments differ."""

    added: int
    removed: int
    changed: int
    unchanged: int
    levels: list[str | None] = Field(description="Names of the rows and columns of `table`; null: not judged")
    table: list[list[int]] = Field(description="Documents: a row for each old level, a column for each new one")
    changes: list[JudgmentChange] = Field(description="The first 100, by topic and document")
    topics_added: list[str]
    topics_removed: list[str]
    topics_changed: list[str]


class RunImpact(Model):
    """What becomes of one run under one metric; runs with equal means share a rank."""

    name: str
    team: str
    mean_before: float | None
    mean_after: float | None
    change: float | None
    rank_before: int
    rank_after: int


class ShownFlip(Model):
    """A pair of runs of which something else is said than before; null: no significant difference."""

    runs: tuple[str, str]
    asl_before: float
    asl_after: float
    better_before: str | None
    better_after: str | None


class SignificanceImpact(Model):
    """What a test says of all pairs of runs under both versions, over the topics that have a score under both."""

    test: str
    alpha: float
    topics: int
    counts: dict[Kind, int] = Field(description="Pairs by what is said of them before and after")
    flips: list[ShownFlip] = Field(description="The pairs that appear, disappear or reverse")


class ShownMetricImpact(Model):
    """What becomes of all runs under one metric."""

    metric: str
    runs: list[RunImpact]
    tau_b: float | None = Field(description="Kendall's, between the rankings; null where either ties all runs")
    largest_rank_change: int
    topics_become_defined: list[str]
    topics_become_undefined: list[str]
    significance: SignificanceImpact | None = Field(
        description="Null for fewer than two runs or topics, and for geometric means"
    )


class ImpactAnswer(Model):
    """One qrels version held against another: judgments, scores, rankings, significant differences."""

    collection: str
    qrels_version: int
    against: int
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="The label that each expression became")
    judgments: JudgmentsImpact
    impact: list[ShownMetricImpact] = Field(description="In the order of `metrics`")
