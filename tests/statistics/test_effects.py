"""Effect sizes and intervals."""

from itertools import combinations
from math import sqrt
from statistics import mean, stdev

import numpy as np
import pytest
from scipy.stats import ttest_rel

from gainboard.statistics.means import paired_effects, residual_effects

from .matrices import awkward, continuous, tenths


def test_pairs_one_by_one_give_the_same():
    scores = tenths()
    effects = paired_effects(scores)
    for pair, (x, y) in enumerate(combinations(scores, 2)):
        z = (x - y).tolist()
        interval = ttest_rel(x, y).confidence_interval(0.95)
        assert effects.difference[pair] == pytest.approx(mean(z), abs=1e-12)
        assert effects.size[pair] == pytest.approx(mean(z) / stdev(z), abs=1e-12)
        assert (effects.low[pair], effects.high[pair]) == pytest.approx((interval.low, interval.high), abs=1e-12)


def test_without_spread_there_is_no_size_and_the_interval_is_a_point():
    effects = paired_effects(awkward())
    assert np.isnan(effects.size[[0, 1]]).all()
    assert effects.low[1] == pytest.approx(-0.1) == effects.high[1]
    assert not np.isnan(effects.size[2])


def test_residual_sizes_are_in_what_runs_and_topics_leave_unexplained():
    scores = continuous(3, 7)
    left = sum(
        (scores[run, topic] - scores[run].mean() - scores[:, topic].mean() + scores.mean()) ** 2
        for run in range(3)
        for topic in range(7)
    )
    expected = [(x.mean() - y.mean()) / sqrt(left / (2 * 6)) for x, y in combinations(scores, 2)]
    assert residual_effects(scores).size == pytest.approx(expected, abs=1e-12)


def test_topics_and_runs_that_explain_everything_leave_no_residual_size():
    assert np.isnan(residual_effects(awkward()[:3]).size).all()
