"""Two runs compared topic by topic: tests, effect size, interval, and the topics that decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.principals import Sender
from gainboard.evaluation.scoring import Question, ScoreTable, score
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric
from gainboard.statistics.classical import DECIMALS, deciding_topics
from gainboard.statistics.significance import SignificanceSettings, find_test

Floats = NDArray[np.float64]
ALPHA: Final = 0.05
"""The significance level under which a difference is significant."""
TESTS: Final = ("t-test", "randomisation", "wilcoxon", "sign")
"""The first test is the one that says which topics decide."""
SEED: Final = 0
"""The seed of tests that draw: equal requests have equal answers."""
MOST_SCORES: Final = 100_000
"""The most metrics x runs x topics in one request: about a second for the tests."""


class PairTest(NamedTuple):
    """The level of one test. `resamples` is None for tests that draw nothing, `seed` also for exact levels."""

    name: str
    title: str
    asl: float
    resamples: int | None
    seed: int | None


class TopicDifference(NamedTuple):
    """The scores of the first and the second run on one topic."""

    topic: str
    first: float
    second: float
    difference: float


@dataclass(frozen=True)
class PairStatistics:
    """The statistics of the differences, the first run's score minus the second's.

    `low` and `high` are the ends of the 95 % interval of the mean `difference`, Student's t. `effect_size` is the mean
    in standard deviations of the differences; NaN if there is no spread. `deciding` are topics: see `deciding_topics`.
    """

    difference: float
    low: float
    high: float
    effect_size: float
    tests: Sequence[PairTest]
    deciding: Sequence[str]


@dataclass(frozen=True)
class MetricComparison:
    """The comparison under one metric.

    `topics` are those with a score, the largest difference first. `undefined` are the others, which are left out.
    `statistics` is None for fewer than two topics, and for a geometric mean, about which they say nothing.
    """

    label: str
    means: tuple[float, float]
    topics: Sequence[TopicDifference]
    undefined: Sequence[str]
    statistics: PairStatistics | None

    @property
    def won(self) -> int:
        """The number of topics on which the first run is better."""
        return sum(_rounded(each) > 0 for each in self.topics)

    @property
    def lost(self) -> int:
        """The number of topics on which the second run is better."""
        return sum(_rounded(each) < 0 for each in self.topics)

    @property
    def tied(self) -> int:
        """The number of topics on which the runs are equal."""
        return len(self.topics) - self.won - self.lost


@dataclass(frozen=True)
class Comparison:
    """Two runs compared under each metric. `scores` has the two runs, in the order of the request."""

    scores: ScoreTable
    metrics: Sequence[MetricComparison]


def compare(workspace: Workspace, sender: Sender, name: str, question: Question) -> Comparison:
    """Compare the two runs of the question.

    Tests and intervals reveal scores of single topics, so the sender must see scores under any parameters. Raise
    JudgmentsHidden otherwise, InvalidRequest unless two runs are named, and the errors of `score`.
    """
    scores = score(workspace, sender, name, replace(question, of_pair=True, per_topic=True, most=MOST_SCORES))
    return Comparison(scores, list(_under_each_metric(scores)))


def _under_each_metric(scores: ScoreTable) -> Iterator[MetricComparison]:
    columns = (scores.metrics, scores.by_topic(), scores.means(), scores.undefined)
    for metric, table, means, undefined in zip(*columns, strict=True):
        defined = np.flatnonzero(~undefined)
        pair, topics = np.ascontiguousarray(table[:, defined]), [scores.topics[topic] for topic in defined.tolist()]
        yield MetricComparison(
            metric.label,
            (float(means[0]), float(means[1])),
            _by_difference(pair, topics),
            [scores.topics[topic] for topic in np.flatnonzero(undefined).tolist()],
            _statistics(metric, pair, topics),
        )


def _by_difference(pair: Floats, topics: Sequence[str]) -> list[TopicDifference]:
    differences = pair[0] - pair[1]
    order = np.argsort(-np.round(differences, DECIMALS), kind="stable")
    columns = (pair[0, order].tolist(), pair[1, order].tolist(), differences[order].tolist())
    return list(map(TopicDifference, [topics[place] for place in order.tolist()], *columns))


def _statistics(metric: BoundMetric, pair: Floats, topics: Sequence[str]) -> PairStatistics | None:
    if len(topics) < 2 or metric.is_geometric:
        return None
    effects = find_test(TESTS[0]).effects(pair)
    return PairStatistics(
        float(effects.difference[0]),
        float(effects.low[0]),
        float(effects.high[0]),
        float(effects.size[0]),
        [_tested(test, pair) for test in TESTS],
        [topics[place] for place in deciding_topics(pair[0] - pair[1], ALPHA).tolist()],
    )


def _tested(name: str, pair: Floats) -> PairTest:
    test = find_test(name)
    outcome = test.decide(pair, SignificanceSettings(seed=SEED))
    draws = outcome.resamples is not None and not test.is_exact(pair.shape[1])
    return PairTest(name, test.title, float(outcome.asl[0]), outcome.resamples, SEED if draws else None)


def _rounded(topic: TopicDifference) -> float:
    return round(topic.difference, DECIMALS)
