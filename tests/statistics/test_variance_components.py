"""Variance components, against Cronbach's alpha, sums of squares one by one, and planted components."""

from statistics import correlation, variance

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.topic_sets import discriminations, variance_components


def planted(runs, topics, residual, shape):
    drawn = np.random.default_rng(7)
    rows, columns = drawn.normal(0, runs, shape[0]), drawn.normal(0, topics, shape[1])
    return rows[:, np.newaxis] + columns + drawn.normal(0, residual, shape)


def alpha(scores):
    """Cronbach's alpha of the topics as items: 1 less the items' variances over that of the sum."""
    topics = scores.shape[1]
    items = sum(variance(column) for column in scores.T.tolist())
    return float(topics / (topics - 1) * (1 - items / variance(scores.sum(axis=1).tolist())))


@pytest.mark.parametrize("shape", [(3, 4), (10, 25), (2, 2)])
def test_generalisability_is_cronbachs_alpha(shape):
    scores = planted(0.2, 0.3, 0.1, shape)
    assert variance_components(scores).generalisability == pytest.approx(alpha(scores))


def test_the_interval_is_feldts():
    scores = planted(0.1, 0.3, 0.2, (12, 30))
    found, own = variance_components(scores), alpha(scores)
    # By Feldt (1965), (1 - alpha) / (1 - estimate) has an F distribution.
    low, high = (1 - (1 - own) * stats.f.ppf(share, 11, 11 * 29) for share in (0.975, 0.025))
    assert (found.low, found.high) == pytest.approx((low, high))
    assert found.low < own < found.high


def test_planted_components_are_found_again():
    found = variance_components(planted(0.1, 0.2, 0.15, (300, 400)))
    assert (found.runs, found.topics, found.residual) == pytest.approx((0.01, 0.04, 0.0225), rel=0.15)
    assert found.dependability == pytest.approx(found.runs / (found.runs + (found.topics + found.residual) / 400))
    assert sum(found.shares().values()) == pytest.approx(1)
    assert found.is_negative == (False, False)


def test_components_of_a_table_by_hand():
    # Means of runs 2 and 4, of topics 1 and 5; residuals are all 1 or -1.
    found = variance_components(np.array([[1.0, 3.0], [1.0, 7.0]]))
    assert (found.residual, found.runs, found.topics) == pytest.approx((4, 0, 6))
    assert (found.generalisability, found.dependability) == (0, 0)


def test_without_residuals_all_is_certain_and_without_variance_nothing():
    certain = variance_components(np.add.outer([0.1, 0.2, 0.4], [0.0, 0.3]))
    assert (certain.generalisability, certain.low, certain.high) == (1, 1, 1)
    nothing = variance_components(np.full((3, 4), 0.3))
    assert np.isnan([nothing.generalisability, nothing.low, nothing.dependability, *nothing.shares().values()]).all()


def test_discrimination_is_the_correlation_with_the_other_topics():
    scores = planted(0.1, 0.2, 0.15, (9, 6))
    others = [np.delete(scores, topic, axis=1).mean(axis=1) for topic in range(6)]
    expected = [correlation(scores[:, topic].tolist(), others[topic].tolist()) for topic in range(6)]
    assert discriminations(scores).tolist() == pytest.approx(expected)


def test_negative_estimates_are_0_and_flagged():
    found = variance_components(np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 0.5], [0.5, 0.5, 0.5]]))
    assert (found.runs, found.topics) == (0, 0)
    assert found.is_negative == (True, True)
    assert found.generalisability == 0


def test_a_constant_topic_and_two_runs_have_no_discrimination():
    scores = planted(0.1, 0.2, 0.15, (9, 6))
    scores[:, 2] = 0.3
    assert np.isnan(discriminations(scores)).tolist() == [False, False, True, False, False, False]
    assert np.isnan(discriminations(scores[:2])).all()
