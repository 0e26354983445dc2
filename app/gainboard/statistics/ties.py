"""What counts as a tie between runs, for everything that ranks them by their means."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats


def rounded(means: Floats) -> Floats:
    """The means to 12 decimals: equal ones are ties.

    Sums of the same numbers in another order differ in their last bits; compared as they are, about half of the
    true ties of a metric such as P@10 would go unseen.
    """
    return np.asarray(np.round(means, 12))


def tied_pairs(means: Floats) -> NDArray[np.int64]:
    """The number of pairs of runs that each metric ties: int64 [metrics] from float64 [metrics, runs]."""
    groups = [np.unique(row, return_counts=True)[1] for row in rounded(means)]
    return np.array([(size * (size - 1) // 2).sum() for size in groups], dtype=np.int64)
