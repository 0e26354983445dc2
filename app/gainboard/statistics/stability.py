"""Stability: how often topic subsets disagree about a pair of runs, and how often they cannot tell them apart.

After Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000, as Sakai uses it. Swap rates count
their trials with the same means over subsets.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices, resample_counts
from gainboard.statistics.pairs import pair_indices, pair_pieces, pieces

TOLERANCE: Final = 1e-9
"""Differences of means up to it are none: sums of tenths or hundredths are off by their last bits."""
_TRIALS = 255
"""As many trials as `count_trials` can count in a byte."""
Counts = NDArray[np.int64]
_LEAST_MEAN = 1e-300
"""Keeps quotients finite where all means are 0; such pairs are ties before any quotient is looked at."""


def trial_pieces(trials: int) -> Iterator[slice]:
    """Return slices of the trials, each short enough for `count_trials`."""
    return pieces(slice(0, trials), _TRIALS)


def subset_means(scores: Floats, subsets: Indices) -> Floats:
    """Return each run's mean over each subset: float64 [runs, trials] from [runs, topics] and intp [trials, c]."""
    means: Floats = scores @ resample_counts(subsets, scores.shape[1]).T / subsets.shape[1]
    return means


def count_trials(happened: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Count in how many trials it happened: uint8 [pairs] from bool [pairs, trials], at most 255 trials at a time.

    Bytes are added thirty-two at a time, where NumPy's own count would first widen each to eight.
    """
    counts: NDArray[np.uint8] = np.add.reduce(happened.view(np.uint8), axis=1, dtype=np.uint8)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class StabilityCounts:
    """In how many trials each pair came out how, int64 [fuzziness, pairs]; counts of further trials may be added."""

    greater: Counts
    less: Counts
    trials: int

    def __add__(self, other: StabilityCounts) -> StabilityCounts:
        return StabilityCounts(self.greater + other.greater, self.less + other.less, self.trials + other.trials)

    @property
    def equal(self) -> Counts:
        """In how many trials the two runs were not told apart."""
        return self.trials - self.greater - self.less

    @property
    def minority(self) -> Counts:
        """In how many trials the pair came out the rarer way round."""
        return np.minimum(self.greater, self.less)

    @property
    def minority_rate(self) -> Floats:
        """The share of the rarer way round among all comparisons, float64 [fuzziness]; NaN without any."""
        return np.asarray(self.minority.sum(axis=1) / self._comparisons)

    @property
    def proportion_of_ties(self) -> Floats:
        """The share of comparisons that do not tell the runs apart, float64 [fuzziness]; NaN without any."""
        return np.asarray(self.equal.sum(axis=1) / self._comparisons)

    @property
    def _comparisons(self) -> float:
        return self.trials * self.greater.shape[1] or np.nan


def stability_counts(scores: Floats, subsets: Indices, fuzziness: Sequence[float]) -> StabilityCounts:
    """Compare all pairs of runs on each subset of the topics, at each fuzziness.

    `scores` float64 [runs, topics] of at least 0, without NaN; `subsets` intp [trials, c]. Two means are told apart
    if they differ by more than the tolerance, and by no less than the fuzziness times the larger one of them.
    """
    return reduce(
        add, (_compare(subset_means(scores, subsets[piece]), fuzziness) for piece in trial_pieces(len(subsets)))
    )


def _compare(means: Floats, fuzziness: Sequence[float]) -> StabilityCounts:
    runs, trials = means.shape
    first, second = pair_indices(runs)
    greater, less = np.zeros((2, len(fuzziness), len(first)), dtype=np.int64)
    for pairs in pair_pieces(runs, trials):
        limit = _tie_limit(means[first[pairs]], means[second[pairs]])
        for row, fuzzy in enumerate(fuzziness):
            greater[row, pairs] = count_trials(limit >= fuzzy)
            less[row, pairs] = count_trials(limit <= -fuzzy)
    return StabilityCounts(greater, less, trials)


def _tie_limit(x: Floats, y: Floats) -> Floats:
    """The fuzziness beyond which x and y are a tie, with the sign of x - y; NaN if they are one at any fuzziness.

    This is |x - y| < f * max - tolerance solved for f, so that one quotient serves every fuzziness.
    """
    difference = x - y
    size = np.abs(difference)
    limit = np.copysign((size + TOLERANCE) / np.maximum(np.maximum(x, y), _LEAST_MEAN), difference)
    limit[size <= TOLERANCE] = np.nan
    return limit


class TiesAtRate(NamedTuple):
    """The proportion of ties at some minority rate, NaN if all rates are above it.

    `crossed` is false if the curve never passes that rate; the proportion is then that of the smallest fuzziness.
    """

    proportion: float
    crossed: bool


def ties_at(minority_rate: Floats, proportion_of_ties: Floats, rate: float = 0.05) -> TiesAtRate:
    """Return the proportion of ties where the curve comes down to `rate`, linear in the minority rate between points.

    Both are float64 [fuzziness] in increasing order of fuzziness, along which the minority rate cannot rise.
    """
    reached = np.flatnonzero(minority_rate <= rate)
    if not len(reached):
        return TiesAtRate(np.nan, False)
    after = reached[0]
    if after == 0:
        return TiesAtRate(float(proportion_of_ties[0]), bool(minority_rate[0] == rate))
    low, high = minority_rate[after], minority_rate[after - 1]
    share = (high - rate) / (high - low)
    return TiesAtRate(float(proportion_of_ties[after - 1] + share * np.diff(proportion_of_ties)[after - 1]), True)
