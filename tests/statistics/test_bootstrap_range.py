"""The range by bootstrap over topics, against loops over its definition."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest

from gainboard.statistics.bootstrap_range import (
    AT_ONCE,
    BootstrapRange,
    affordable_resamples,
    bootstrap_ranges,
    critical_difference,
    range_levels,
)
from gainboard.statistics.draws import Draws, Floats
from gainboard.statistics.multiple_comparisons import differing_pairs
from gainboard.statistics.significance import SignificanceSettings

from .matrices import EVERY_KIND, continuous, tenths

SEED = 5


def plain_levels(scores: Floats, resamples: int) -> list[float]:
    """The definition, resample by resample and pair by pair."""
    runs, topics = scores.shape
    ranges = []
    for part in range(math.ceil(resamples / AT_ONCE)):
        number = min(AT_ONCE, resamples - part * AT_ONCE)
        for drawn in Draws(SEED, "bootstrap-range", part).resamples(number, topics).tolist():
            means = [math.fsum(run[topic] - run.mean() for topic in drawn) / topics for run in scores]
            ranges.append(math.sqrt(topics / (topics - 1)) * (max(means) - min(means)))
    own = [abs(scores[first].mean() - scores[second].mean()) for first, second in combinations(range(runs), 2)]
    return [(1 + sum(each >= difference - 1e-9 for each in ranges)) / (resamples + 1) for difference in own]


@pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)
@pytest.mark.parametrize("resamples", [150, AT_ONCE + 1])
def test_levels_are_those_of_the_definition(scores: Floats, resamples: int) -> None:
    found = BootstrapRange().decide(scores, SignificanceSettings(seed=SEED, resamples=resamples))
    assert found.asl.tolist() == plain_levels(scores, resamples)


def test_runs_that_are_alike_are_not_told_apart_and_a_shift_by_the_same_everywhere_is() -> None:
    asl = BootstrapRange().decide(EVERY_KIND["awkward"][:3], SignificanceSettings(resamples=199)).asl
    assert asl.tolist() == [1.0, 1 / 200, 1 / 200]


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.3, 0.005, 0.001])
@pytest.mark.parametrize("resamples", [99, 199, 1000])
@pytest.mark.parametrize("matrix", [continuous, tenths])
def test_a_difference_above_the_critical_one_is_below_alpha_and_no_other(
    matrix: type, resamples: int, alpha: float
) -> None:
    ranges = bootstrap_ranges(matrix(12, 20), resamples)
    differences = np.concatenate([ranges, ranges + 2e-9, ranges - 2e-9, [0.0, 1.0]])
    is_below = range_levels(differences, ranges) < alpha
    assert ((differences > critical_difference(ranges, alpha)) == is_below).all()


def test_its_verdicts_are_those_of_the_catalogue() -> None:
    scores = continuous(20, 30) + np.linspace(0, 0.5, 20)[:, np.newaxis]
    ranges, means = bootstrap_ranges(scores, 500, SEED), scores.mean(axis=1)
    asl = BootstrapRange().decide(scores, SignificanceSettings(seed=SEED, resamples=500)).asl
    differs = np.abs(means[:, np.newaxis] - means) > critical_difference(ranges, 0.05)
    assert (differs == differing_pairs(asl, 20, 0.05)).all()
    assert 0 < differs.sum() < 380


def test_requests_draw_ten_thousand_and_less_for_large_matrices_but_never_below_a_thousand() -> None:
    sizes = [(45, 50), (2, 50), (100, 50), (200, 50), (1000, 50), (45, 6980)]
    assert [affordable_resamples(*size) for size in sizes] == [10_000, 10_000, 10_000, 5_000, 1_000, 1_000]


def test_fewer_draws_are_the_first_of_more() -> None:
    more, fewer = (bootstrap_ranges(continuous(3, 9), resamples) for resamples in (3000, 2000))
    assert set(fewer.tolist()) < set(more.tolist())
