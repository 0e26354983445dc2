"""The bootstrap standard error of tau."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats

from gainboard.statistics.correlation import resampled_taus, tau_accuracy
from gainboard.statistics.draws import Draws, resample_counts

TABLES = np.random.default_rng(11).integers(0, 11, (4, 7, 9)) / 10
RESAMPLES = Draws(5, "accuracy").resamples(60, 9)
COUNTS = resample_counts(RESAMPLES, 9)


def plain_taus(tables, metric, other):
    taus = []
    for topics in RESAMPLES:
        means = [np.round(tables[each][:, topics].mean(axis=1), 12) for each in (metric, other)]
        taus.append(stats.kendalltau(*means).statistic)
    return np.array(taus)


def test_taus_are_those_of_the_resampled_topics_which_all_metrics_share():
    taus = resampled_taus(TABLES, COUNTS)
    np.testing.assert_array_equal(taus, taus.transpose(0, 2, 1))
    for metric, other in combinations_with_replacement(range(4), 2):
        np.testing.assert_allclose(taus[:, metric, other], plain_taus(TABLES, metric, other), rtol=0, atol=1e-12)


def test_the_error_is_the_standard_deviation_and_the_limits_are_percentiles():
    taus = resampled_taus(TABLES, COUNTS)
    found = tau_accuracy(taus)
    np.testing.assert_allclose(found.standard_error, taus.std(axis=0, ddof=1), rtol=1e-12)
    np.testing.assert_allclose(found.low, np.percentile(taus, 2.5, axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.high, np.percentile(taus, 97.5, axis=0), rtol=1e-12)
    assert not found.dropped.any()


def test_resamples_without_a_tau_are_dropped_and_counted():
    tables = TABLES.copy()
    tables[1] = 0.5
    tables[1, 0, :2] = 0.9  # without the first two topics, metric 1 ties all runs
    taus = resampled_taus(tables, COUNTS)
    found = tau_accuracy(taus)
    without = int((COUNTS[:, :2].sum(axis=1) == 0).sum())
    assert 0 < without < 60
    assert found.dropped.tolist() == [[without if 1 in (i, j) else 0 for j in range(4)] for i in range(4)]
    kept = taus[:, 0, 1][~np.isnan(taus[:, 0, 1])]
    expected = [kept.std(ddof=1), *np.percentile(kept, [2.5, 97.5])]
    assert [found.standard_error[0, 1], found.low[0, 1], found.high[0, 1]] == pytest.approx(expected, rel=1e-12)


def test_one_tau_has_no_error_and_none_no_limits():
    taus = np.full((3, 1, 2), np.nan)
    taus[1, 0, 0] = 0.25
    found = tau_accuracy(taus)
    np.testing.assert_array_equal(found.standard_error, [[np.nan, np.nan]])
    np.testing.assert_array_equal(found.low, [[0.25, np.nan]])
    np.testing.assert_array_equal(found.high, [[0.25, np.nan]])
    np.testing.assert_array_equal(found.dropped, [[2, 3]])


def test_resamples_may_be_worked_in_any_blocks():
    split = [resampled_taus(TABLES, COUNTS[block]) for block in (slice(0, 1), slice(1, 37), slice(37, 60))]
    np.testing.assert_array_equal(np.concatenate(split), resampled_taus(TABLES, COUNTS))
