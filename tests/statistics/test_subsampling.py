"""Rankings and significant pairs over subsets of topics, against SciPy's tau and the t-test of all pairs."""

import numpy as np
import pytest

from gainboard.statistics.classical import t_levels
from gainboard.statistics.correlation import taus_with
from gainboard.statistics.means import pair_differences
from gainboard.statistics.topic_sets import significant_share, spread_of


def test_a_constant_ranking_has_no_tau():
    assert np.isnan(taus_with(np.array([0.1, 0.2]), np.array([[0.3, 0.3 + 1e-15]]))).all()


@pytest.mark.parametrize("topics", [2, 5, 30])
@pytest.mark.parametrize("alpha", [0.05, 0.3])
def test_pairs_are_significant_as_by_the_t_test(topics, alpha):
    drawn = np.random.default_rng(topics)
    scores = drawn.random((9, topics)) + 0.1 * np.arange(9)[:, np.newaxis]
    # almost equal runs, whose products lose all digits; runs that differ by a constant; and equal ones
    near = scores[:2] + 1e-9 * drawn.random((2, topics))
    scores = np.concatenate((scores, near, scores[:1] + 0.25, scores[3:4]))
    levels = t_levels(pair_differences(scores))
    assert significant_share(scores, alpha) == np.count_nonzero(levels < alpha) / 78
    assert 0 < np.count_nonzero(levels < alpha) < 78


def test_undefined_values_are_left_out_and_counted():
    values = np.array([np.nan, *np.linspace(0, 1, 21)])
    assert spread_of(values) == pytest.approx((0.5, 0.05, 0.95, 1))
    assert spread_of(np.array([np.nan]))[3] == 1
