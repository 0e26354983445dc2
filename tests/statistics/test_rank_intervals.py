"""Ranks over resamples and rank sets, against each resample and each run by itself."""

from math import ceil

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics import multiple_comparisons
from gainboard.statistics.multiple_comparisons import resampled_ranks


@pytest.mark.parametrize("at_once", [1 << 18, 40])
def test_ranks_over_resamples(monkeypatch, at_once):
    monkeypatch.setattr(multiple_comparisons, "_AT_ONCE", at_once)
    drawn = np.random.default_rng(4)
    scores = drawn.integers(0, 4, (6, 8)) / 4
    resamples = drawn.integers(0, 8, (90, 8))
    found = resampled_ranks(scores, resamples)
    means = [scores[:, topics].mean(axis=1).round(12) for topics in resamples]
    lowest = np.array([rankdata(-row, "min") for row in means])
    for run in range(6):
        ordered = sorted(lowest[:, run].tolist())
        assert found.low[run] == ordered[ceil(0.025 * 90) - 1]
        assert found.high[run] == ordered[ceil(0.975 * 90) - 1]
        assert found.expected[run] == pytest.approx(np.mean([rankdata(-row)[run] for row in means]))
        shares = [float(row[run] == row.max()) / np.count_nonzero(row == row.max()) for row in means]
        assert found.share_first[run] == pytest.approx(np.mean(shares))
    assert found.share_first.sum() == pytest.approx(1)
