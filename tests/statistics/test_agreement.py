"""Whether three tests of run pairs agree."""

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.correlation import AGREEMENTS, agreements, list_agreement
from gainboard.statistics.draws import Draws
from gainboard.statistics.stability import stability_counts
from gainboard.statistics.swap_rates import swap_counts

from .reliability import discrete_scores


def test_it_is_tau_b_between_each_two_of_the_lists():
    scores, drawn = discrete_scores(), Draws(6, "agreement").subsets(300, 12, 12)
    minority = stability_counts(scores, drawn[:, :6], [0.01]).minority[0]
    swaps = swap_counts(scores, drawn[:, :6], drawn[:, 6:]).by_pair
    asl = np.random.default_rng(0).integers(1, 9, len(swaps)) / 8
    expected = [stats.kendalltau(*lists).statistic for lists in ((asl, minority), (asl, swaps), (minority, swaps))]
    found = agreements(asl, minority, swaps)
    assert list(found) == list(AGREEMENTS) == ["sign-minority", "sign-swap", "minority-swap"]
    assert list(found.values()) == pytest.approx(expected, abs=1e-15)
    assert found["minority-swap"] > 0.5


def test_a_constant_list_agrees_with_none():
    assert np.isnan(list_agreement(np.array([1.0, 1.0, 1.0]), np.array([0, 3, 5])))


def test_noise_in_the_last_digits_makes_no_order_and_tiny_levels_keep_theirs():
    assert list_agreement(np.array([0.1 + 0.2, 0.3, 0.9]), np.array([7, 7, 8])) == pytest.approx(1, abs=1e-12)
    assert list_agreement(np.array([2e-15, 3e-15, 4e-15]), np.array([0, 1, 2])) == pytest.approx(1, abs=1e-12)
