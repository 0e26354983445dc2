"""Two runs compared topic by topic."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model

COMPARE_COLUMNS = ("topic", "metric", "a", "b", "difference")
"""The columns of a comparison as CSV."""


class ComparedRun(Model):
    """One of the two runs."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    topics_missing: int = Field(description="Topics of the qrels that the run lacks, each of which scores 0")


class ShownPairTest(Model):
    """The level of one two-sided test of the hypothesis that the runs are equally good."""

    name: str = Field(examples=["t-test"])
    title: str
    asl: float = Field(description="Achieved significance level, the p-value")
    resamples: int | None = Field(description="Number of resamples, or of all combinations if they were enumerated")
    seed: int | None = Field(description="Null if the level depends on no seed")


class ShownTopicDifference(Model):
    """The scores of the two runs on one topic; the difference is `a` minus `b`."""

    topic: str
    a: float
    b: float
    difference: float


class ShownComparison(Model):
    """The comparison under one metric. Differences are the first run's score minus the second's.

    `difference`, `interval`, `effect_size` and `tests` are about arithmetic means over at least two topics; otherwise
    they are null or empty.
    """

    metric: str
    mean: tuple[float | None, float | None]
    difference: float | None = Field(description="The mean difference")
    interval: tuple[float, float] | None = Field(
        description="95 % confidence interval of the mean difference, Student's t over topics"
    )
    effect_size: float | None = Field(
        description="The mean difference in standard deviations of the differences; null if there is no spread"
    )
    tests: list[ShownPairTest]
    alpha: float = Field(description="The level under which a difference is significant, for `deciding_topics`")
    won: int = Field(description="Number of topics on which the first run is better")
    lost: int = Field(description="Number of topics on which the second run is better")
    tied: int = Field(description="Number of topics with equal scores, to 12 decimals")
    topics: list[ShownTopicDifference] = Field(description="The topics that count, the largest difference first")
    topics_scored: int = Field(description="Number of topics that count")
    topics_undefined: list[str] = Field(description="Topics left out because they have no relevant document")
    deciding_topics: list[str] = Field(
        description="The topics that contribute most to the mean difference, as many as must be left out before the "
        "paired t-test over the others is not significant; empty if the difference is not significant"
    )


class CompareAnswer(Model):
    """Two runs compared under each metric."""

    collection: str
    qrels_version: int
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    runs: tuple[ComparedRun, ComparedRun] = Field(description="In the order of the request: `a` and `b`")
    comparisons: list[ShownComparison] = Field(description="In the order of `metrics`")
