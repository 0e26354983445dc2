"""Runs compared topic by topic."""

from __future__ import annotations

from pydantic import Field

from gainboard.api.models.answers import Model
from gainboard.api.models.topic_groups import ChosenGroup

COMPARE_COLUMNS = ("topic", "metric", "a", "b", "difference", "run", "baseline")
"""The columns of a comparison as CSV."""


class ComparedRun(Model):
    """One of the runs."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    topics_missing: int = Field(description="Topics of the qrels that the run lacks, each of which scores 0")


class ShownPairTest(Model):
    """The level of one two-sided test of the hypothesis that the runs are equally good."""

    name: str = Field(examples=["t-test"])
    title: str
    asl: float | None = Field(
        description="Achieved significance level, the p-value; null if there are too few topics for the test"
    )
    asl_holm: float | None = Field(
        description="The same, corrected by Holm's method for all pairs of the request; null for `bootstrap-range`, "
        "whose `asl` is about all runs of the request together"
    )
    asl_max_t: float | None = Field(
        description="The same, corrected by the single-step max-T of the bootstrap for all pairs of the request; null "
        "for other tests"
    )
    resamples: int | None = Field(description="Number of resamples, or of all combinations if they were enumerated")
    resamples_needed: int | None = Field(
        description="The smallest number of resamples with which one of the pairs can be significant after Holm's "
        "correction; null if nothing is drawn"
    )
    seed: int | None = Field(description="Null if the level depends on no seed")
    note: str | None = Field(description="Why no pair can be significant, or why there is no level; else null")


class ShownEquivalence(Model):
    """The paired TOST: two one-sided t-tests of the hypothesis that the mean difference is at least the margin."""

    margin: float
    asl: float | None = Field(description="The larger level of the two tests; null if no topic differs")
    asl_holm: float | None = Field(description="The same, corrected by Holm's method for all pairs of the request")
    interval: tuple[float, float] = Field(
        description="90 % confidence interval of the mean difference, which is within the margin if `asl` is below 0.05"
    )
    is_equivalent: bool = Field(description="Whether `asl_holm` is below `alpha`")
    no_level_because: str | None = Field(description="Why there is no level: no topic differs; else null")


class ShownTopicDifference(Model):
    """The scores of the two runs on one topic; the difference is `a` minus `b`."""

    topic: str
    a: float
    b: float
    difference: float


class ShownComparison(Model):
    """Two runs under one metric. `a` is the run, `b` the baseline, and differences are `a` minus `b`.

    Levels are corrected for all pairs of the request under the same metric. `difference`, `interval`, `effect_size`
    and `tests` are about arithmetic means over at least two topics; otherwise they are null or empty.
    """

    metric: str
    run: str = Field(description="The first run, `a`")
    baseline: str = Field(description="The second run, `b`")
    mean: tuple[float | None, float | None]
    difference: float | None = Field(description="The mean difference")
    interval: tuple[float, float] | None = Field(
        description="95 % confidence interval of the mean difference, Student's t over topics"
    )
    effect_size: float | None = Field(
        description="The mean difference in standard deviations of the differences; null if there is no spread"
    )
    tests: list[ShownPairTest]
    equivalence: ShownEquivalence | None = Field(description="Null unless `margin` is given")
    alpha: float = Field(description="The level under which a difference is significant, for `deciding_topics`")
    won: int = Field(description="Number of topics on which the first run is better")
    lost: int = Field(description="Number of topics on which the second run is better")
    tied: int = Field(description="Number of topics with equal scores, to 12 decimals")
    topics: list[ShownTopicDifference] = Field(description="The topics that count, the largest difference first")
    topics_scored: int = Field(description="Number of topics that count")
    topics_undefined: list[str] = Field(
        description="Topics left out: no relevant document or, for graded metrics, no gain"
    )
    deciding_topics: list[str] = Field(
        description="The topics that contribute most to the mean difference, as many as must be left out before the "
        "paired t-test over the others is not significant; empty if the difference is not significant"
    )
    turning_topics: list[str] = Field(
        description="Topics that decide the sign: without any one of them, the mean difference changes its sign or is 0"
    )
    tipping_topics: list[str] = Field(
        description="Topics that decide the significance: without any one of them, the paired t-test is on the other "
        "side of `alpha`"
    )


class CompareAnswer(Model):
    """Pairs of runs compared under each metric."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    runs: list[ComparedRun] = Field(description="In the order of the request: `a` and `b`, or runs and baselines")
    comparisons: list[ShownComparison] = Field(description="Each pair under each metric, in the order of `metrics`")
