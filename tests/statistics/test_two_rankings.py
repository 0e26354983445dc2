"""Two rankings of the same runs, by hand and against SciPy."""

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.agreement import correlations, rank_changes, top_agreement

MEANS = np.array([[0.9, 0.8, 0.7, 0.6, 0.5, 0.4], [0.8, 0.9, 0.1, 0.6, 0.7, 0.4]])
ORDER = np.arange(6)


def test_tau_is_that_of_scipy_and_equal_rankings_agree_in_full():
    assert correlations(MEANS, 0.9)["tau"] == pytest.approx(stats.kendalltau(*MEANS).statistic)
    assert correlations(MEANS[[0, 0]], 0.9) == {"tau": 1, "tau_ap": 1, "rbo": 1}
    assert np.isnan(correlations(np.stack([MEANS[0], np.ones(6)]), 0.9)["tau"])


def test_the_first_places_of_both_rankings_by_hand():
    top = top_agreement(MEANS, ORDER, 3)
    # The tops are runs 0, 1, 2 and 1, 0, 4. Of the first, only 0 and 1 are swapped; 2 is below both.
    assert (top.k, top.overlap, top.union.tolist()) == (3, 2 / 3, [0, 1, 2, 4])
    assert top.tau == pytest.approx((2 - 1) / 3)
    assert top.tau_union == pytest.approx((4 - 2) / 6)


def test_a_run_rises_by_the_ranks_that_it_gains():
    ranks, rises = rank_changes(MEANS)
    assert ranks.tolist() == [[1, 2, 3, 4, 5, 6], [2, 1, 6, 4, 3, 5]]
    assert rises.tolist() == [-1, 1, -3, 0, 2, 1]


def test_ties_at_the_border_of_the_top_go_by_name():
    tied = np.array([[3.0, 2.0, 2.0], [3.0, 1.0, 2.0]])
    assert top_agreement(tied, np.array([0, 1, 2]), 2).overlap == 1 / 2
    assert top_agreement(tied, np.array([0, 2, 1]), 2).overlap == 1
