"""What is said of runs by their means: their ranks, and which of two is better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.pairs import pair_differences
from gainboard.statistics.ties import rounded


def competition_ranks(means: Floats) -> NDArray[np.int64]:
    """Each run's rank, int64 [runs], from `means` [runs]: 1 and the number of better ones, so that ties share a rank.

    Runs without a mean (NaN) come last.
    """
    keys = np.where(np.isnan(means), np.inf, -rounded(means))
    return np.searchsorted(np.sort(keys), keys).astype(np.int64) + 1


def verdicts(means: Floats, asl: Floats, alpha: float) -> NDArray[np.int8]:
    """For each pair of runs 1 where the first is better, -1 where the second is, 0 where they do not differ.

    They differ where their `asl` [pairs] is below `alpha`; then `means` [runs] tell the better one.
    """
    return np.where(asl < alpha, np.sign(pair_differences(means)), 0).astype(np.int8)
