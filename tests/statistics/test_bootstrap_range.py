"""The range by bootstrap over topics, against loops over its definition."""

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.bootstrap_range import (
    AT_ONCE,
    BootstrapRange,
    affordable_resamples,
    bootstrap_ranges,
    critical_difference,
    range_levels,
)
from gainboard.statistics.draws import Draws
from gainboard.statistics.means import pair_differences
from gainboard.statistics.significance import SignificanceSettings, every_test

from .matrices import EVERY_KIND, continuous, tenths

SEED = 5


def plain_levels(scores, resamples):
    """The definition, resample by resample and pair by pair."""
    runs, topics = scores.shape
    ranges = []
    for part in range(math.ceil(resamples / AT_ONCE)):
        number = min(AT_ONCE, resamples - part * AT_ONCE)
        for drawn in Draws(SEED, "bootstrap-range", part).resamples(number, topics).tolist():
            means = [math.fsum(run[topic] - run.mean() for topic in drawn) / topics for run in scores]
            ranges.append(math.sqrt(topics / (topics - 1)) * (max(means) - min(means)))
    stretched = []
    for place, each in enumerate(sorted(ranges, reverse=True), start=1):
        tail = min(place / (resamples + 1), 0.999) / 2
        stretched.append(max(each * stats.t.isf(tail, topics - 1) / stats.norm.isf(tail), 1e-12 * abs(scores).max()))
    own = [abs(scores[first].mean() - scores[second].mean()) for first, second in combinations(range(runs), 2)]
    return [(1 + sum(each * (1 + 1e-9) >= gap for each in stretched)) / (resamples + 1) for gap in own]


@pytest.mark.parametrize("scores", EVERY_KIND.values(), ids=EVERY_KIND)
@pytest.mark.parametrize("resamples", [150, AT_ONCE + 1])
def test_levels_are_those_of_the_definition(scores, resamples):
    found = BootstrapRange().decide(scores, SignificanceSettings(seed=SEED, resamples=resamples))
    assert found.asl.tolist() == plain_levels(scores, resamples)


@pytest.mark.parametrize("alpha", [0.05, 0.3, 0.001])
@pytest.mark.parametrize("resamples", [99, 199, 1000])
@pytest.mark.parametrize("matrix", [continuous, tenths])
def test_a_difference_above_the_critical_one_is_below_alpha_and_no_other(matrix, resamples, alpha):
    ranges = bootstrap_ranges(matrix(12, 20), resamples)
    differences = np.concatenate([ranges, ranges * (1 + 2e-9), ranges * (1 - 2e-9), [0.0, 1.0]])
    is_below = range_levels(differences, ranges) < alpha
    assert ((differences > critical_difference(ranges, alpha)) == is_below).all()


def test_requests_draw_ten_thousand_and_less_for_large_matrices_but_never_below_a_thousand():
    sizes = [(45, 50), (2, 50), (100, 50), (200, 50), (1000, 50), (45, 6980)]
    assert [affordable_resamples(*size) for size in sizes] == [10_000, 10_000, 10_000, 5_000, 1_000, 1_000]


@pytest.mark.parametrize("topics", [6, 10, 20])
def test_two_equally_good_runs_of_few_topics_are_told_apart_as_rarely_as_promised(topics):
    drawn, errors = np.random.default_rng(topics), []
    for _ in range(2000):
        scores = drawn.normal(0, 1, (2, topics))
        critical = critical_difference(bootstrap_ranges(scores, 499), 0.05)
        errors.append(abs(np.subtract(*scores.mean(axis=1))) > critical)
    assert 0.03 < np.mean(errors) < 0.065  # before ranges were stretched: 0.13, 0.09, 0.07


@pytest.mark.parametrize("power", [-1000, -33, 1000])
@pytest.mark.parametrize("test", every_test(), ids=lambda test: test.name)
def test_levels_do_not_depend_on_the_unit_of_scores(test, power):
    scores = continuous(4, 12) + np.linspace(0, 0.5, 4)[:, np.newaxis]
    settings = SignificanceSettings(resamples=199 if test.default_resamples else None)
    assert (test.decide(scores * 2.0**power, settings).asl == test.decide(scores, settings).asl).all()


def test_scores_near_1e_10_have_differences_and_equal_ones_have_none():
    scores = np.vstack((continuous(3, 20), continuous(3, 20)[2][::-1])) * 1e-10
    scores[0] += 1e-10
    levels = range_levels(pair_differences(scores.mean(axis=1)), bootstrap_ranges(scores, 999))
    assert (levels[:3] < 0.05).all()
    assert levels[5] == 1.0  # the same scores in another order
