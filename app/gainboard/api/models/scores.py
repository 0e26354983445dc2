"""Scores, means over grids of parameters, boards, comparisons and rankings of topics."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from pydantic import Field

from gainboard.api.models.collections import ChosenGroup
from gainboard.api.models.common import Model
from gainboard.vocabulary import Resample


class TiedScoresAnswer(Model):
    """Scores under another order of tied documents, by label."""

    mean: dict[str, float | None]
    topics: dict[str, dict[str, float | None]] | None = None


class TiesAnswer(Model):
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
    worst: TiedScoresAnswer | None = None
    best: TiedScoresAnswer | None = None
    expected: TiedScoresAnswer | None = None
    standard_error: TiedScoresAnswer | None = None


NUMBERS: Any = Field(
    {},
    description="By label, with `bounds=`: the means if every unjudged document retrieved were nonrelevant, and if it "
    "were of the highest level, in the ideal ranking, too. With `cwl=`: the numbers of users, `EU` to `EI`. Uploaded "
    "scores and means of replicates have none",
)


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
    ties: TiesAnswer | None = Field(None, description="Only with `ties=`")
    numbers: dict[str, dict[str, float]] = NUMBERS


class ScoresAnswer(Model):
    """Scores, and what was left out of them and why."""

    collection: str
    qrels_version: int | None = Field(description="Null while the judgments are hidden, and in collections of scores")
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic_group: ChosenGroup | None = Field(None, description="Only with `topics=` and the name of a group")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    notes: list[str] = Field(
        [], description="What a name means here that other tools have for something else, and how to ask for theirs"
    )
    runs: list[ScoredRun]
    decimals: int | None = Field(None, description="The decimal places that the policy shows; null for all")
    topics_scored: dict[str, int] | None = Field(
        description="Number of topics in the mean, by label; null while the judgments are hidden"
    )
    topics_undefined: dict[str, list[str]] | None = Field(
        description="Topics left out: no relevant document or, for graded metrics, no gain. Null while the judgments "
        "are hidden"
    )
    withheld: dict[str, str] = Field(description="Runs without a score while the judgments are hidden, and why")


class JudgedLevel(Model):
    """The number of documents judged at one relevance level."""

    level: int
    name: str
    documents: int


class TopicRankingAnswer(Model):
    """One run's ranking of the topic. Documents at ranks that are not listed are not judged."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    retrieved: int = Field(description="Number of documents in the whole ranking; 0 if the run lacks the topic")
    ranks: list[int] = Field(description="The ranks of the judged documents, up to `depth`")
    levels: list[int] = Field(description="Their relevance levels")


