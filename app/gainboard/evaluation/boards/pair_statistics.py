"""Runs compared topic by topic, from their scores: tests, corrections, intervals, and topics that decide.

Two runs are compared, all pairs of some runs, or some runs with baselines.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, NotFound
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.access.visibility import View
from gainboard.evaluation.scoring.binding import customs_of, require_rankings, require_scores_of
from gainboard.evaluation.scoring.requests import Question, StoredScores, score
from gainboard.evaluation.scoring.scores import ScoreTable
from gainboard.evaluation.workspace import Workspace, spend
from gainboard.metrics import BoundMetric
from gainboard.statistics.bootstrap_range import BootstrapRange, affordable_resamples, bootstrap_ranges, range_levels
from gainboard.statistics.classical import deciding_topics, pivotal_topics, t_levels
from gainboard.statistics.draws import Indices
from gainboard.statistics.means import TINY, effects_of, mean_intervals, round_scores, tost_levels, unit_of, widen
from gainboard.statistics.multiple_comparisons import benjamini_hochberg, holm, holm_thresholds, needed_resamples
from gainboard.statistics.significance import (
    Correction,
    Outcome,
    SignificanceSettings,
    SignificanceTest,
    doubtful_levels,
    find_paired_test,
    find_test,
    least_levels,
)
from gainboard.statistics.topic_sets import detectable_difference
from gainboard.vocabulary import round_score

Floats = NDArray[np.float64]
Pairs = Sequence[tuple[int, int]]
ALPHA: Final = 0.05
"""The significance level under which a difference is significant."""
TESTS: Final = ("t-test", "randomisation", "paired-bootstrap", "wilcoxon", "sign")
"""The tests of single pairs. The first one says which topics decide. The bootstrap range, of all runs, is the last."""
CORRECTIONS: Final[Sequence[Correction]] = ("holm", "benjamini-hochberg", "max-t")
"""The corrections that a comparison shows beside each other."""
SEED: Final = 0
"""The seed of tests that draw: equal requests have equal answers."""


class PairTest(NamedTuple):
    """The level of one test.

    `asl` is None if there are too few topics for the test. `asl_holm` is corrected by Holm's method for all pairs that
    are compared, None if the test itself is about all of them; `asl_benjamini_hochberg`, by that of Benjamini and
    Hochberg, controls the false discovery rate. `asl_max_t` is corrected by the single-step max-T of the bootstrap,
    None for other tests. `resamples` is None for tests that draw nothing, `seed` also for exact levels.
    `resamples_needed` is the smallest number with which one of the pairs can be significant after Holm's correction.
    `note` says what follows if there are fewer, why there is no level, and why the level may not be believed.
    """

    name: str
    title: str
    asl: float | None
    asl_holm: float | None
    asl_benjamini_hochberg: float | None
    asl_max_t: float | None
    resamples: int | None
    resamples_needed: int | None
    seed: int | None
    note: str | None


class Equivalence(NamedTuple):
    """The level of TOST for a margin, corrected by Holm's method beside it, and the ends of the 90 % interval.

    Both levels are None if no topic differs.
    """

    margin: float
    asl: float | None
    asl_holm: float | None
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """True if the runs are equivalent: the corrected level is below `ALPHA`."""
        return self.asl_holm is not None and self.asl_holm < ALPHA


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
    in standard deviations of the differences; NaN if there is no spread. `detectable` is the smallest true difference
    that the topics show, for all pairs together; None if nothing varies. `deciding` are topics: see `deciding_topics`.
    `turning` and `tipping` are the topics of `pivotal_topics`: without one, the sign or the significance is another.
    Significance is that of the t-test, corrected by Holm's method.
    """

    difference: float
    low: float
    high: float
    effect_size: float
    detectable: float | None
    tests: Sequence[PairTest]
    deciding: Sequence[str]
    turning: Sequence[str]
    tipping: Sequence[str]
    equivalence: Equivalence | None

    def corrected(self, correction: Correction) -> float | None:
        """Return the level of the t-test after a correction, or that of the paired bootstrap after `max-t`.

        With `max-t` it is None for pairs that have scores on different topics.
        """
        if correction == "max-t":
            return next((test.asl_max_t for test in self.tests if test.asl_max_t is not None), None)
        of_t = self.tests[0]
        return {"none": of_t.asl, "holm": of_t.asl_holm, "benjamini-hochberg": of_t.asl_benjamini_hochberg}[correction]


