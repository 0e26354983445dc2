"""Ranks over resamples and rank sets, against each resample and each run by itself."""

from math import ceil

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics import multiple_comparisons
from gainboard.statistics.bootstrap_range import BootstrapRange
from gainboard.statistics.multiple_comparisons import differing_pairs, rank_sets, resampled_ranks
from gainboard.statistics.significance import SignificanceSettings


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


def test_all_true_ranks_are_in_their_sets_in_most_samples():
    drawn, true = np.random.default_rng(5), np.array([0.5, 0.5, 0.45, 0.3, 0.3])
    least, most = rankdata(-true, "min"), rankdata(-true, "max")
    hold = 0
    for _ in range(100):
        scores = true[:, np.newaxis] + drawn.normal(0, 0.1, 25) + drawn.normal(0, 0.1, (5, 25))
        asl = BootstrapRange().decide(scores, SignificanceSettings(resamples=400)).asl
        sets = rank_sets(scores.mean(axis=1), differing_pairs(asl, 5, 0.05))
        hold += bool(((sets[:, 0] <= most) & (least <= sets[:, 1])).all())
    assert hold >= 93
