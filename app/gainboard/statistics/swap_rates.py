"""Swap rates: how often a difference between two runs reverses on other topics, by the size of the difference.

The method is that of Voorhees and Buckley, The effect of topic set size on retrieval experiment error, SIGIR 2002, and
Sakai's stricter count, for which a difference that becomes 0 is a swap too.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.pairs import pair_indices, pair_pieces
from gainboard.statistics.stability import TOLERANCE, count_trials, subset_means, trial_pieces

Counts = NDArray[np.int64]
BINS: Final = 21
BIN_EDGES: Final = tuple(edge / 100 for edge in range(BINS))
"""The lower edge of each bin, which belongs to the bin. A bin ends where the next begins; the last has no end."""


class SwapSensitivity(NamedTuple):
    """The requirements for a sure difference at some swap rate: columns (i) to (iv) of the papers' tables.

    All except `maximum_performance` are NaN if the rate is never reached.
    """

    absolute_difference_required: float
    maximum_performance: float
    relative_difference_required: float
    discrimination_power: float


@dataclass(frozen=True, slots=True, eq=False)
class SwapCounts:
    """Comparisons and swaps by bin, int64 [21]; swaps by pair, int64 [pairs]; the largest mean seen.

    Counts of further trials may be added.
    """

    comparisons: Counts
    swaps: Counts
    by_pair: Counts
    maximum: float

    def __add__(self, other: SwapCounts) -> SwapCounts:
        return SwapCounts(
            self.comparisons + other.comparisons,
            self.swaps + other.swaps,
            self.by_pair + other.by_pair,
            max(self.maximum, other.maximum),
        )

    @property
    def swap_rate(self) -> Floats:
        """The share of swaps among the comparisons of each bin, float64 [21]; NaN for bins without comparisons."""
        return self.swaps / np.where(self.comparisons > 0, self.comparisons, np.nan)

    def sensitivity(self, rate: float = 0.05) -> SwapSensitivity:
        """Return the smallest difference from which no bin with comparisons exceeds a swap rate of `rate`."""
        populated = np.flatnonzero(self.comparisons)
        too_high = np.flatnonzero(self.swap_rate[populated] > rate)
        certain = populated[too_high[-1] + 1 :] if len(too_high) else populated
        if not len(certain):
            return SwapSensitivity(np.nan, self.maximum, np.nan, np.nan)
        difference = BIN_EDGES[certain[0]]
        relative = difference / self.maximum if self.maximum else np.nan
        power = self.comparisons[certain].sum() / self.comparisons.sum()
        return SwapSensitivity(difference, self.maximum, relative, float(power))


def swap_counts(scores: Floats, first: Indices, second: Indices, strict: bool = True) -> SwapCounts:
    """Compare all pairs of runs on two sets of topics in each trial.

    `scores` is float64 [runs, topics] without NaN; `first` and `second` are intp [trials, c]. The first set's
    difference chooses the bin. It is a swap if the second's has the opposite sign or, if `strict`, if only one of them
    is zero.
    """
    return reduce(
        add,
        (
            _compare(subset_means(scores, first[piece]), subset_means(scores, second[piece]), strict)
            for piece in trial_pieces(len(first))
        ),
    )


def _compare(means: Floats, others: Floats, strict: bool) -> SwapCounts:
    runs, trials = means.shape
    x, y = pair_indices(runs)
    by_bin = np.zeros((2, BINS), dtype=np.int64)
    by_pair = np.zeros(len(x), dtype=np.int64)
    for pairs in pair_pieces(runs, trials):
        difference = means[x[pairs]] - means[y[pairs]]
        swapped = _swapped(_signs(difference), _signs(others[x[pairs]] - others[y[pairs]]), strict)
        by_pair[pairs] = count_trials(swapped)
        places = _bins(difference) + BINS * swapped
        by_bin += np.bincount(places.ravel(), minlength=2 * BINS).reshape(2, BINS)
    return SwapCounts(by_bin.sum(axis=0), by_bin[1], by_pair, float(max(means.max(), others.max())))


def _swapped(signs: NDArray[np.int8], others: NDArray[np.int8], strict: bool) -> NDArray[np.bool_]:
    return signs != others if strict else signs * others < 0


def _signs(differences: Floats) -> NDArray[np.int8]:
    return (differences > TOLERANCE).view(np.int8) - (differences < -TOLERANCE).view(np.int8)


def _bins(differences: Floats) -> Indices:
    # The tolerance puts 0.03 into the fourth bin, even if its last bit is too low.
    return np.minimum((np.abs(differences) + TOLERANCE) * 100, BINS - 1).astype(np.intp)