@dataclass(frozen=True)
class PairComparison:
    """Two runs under one metric.

    `names` are the first run and the second, the baseline. `topics` are those with a score, the largest difference
    first. `undefined` are the others, which are left out. `statistics` is None for fewer than two topics, and for a
    geometric mean, about which they say nothing. `unit` is the `unit_of` the scores. `noise` is what
    replicates that are drawn anew add to the variance of the mean difference; None if they are not.
    """

    label: str
    names: tuple[str, str]
    means: tuple[float, float]
    topics: Sequence[TopicDifference]
    undefined: Sequence[str]
    statistics: PairStatistics | None
    unit: float = 1.0
    noise: float | None = None

    @property
    def won(self) -> int:
        """The number of topics on which the first run is better."""
        return sum(sign > 0 for sign in self._signs)

    @property
    def lost(self) -> int:
        """The number of topics on which the second run is better."""
        return sum(sign < 0 for sign in self._signs)

    @property
    def tied(self) -> int:
        """The number of topics on which the runs are equal."""
        return len(self.topics) - self.won - self.lost

    @property
    def _signs(self) -> list[float]:
        return [round_score(topic.difference / self.unit) for topic in self.topics]

    @property
    def is_significant(self) -> bool:
        """True if the difference is significant by the paired t-test, corrected by Holm's method."""
        corrected = self.statistics.tests[0].asl_holm if self.statistics else None
        return corrected is not None and corrected < ALPHA

    def as_json(self) -> dict[str, Any]:
        """Return the comparison as JSON has it, over HTTP and offline."""
        statistics, equivalence = self.statistics, None
        if statistics and (margin := statistics.equivalence):
            why = "no topic differs" if margin.asl is None else None
            levels = {"margin": margin.margin, "asl": margin.asl, "asl_holm": margin.asl_holm}
            ends = {"interval": (margin.low, margin.high)}
            equivalence = levels | ends | {"is_equivalent": margin.holds, "no_level_because": why}
        return {
            "metric": self.label,
            "run": self.names[0],
            "baseline": self.names[1],
            "mean": tuple(map(_or_none, self.means)),
            "difference": statistics and statistics.difference,
            "interval": statistics and (statistics.low, statistics.high),
            **({} if self.noise is None else {"noise": self.noise}),
            "effect_size": statistics and _or_none(statistics.effect_size),
            "detectable_difference": statistics and statistics.detectable,
            "tests": [test._asdict() for test in statistics.tests] if statistics else [],
            "equivalence": equivalence,
            "alpha": ALPHA,
            "won": self.won,
            "lost": self.lost,
            "tied": self.tied,
            "topics": [dict(zip(("topic", "a", "b", "difference"), topic, strict=True)) for topic in self.topics],
            "topics_scored": len(self.topics),
            "topics_undefined": self.undefined,
            "deciding_topics": statistics.deciding if statistics else [],
            "turning_topics": statistics.turning if statistics else [],
            "tipping_topics": statistics.tipping if statistics else [],
        }


def compare_pairs(scores: ScoreTable, pairs: Pairs, margin: float | None = None) -> Iterator[PairComparison]:
    """Yield the comparison of each pair under each metric, metric by metric. `margin` asks for TOST.

    Pairs are places of runs: the first run and the second. Levels are corrected for exactly these pairs, under each
    metric. Scores of metrics that are better if lower are negated, so that a positive difference is always better.
    """
    noise = [None] * len(scores.metrics) if scores.arrays.noise is None else scores.arrays.noise
    for metric, table, means, nowhere, varying in zip(
        scores.metrics, scores.by_topic, scores.means, scores.arrays.undefined, noise, strict=True
    ):
        defined = np.flatnonzero(~nowhere)
        by_run, topics = table[:, defined], [scores.topics[topic] for topic in defined.tolist()]
        mean_of_run = means.tolist()
        if metric.is_reversed:
            by_run, mean_of_run = -by_run, (-means).tolist()
        first, second = np.array(pairs, np.intp).T
        # Chosen columns may lie apart in memory, and NumPy adds in the order of memory: the last bits would differ.
        differences = np.ascontiguousarray(by_run[first] - by_run[second])
        unit = unit_of(by_run)
        lacking = np.isnan(differences)
        groups = _AlikePairs.of(differences / unit, lacking, topics)
        if varying is not None:
            varying = varying / unit**2
            added = varying[first] + varying[second]
            groups = [group._replace(differences=widen(group.differences, added[group.places])) for group in groups]
        statistics = _statistics(metric, by_run, pairs, groups, margin, unit, varying)
        left_out = [scores.topics[topic] for topic in np.flatnonzero(nowhere).tolist()]
        for (one, other), gaps, lacks, of_pair in zip(pairs, differences, lacking, statistics, strict=True):
            # Rounded, so that differences that are equal except for rounding keep the order of topics. NaN is last.
            order = np.argsort(-round_scores(gaps / unit), kind="stable")
            means, undefined = (mean_of_run[one], mean_of_run[other]), left_out
            if lacks.any():
                order = order[: len(order) - np.count_nonzero(lacks)]
                means = (_mean(by_run[one, ~lacks]), _mean(by_run[other, ~lacks]))
                lost = {topics[topic] for topic in np.flatnonzero(lacks).tolist()} | set(left_out)
                undefined = [topic for topic in scores.topics if topic in lost]
            columns = (by_run[one, order].tolist(), by_run[other, order].tolist(), gaps[order].tolist())
            yield PairComparison(
                metric.label,
                (scores.names[one], scores.names[other]),
                means,
                list(map(TopicDifference, [topics[topic] for topic in order.tolist()], *columns)),
                undefined,
                of_pair,
                unit,
                None if varying is None else float(varying[one] + varying[other]) * unit**2,
            )


