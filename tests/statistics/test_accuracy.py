"""The bootstrap standard error of tau."""

import numpy as np

from gainboard.statistics.correlation import resampled_taus, tau_accuracy
from gainboard.statistics.draws import Draws, resample_counts

TABLES = np.random.default_rng(11).integers(0, 11, (4, 7, 9)) / 10
RESAMPLES = Draws(5, "accuracy").resamples(60, 9)
COUNTS = resample_counts(RESAMPLES, 9)


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
