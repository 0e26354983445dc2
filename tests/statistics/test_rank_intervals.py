"""Ranks over resamples and rank sets, against each resample and each run by itself."""

from __future__ import annotations

from math import ceil

import numpy as np
import pytest
from scipy.stats import rankdata

from gainboard.statistics import rank_intervals
from gainboard.statistics.multiple_comparisons import significance_groups
from gainboard.statistics.pairs import pair_indices
from gainboard.statistics.rank_intervals import rank_sets, rank_sets_of_groups, resampled_ranks
from gainboard.statistics.significance import SignificanceSettings
from gainboard.statistics.tukey import RandomisedTukey


@pytest.mark.parametrize("at_once", [1 << 18, 40])
def test_ranks_over_resamples(monkeypatch: pytest.MonkeyPatch, at_once: int) -> None:
    monkeypatch.setattr(rank_intervals, "_AT_ONCE", at_once)
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


def test_rank_sets_count_the_significantly_better_and_worse_by_hand() -> None:
    # b > a and b > c are significant, and so is d > c
    means, first, second = np.array([0.3, 0.9, 0.2, 0.5]), *pair_indices(4)
    asl = np.ones(6)
    for pair in ((0, 1), (1, 2), (2, 3)):
        asl[(first == pair[0]) & (second == pair[1])] = 0.01
    assert rank_sets(means, asl).tolist() == [[2, 4], [1, 2], [3, 4], [1, 3]]


@pytest.mark.parametrize("spread", [0.0, 0.05, 0.3])
def test_letters_of_tukeys_test_give_the_same_sets(spread: float) -> None:
    drawn = np.random.default_rng(11)
    scores = drawn.random((30, 12)) + spread * drawn.permutation(30)[:, np.newaxis] / 3
    scores[7] = scores[3]
    asl = RandomisedTukey().decide(scores, SignificanceSettings(resamples=400)).asl
    means = scores.mean(axis=1)
    letters = {str(run): own for run, own in enumerate(significance_groups(means, asl, 0.05))}
    by_letters = rank_sets_of_groups(letters)
    assert [list(by_letters[str(run)]) for run in range(30)] == rank_sets(means, asl).tolist()


def test_so_do_letters_beyond_z() -> None:
    means = np.random.default_rng(2).permutation(60) / 60
    first, second = pair_indices(60)
    asl = np.where(np.abs(means[first] - means[second]) > 2.5 / 60, 0.01, 0.2)
    letters = {str(run): own for run, own in enumerate(significance_groups(means, asl, 0.05))}
    assert max(len(each) for own in letters.values() for each in own) == 2
    by_letters = rank_sets_of_groups(letters)
    assert [list(by_letters[str(run)]) for run in range(60)] == rank_sets(means, asl).tolist()


def test_all_true_ranks_are_in_their_sets_in_most_samples() -> None:
    drawn, true = np.random.default_rng(5), np.array([0.5, 0.5, 0.45, 0.3, 0.3])
    least, most = rankdata(-true, "min"), rankdata(-true, "max")
    hold = 0
    for _ in range(100):
        scores = true[:, np.newaxis] + drawn.normal(0, 0.1, 25) + drawn.normal(0, 0.1, (5, 25))
        asl = RandomisedTukey().decide(scores, SignificanceSettings(resamples=200)).asl
        sets = rank_sets(scores.mean(axis=1), asl)
        hold += bool(((sets[:, 0] <= most) & (least <= sets[:, 1])).all())
    assert hold >= 93


def test_no_runs_have_no_sets() -> None:
    assert rank_sets_of_groups({}) == {}