class _AlikePairs(NamedTuple):
    """Pairs of which both runs have scores on the same `topics`, at least two. Without missing scores, these are all.

    They are in `places` among all pairs, and a `part` of the pairs of all groups, group by group.
    """

    places: Indices
    part: slice
    differences: Floats
    topics: Sequence[str]

    @classmethod
    def of(cls, differences: Floats, lacking: NDArray[np.bool_], topics: Sequence[str]) -> list[_AlikePairs]:
        """Return the groups of pairs that lack the same topics. `differences` is [pairs, topics], NaN if lacking."""
        by_lack: dict[bytes, list[int]] = {}
        for place, lacks in enumerate(lacking):
            by_lack.setdefault(lacks.tobytes(), []).append(place)
        groups, start = [], 0
        for of_group in by_lack.values():
            places, kept = np.array(of_group, np.intp), np.flatnonzero(~lacking[of_group[0]])
            if len(kept) >= 2:
                part, of_topics = slice(start, start + len(places)), [topics[topic] for topic in kept.tolist()]
                groups.append(cls(places, part, np.ascontiguousarray(differences[np.ix_(places, kept)]), of_topics))
                start = part.stop
        return groups


def _mean(scores: Floats) -> float:
    return float(scores.mean()) if len(scores) else math.nan


def pair_up(names: Sequence[str], baselines: Sequence[str]) -> list[tuple[int, int]]:
    """Return the pairs of indexes of `names`: every other run with each baseline, or the first two runs."""
    if not baselines:
        return [(0, 1)]
    others = [place for place, name in enumerate(names) if name not in baselines]
    return [(other, names.index(baseline)) for baseline, other in product(dict.fromkeys(baselines), others)]


def _statistics(
    metric: BoundMetric,
    scores: Floats,
    pairs: Pairs,
    groups: Sequence[_AlikePairs],
    margin: float | None,
    unit: float,
    noise: Floats | None,
) -> Sequence[PairStatistics | None]:
    statistics: list[PairStatistics | None] = [None] * len(pairs)
    if not groups or metric.is_geometric:
        return statistics
    # The corrections are for all pairs together, whichever topics each of them has.
    places = np.concatenate([group.places for group in groups])
    by_range = _by_range(scores / unit, pairs, groups, noise)
    tests = list(
        zip(*(_tested(name, groups) for name in TESTS[: len(TESTS) if noise is None else 3]), by_range, strict=True)
    )
    alphas = holm_thresholds(np.concatenate([t_levels(group.differences) for group in groups]), ALPHA)
    asls = np.full(len(places), np.nan)
    if margin is not None:
        asls = np.concatenate([tost_levels(group.differences, margin / unit) for group in groups])
    holm_of_tost = holm(asls)
    for group in groups:
        scaled, topics, part = group.differences, group.topics, group.part
        effects = effects_of(scaled * unit)
        variances = scaled.var(axis=1, ddof=1).tolist()
        seen = [detectable_difference(len(topics), variance, ALPHA / len(places)) for variance in variances]
        deciding = [_named(topics, deciding_topics(*pair)) for pair in zip(scaled, alphas[part].tolist(), strict=True)]
        turning = tipping = [list[str]()] * len(scaled)
        if len(topics) >= 3:
            turning, tipping = (
                [_named(topics, np.flatnonzero(row)) for row in pivotal]
                for pivotal in pivotal_topics(scaled, alphas[part])
            )
        equivalence: Sequence[Equivalence | None] = [None] * len(scaled)
        if margin is not None:
            low, high = mean_intervals(scaled, 1 - 2 * ALPHA)
            levels = (map(_or_none, of_pairs[part].tolist()) for of_pairs in (asls, holm_of_tost))
            columns = (*levels, (low * unit).tolist(), (high * unit).tolist())
            equivalence = [Equivalence(margin, *pair) for pair in zip(*columns, strict=True)]
        ends = (effects.difference.tolist(), effects.low.tolist(), effects.high.tolist())
        sizes, shown = effects_of(scaled).size.tolist(), [size and size * unit for size in seen]
        of_pairs = map(PairStatistics, *ends, sizes, shown, tests[part], deciding, turning, tipping, equivalence)
        for place, of_pair in zip(group.places.tolist(), of_pairs, strict=True):
            statistics[place] = of_pair
    return statistics


