"""Ranks of runs, and which of two is better."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics.means import competition_ranks, midranks, round_scores, verdicts


def test_ties_share_the_rank_of_the_best_of_them_and_the_undefined_come_last():
    means = np.array([0.2, 0.5, np.nan, 0.2, 0.1, np.nan])
    assert competition_ranks(means).tolist() == [2, 1, 5, 2, 4, 5]
    assert competition_ranks(np.empty(0)).tolist() == []


def test_means_that_differ_by_rounding_alone_tie():
    assert competition_ranks(np.array([0.1 + 0.2, 0.3, 0.4])).tolist() == [2, 2, 1]


def test_uploaded_scores_beyond_any_decimals_are_compared_as_they_are():
    scores = np.array([1e300, 2e300, -1.7e308, 0.1 + 0.2])
    np.testing.assert_array_equal(round_scores(scores), [1e300, 2e300, -1.7e308, 0.3])


@pytest.mark.parametrize("alpha", [0.05, 0.5])
def test_the_better_of_two_is_said_only_where_they_differ(alpha):
    generator = np.random.default_rng(1)
    means, asl = generator.random(6), generator.random(15)
    said = verdicts(means, asl, alpha).tolist()
    for place, (first, second) in enumerate(combinations(range(6), 2)):
        better = 1 if means[first] > means[second] else -1
        assert said[place] == (better if asl[place] < alpha else 0)


def test_midranks_are_those_of_scipy():
    values = np.random.default_rng(5).integers(0, 6, (40, 25)).astype(np.float64)
    np.testing.assert_array_equal(midranks(values), rankdata(values, axis=1))
    assert midranks(np.empty((0, 3))).shape == (0, 3)