class TopicRankingsAnswer(Model):
    """The rankings of one topic by all runs, and its ideal ranking."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic: str
    depth: int
    judged: list[JudgedLevel] = Field(description="The highest level first")
    judged_below_0: int = Field(description="Number of documents judged below level 0")
    ideal: list[int] = Field(
        description="The levels of the ideal ranking by rank, up to `depth`: all relevant documents, the highest level "
        "first"
    )
    runs: list[TopicRankingAnswer]


BOARD_COLUMNS = ("rank", "run", "team", "metric", "mean", "low", "high", "groups", "late", "best_rank", "worst_rank")
"""The columns of a leaderboard as CSV."""


class GroupColumn(ChosenGroup):
    """A group whose means are beside those of the board."""

    topics_scored: dict[str, int] = Field(description="Number of topics in the mean, by label")


class ReplicateOfRow(Model):
    """A replicate of a system: a run, or a row of a score matrix."""

    name: str
    replicate: str | None = Field(description="What tells it from the others, such as a seed")
    mean: dict[str, float | None]
    topics_missing: int | None = Field(description="Topics that others of the system have; null if scores are rationed")


class LeaderboardRow(Model):
    """One run. Runs with equal means share a rank; runs without a mean come last."""

    rank: int
    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    topics_missing: int | None = Field(
        None, description="Topics that the run lacks: they score 0, or are left out in a collection of scores"
    )
    mean: dict[str, float | None]
    interval: dict[str, tuple[float, float] | None] = Field(
        description="95 % confidence interval, Student's t over topics; it may exceed the metric's range"
    )
    groups: list[str] | None = Field(
        description="Letters: runs that share a letter are not told apart by `groups_test`, which does not show that "
        "they are equal. Null without `groups_test`"
    )
    by_group: dict[str, dict[str, float | None]] = Field(
        {}, description="The means over the topics of each group of `by_group=`: by group, then label"
    )
    rank_set: tuple[int, int] | None = Field(
        None,
        description="The best and the worst rank that the run may have, by the same test: 1 plus the number of runs "
        "that are significantly better, to the number of runs less those that are significantly worse. Null without "
        "`groups_test`",
    )
    uncorrected: dict[str, float | None] = Field(
        {}, description="With `corrected_by=`: the means under the judgments of the board alone, over the same topics"
    )
    replicates: list[ReplicateOfRow] | None = Field(
        None, description="The replicates of a system: on each topic, its score is the mean of theirs"
    )
    numbers: dict[str, dict[str, float]] = NUMBERS


class GroupsTest(Model):
    """The test of all pairs of runs under the metric `by`, on the topics on which all runs with a mean have scores.

    Where scores are missing, it is on all topics, and the mean of a run is over the scores that it has.
    """

    name: str = Field(examples=["bootstrap-range"])
    alpha: float
    draws: int = Field(description="Number of bootstrap samples of the topics")
    seed: int
    topics: int = Field(description="Number of topics that the test compares")
    missing: int = Field(0, description="Number of scores that are missing")
    pairs: int = Field(description="Number of pairs of runs")
    different_pairs: int = Field(description="Number of pairs that the test tells apart")
    detectable_difference: float | None = Field(
        None,
        description="The smallest true difference of means that these topics show with a probability of 80 % (paired "
        "t-test of the average pair, `alpha` divided by `pairs`); null if scores are missing or corrected",
    )


class StandardOfBoard(Model):
    """The standard of the scores. Its list of runs is part of the request, so new runs do not change the scores."""

    form: str = Field(description="`normal`, `linear` or `empirical`")
    reference: list[str] = Field(description="The reference runs")
    topics_left_out: dict[str, list[str]] = Field(
        description="Topics on which the reference runs score alike, by label: they have no standardised scores"
    )


class CorrectionOfMetric(Model):
    """The correction of the means under one metric."""

    weight: float = Field(description="How much the cheap scores count, from 0 to 1: lambda of PPI++")
    trusted_topics: int = Field(description="Number of topics with trusted judgments that count")
    topics: int = Field(description="Number of all topics that count")
    correlation: float | None = Field(
        description="Correlation of the scores under both sets on the trusted topics, within runs; null if one never "
        "varies"
    )
    topics_left_out: list[str] = Field(
        description="Topics for which the metric is undefined under a set, or that only the trusted set judges"
    )


class CorrectionOfBoard(Model):
    """The trusted judgments that correct the means of a board, by prediction-powered inference."""

    by: str = Field(description="The trusted judgment set")
    judges: dict[str, float] = Field(
        description="The share of the topics that each judge has judged, under the metric that ranks"
    )
    qrels_version: int = Field(description="Its version")
    assumes: str = Field(description="The condition without which the correction says nothing")
    metrics: dict[str, CorrectionOfMetric] = Field(description="By label")


class LeaderboardAnswer(Model):
    """Runs ranked by their mean score under one metric."""

    collection: str
    sample_of: str | None = Field(None, description="What the topics are a sample of; null if nothing is said")
    qrels_version: int | None = Field(description="Null while the judgments are hidden, and in collections of scores")
    judgment_set: str = Field("official", description="The judgment set of the version")
    repeats: dict[str, int] = Field({}, description="With `repeats=`: the version of each of these judgment sets")
    resample: Resample | None = Field(None, description="What is drawn anew of systems; null if none has replicates")
    by: str
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    by_group: list[GroupColumn] = Field([], description="The groups of `by_group=`, in their order")
    metrics: list[str]
    asked: dict[str, str]
    notes: list[str] = Field([], description="What a name means here that other tools have for something else")
    rows: list[LeaderboardRow]
    decimals: int | None = Field(None, description="The decimal places that the policy shows; null for all")
    rows_total: int = Field(0, description="The number of ranked runs; `rows` has fewer with `top=`")
    changed_at: datetime | None = Field(
        None,
        description="When the judgments, the runs or the settings behind this board last changed; null while the "
        "judgments are hidden",
    )
    topics_scored: dict[str, int] | None = Field(description="Null while the judgments are hidden")
    standardised: StandardOfBoard | None = Field(
        None, description="With `standardise=`: means and intervals are of standardised scores. Else null"
    )
    corrected: CorrectionOfBoard | None = Field(
        None, description="With `corrected_by=`: means and intervals are corrected by trusted judgments. Else null"
    )
    best_per_team: bool = Field(False, description="Whether each team has the best of its runs alone")
    withheld: dict[str, str] = Field(description="Runs without a score while the judgments are hidden, and why")
    groups_test: GroupsTest | None = Field(description="The test behind `groups` and `rank_set`; null if there is none")
    no_groups_because: str | None = Field(description="Why there is no `groups_test`; null if there is one")


COMPARE_COLUMNS = ("topic", "metric", "a", "b", "difference", "run", "baseline")
"""The columns of a comparison as CSV."""


class ComparedRun(Model):
    """One of the runs."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    topics_missing: int = Field(description="Topics of the qrels that the run lacks, each of which scores 0")