def _tested(name: str, groups: Sequence[_AlikePairs]) -> list[PairTest]:
    """Return the test of each pair, group by group."""
    test, settings = find_paired_test(name), SignificanceSettings(seed=SEED)
    pairs = sum(len(group.places) for group in groups)
    # The largest statistics are those of all pairs in the same resamples of the same topics.
    with_largest = test.gives_largest and len(groups) == 1
    outcomes = [test.decide_differences(group.differences, replace(settings, largest=with_largest)) for group in groups]
    levels = np.concatenate([test.above_zero(outcome) for outcome in outcomes])
    by_holm, by_rate = holm(levels).tolist(), benjamini_hochberg(levels).tolist()
    by_largest = test.corrected(outcomes[0], "max-t").tolist() if with_largest else [None] * pairs
    tests: list[PairTest] = []
    for group, outcome in zip(groups, outcomes, strict=True):
        topics = len(group.topics)
        draws = outcome.resamples is not None and not test.is_exact(topics)
        needed, seed = (needed_resamples(pairs, ALPHA), SEED) if draws else (None, None)
        lost = test.holm_note(outcome.resamples, pairs, topics, [ALPHA])
        for asl, doubt in zip(outcome.asl.tolist(), _doubts(test, group.differences, outcome), strict=True):
            number = len(tests)
            corrected = by_holm[number], by_rate[number], by_largest[number]
            note = " ".join(filter(None, (lost, doubt))) or None
            tests.append(PairTest(name, test.title, asl, *corrected, outcome.resamples, needed, seed, note))
    return tests


def _doubts(test: SignificanceTest, differences: Floats, outcome: Outcome) -> Iterator[str | None]:
    """Yield for each pair why its level may not be believed, or None."""
    if not test.may_understate:
        yield from [None] * len(differences)
        return
    is_constant = differences.std(axis=1, ddof=1) <= TINY
    is_doubtful = doubtful_levels(test.above_zero(outcome), differences)
    for least, constant, doubtful in zip(least_levels(differences), is_constant, is_doubtful, strict=True):
        why = "all differences are equal, so there is no variance" if constant else "few topics differ"
        said = f"The level is below {least:.2g}, the lowest one of the exact randomisation test: {why}."
        yield said if doubtful else None


def _by_range(scores: Floats, pairs: Pairs, groups: Sequence[_AlikePairs], noise: Floats | None) -> list[PairTest]:
    """Return the bootstrap range test of each pair, which is about all runs of `scores`, [runs, topics], together.

    Where scores are missing, it compares the means of the scores that are there, as a board does.
    """
    runs, topics = scores.shape
    name, title, least = BootstrapRange.name, BootstrapRange.title, BootstrapRange.least_topics
    places = np.concatenate([group.places for group in groups])
    if np.count_nonzero(~np.isnan(scores), axis=1).min() < least:
        note = f"The test needs at least {least} topics{'' if len(groups) == 1 else ' on which each run has a score'}."
        return [PairTest(name, title, None, None, None, None, None, None, None, note)] * len(places)
    if len(groups) == 1 and not np.isnan(scores).any():
        gaps = groups[0].differences.mean(axis=1)
    else:
        means = np.nanmean(scores, axis=1)
        gaps = np.array([means[pairs[place][0]] - means[pairs[place][1]] for place in places.tolist()])
    resamples = affordable_resamples(runs, topics)
    levels = range_levels(gaps, bootstrap_ranges(scores, resamples, SEED, noise))
    tests: list[PairTest] = []
    for group in groups:
        asls = levels[group.part]
        doubts = _doubts(find_test(name), group.differences, Outcome(asl=asls))
        of_pairs = zip(asls.tolist(), doubts, strict=True)
        tests += [PairTest(name, title, asl, None, None, None, resamples, None, SEED, doubt) for asl, doubt in of_pairs]
    return tests


