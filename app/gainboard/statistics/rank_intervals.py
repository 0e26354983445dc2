"""Uncertainty of ranks: the ranks of each run over bootstrap samples of topics, and the sets of ranks by a test."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices, resample_counts
from gainboard.statistics.means import round_means
from gainboard.statistics.pairs import pieces

SHARES = (2.5, 97.5)
"""The percentiles of ranks."""
_AT_ONCE = 1 << 18


@dataclass(frozen=True)
class ResampledRanks:
    """The ranks of runs over resamples, [runs] each.

    `low` and `high` are percentiles of the competition rank, int64. `expected` is the mean of the mid-rank, and
    `share_first` the share of the resamples in which the run is first, which runs with equal means share.
    """

    low: NDArray[np.int64]
    high: NDArray[np.int64]
    expected: Floats
    share_first: Floats


def resampled_ranks(scores: Floats, resamples: Indices) -> ResampledRanks:
    """Return the ranks over resamples of the topics, which all runs share.

    `scores` is float64 [runs, topics] without NaN, `resamples` intp [resamples, topics], at least one. Means are
    rounded before they are compared. A percentile is a rank that occurs: the inverse of the empirical distribution.
    """
    runs, topics = scores.shape
    ranks = np.empty((len(resamples), runs), np.int32)
    expected, first = np.zeros(runs), np.zeros(runs)
    for part in pieces(slice(0, len(resamples)), _AT_ONCE // max(runs, topics)):
        means = round_means(resample_counts(resamples[part], topics) @ scores.T / topics)
        better, reached = _counts(means)
        ranks[part] = better + 1
        # runs with equal means share their ranks, and the first rank, equally
        expected += ((better + 1 + reached) / 2).sum(axis=0)
        first += np.where(better == 0, 1 / reached, 0.0).sum(axis=0)
    low, high = np.percentile(ranks, SHARES, axis=0, method="inverted_cdf").astype(np.int64)
    return ResampledRanks(low, high, expected / len(resamples), first / len(resamples))


def _counts(means: Floats) -> tuple[Indices, Indices]:
    """Return the number of better runs, and of those at least as good, in each row: intp [rows, runs] each."""
    better, reached = np.empty((2, *means.shape), np.intp)
    for row, own in enumerate(-means):
        ordered = np.sort(own)
        better[row], reached[row] = (np.searchsorted(ordered, own, side) for side in ("left", "right"))
    return better, reached


def rank_sets(means: Floats, differs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the best and the worst rank that each run may have: int64 [runs, 2].

    They are 1 + the number of runs that are significantly better, and the number of runs less those significantly
    worse. `means` is float64 [runs], and `differs` [runs, runs] says which runs differ. If the test holds for all pairs
    together at a level, the sets of all runs hold together with the confidence 1 - level (Al Mohamad, Goeman and van
    Zwet, Simultaneous confidence intervals for ranks, Biometrics 78, 2022).
    """
    is_better = differs & (means > means[:, np.newaxis])
    better, worse = is_better.sum(axis=1), is_better.sum(axis=0)
    return np.stack((better + 1, len(means) - worse), axis=1).astype(np.int64)