class PairTestAnswer(Model):
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
    asl_benjamini_hochberg: float | None = Field(
        description="The same, corrected by Benjamini and Hochberg's method, which controls the false discovery rate: "
        "of the pairs below alpha, at most a share of alpha is expected to be false. Null for `bootstrap-range`"
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
    note: str | None = Field(
        description="Why no pair can be significant, why there is no level, or why the level may not be believed: it "
        "is below all levels of the exact randomisation test, because few topics differ or all differences are equal"
    )


class EquivalenceAnswer(Model):
    """The paired TOST: two one-sided t-tests of the hypothesis that the mean difference is at least the margin."""

    margin: float
    asl: float | None = Field(description="The larger level of the two tests; null if no topic differs")
    asl_holm: float | None = Field(description="The same, corrected by Holm's method for all pairs of the request")
    interval: tuple[float, float] = Field(
        description="90 % confidence interval of the mean difference, which is within the margin if `asl` is below 0.05"
    )
    is_equivalent: bool = Field(description="Whether `asl_holm` is below `alpha`")
    no_level_because: str | None = Field(description="Why there is no level: no topic differs; else null")


class TopicDifferenceAnswer(Model):
    """The scores of the two runs on one topic; the difference is `a` minus `b`."""

    topic: str
    a: float
    b: float
    difference: float


class ComparisonAnswer(Model):
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
    noise: float | None = Field(None, description="What replicates, drawn anew, add to the variance of the difference")
    effect_size: float | None = Field(
        description="The mean difference in standard deviations of the differences; null if there is no spread"
    )
    detectable_difference: float | None = Field(
        None,
        description="The smallest true difference of these runs that so many topics show with a probability of 80 % "
        "(paired t-test, `alpha` divided by the number of pairs of the request); null if nothing varies",
    )
    tests: list[PairTestAnswer]
    equivalence: EquivalenceAnswer | None = Field(description="Null unless `margin` is given")
    alpha: float = Field(description="The level under which a difference is significant, for `deciding_topics`")
    won: int = Field(description="Number of topics on which the first run is better")
    lost: int = Field(description="Number of topics on which the second run is better")
    tied: int = Field(description="Number of topics with equal scores, to 12 decimals")
    topics: list[TopicDifferenceAnswer] = Field(description="The topics that count, the largest difference first")
    topics_scored: int = Field(description="Number of topics that count")
    topics_undefined: list[str] = Field(
        description="Topics left out: no relevant document or, for graded metrics, no gain"
    )
    deciding_topics: list[str] = Field(
        description="The topics that contribute most to the mean difference, as many as must be left out before the "
        "paired t-test over the others, corrected by Holm's method, is not significant; empty if the difference is not "
        "significant"
    )
    turning_topics: list[str] = Field(
        description="Topics that decide the sign: without any one of them, the mean difference changes its sign or is 0"
    )
    tipping_topics: list[str] = Field(
        description="Topics that decide the significance: without any one of them, the paired t-test, corrected by "
        "Holm's method, is on the other side of `alpha`"
    )


class CompareAnswer(Model):
    """Pairs of runs compared under each metric."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    repeats: dict[str, int] = Field({}, description="With `repeats=`: the version of each of these judgment sets")
    resample: Resample | None = Field(None, description="What is drawn anew of systems; null if none has replicates")
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    runs: list[ComparedRun] = Field(description="In the order of the request: `a` and `b`, or runs and baselines")
    comparisons: list[ComparisonAnswer] = Field(description="Each pair under each metric, in the order of `metrics`")


class PointAnswer(Model):
    """A metric of the grid."""

    label: str
    asked: str = Field(
        description="The expression that gave this metric; the first one, if several give the same metric"
    )
    parameters: dict[str, str] = Field(description="Its values of the varied parameters")
    topics_scored: int = Field(description="Number of topics in its means")


class SweptRun(Model):
    """A run's means, in the order of the points; null if a mean is undefined."""

    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    means: list[float | None]


class SweepAnswer(Model):
    """Mean scores of runs at every point of a grid."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    topic_group: ChosenGroup | None = Field(None, description="The group of `topics=`; null for all topics")
    grid: dict[str, list[str]]
    points: list[PointAnswer] = Field(description="Each metric once, even if several combinations give it")
    runs: list[SweptRun]