def _named(topics: Sequence[str], places: Indices) -> list[str]:
    return [topics[place] for place in places.tolist()]


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


MOST_SCORES: Final = 100_000
"""The most metrics x runs x topics, or metrics x pairs x topics, in one request: about a second for the tests."""

MOST_PAIRS: Final = 2_500
"""The most metrics x pairs in one request: about a second, even for few topics."""

PAIR_SECONDS: Final = 5e-4
"""The approximate time for the tests of a pair under a metric."""
DIFFERENCE_SECONDS: Final = 6e-6
"""The approximate time for the difference on a topic, in the tests and in the answer."""


@dataclass(frozen=True)
class ComparedRuns:
    """Pairs of runs compared under each metric. `scores` has their runs, in the order of the request."""

    scores: StoredScores
    pairs: Sequence[PairComparison]


def compare(
    workspace: Workspace, sender: Sender, name: str, question: Question, baselines: Sequence[str], margin: float | None
) -> ComparedRuns:
    """Compare the two runs of the question; with baselines, its runs, or all runs, with each of them.

    `margin` asks for a test of equivalence. Tests and intervals reveal scores of single topics, so the sender must see
    scores under any parameters. Raise JudgmentsHidden otherwise, InvalidRequest for a choice of runs that makes no
    pairs, and the errors of `score`.
    """

    def admit(view: View) -> None:
        view.require_free_scores()
        names = question.runs or ()
        if not baselines and (len(names) != 2 or len(set(names)) != 2):
            count = "none" if not names else f"{len(names)}: {', '.join(map(repr, names[:3]))}"
            message = (
                f"A comparison is of exactly two different runs, but the request names {count}"
                f"{', ...' if len(names) > 3 else ''}. Name two: `run=FIRST&run=SECOND`. To compare more runs, say "
                "with which: `baseline=NAME`."
            )
            raise InvalidRequest.at("query.run", "two-runs", message)
        if twice := [run for run in names if run in baselines]:
            message = (
                f"{twice[0]!r} is a run and a baseline, so it would be compared with itself. Name it once: `run=NAME` "
                "or `baseline=NAME`."
            )
            raise InvalidRequest.at("query.run", "run-is-baseline", message)

    # None means all runs, among them the baselines.
    runs = None if question.runs is None else [*question.runs, *baselines]
    asked = replace(question, runs=runs, admit=admit, by_system=question.by_system or "topics")
    scores = score(workspace, sender, name, replace(asked, per_topic=True, most=MOST_SCORES))
    if absent := [run for run in (*(question.runs or ()), *baselines) if run not in scores.names]:
        if any(run.name == absent[0] for run in scores.members):
            message = f"{absent[0]!r} is a replicate of a system that is compared, too. Name the system, or replicates."
            raise InvalidRequest.at("query.run", "replicate-of-system", message)
        raise NotFound(f"There is no run {absent[0]!r} in {name!r}, or this token may not see it.")
    for _, metric in (customs := customs_of(scores.metrics)):
        require_scores_of(metric, scores.members, "query.run")
    if len(customs) < len(scores.metrics):
        require_rankings(scores.members, "query.run")
    pairs = pair_up(scores.names, baselines)
    if not pairs:
        message = "The collection has no run besides the baselines. Name fewer baselines."
        raise InvalidRequest.at("query.baseline", "no-runs", message)
    metrics, topics = len(scores.metrics), len(scores.topics)
    compared, of = metrics * len(pairs), f"{metrics} metrics x {len(pairs)} pairs"
    for count, most, what in ((compared, MOST_PAIRS, "comparisons"), (compared * topics, MOST_SCORES, "differences")):
        if count > most:
            of += f" x {topics} topics" if what == "differences" else ""
            message = (
                f"{of} are {count:,} {what}; at most {most:,} in one request. Name fewer metrics, baselines or runs."
            )
            raise InvalidRequest.at("query", "too-many", message)
    spend(compared * (PAIR_SECONDS + topics * DIFFERENCE_SECONDS))
    return ComparedRuns(scores, list(compare_pairs(scores, pairs, margin)))
