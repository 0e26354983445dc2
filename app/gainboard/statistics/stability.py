"""Stability: how often topic subsets disagree about a pair of runs, and how often they tie it.

The method is that of Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000, as Sakai uses it. Swap
rates count their trials with the same means over subsets.
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
"""Differences of means up to this count as none: sums of tenths or hundredths have errors in their last bits."""
_TRIALS = 255
"""The most trials that `count_trials` can count in a byte."""
Counts = NDArray[np.int64]
_LEAST_MEAN = 1e-300
"""Keeps quotients finite if all means are 0. Such pairs are found to be ties before any quotient is used."""


def trial_pieces(trials: int) -> Iterator[slice]:
    """Return slices of the trials, each short enough for `count_trials`."""
    return pieces(slice(0, trials), _TRIALS)


def subset_means(scores: Floats, subsets: Indices) -> Floats:
    """Return each run's mean over each subset: float64 [runs, trials] from [runs, topics] and intp [trials, c]."""
    means: Floats = scores @ resample_counts(subsets, scores.shape[1]).T / subsets.shape[1]
    return means


def count_trials(happened: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """Count in how many trials it happened: uint8 [pairs] from bool [pairs, trials], at most 255 trials at a time.

    Thirty-two bytes are added at a time. NumPy's own count would first widen each byte to eight.
    """
    counts: NDArray[np.uint8] = np.add.reduce(happened.view(np.uint8), axis=1, dtype=np.uint8)
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class StabilityCounts:
    """The number of trials with each outcome for each pair, int64 [fuzziness, pairs].

    Counts of further trials may be added.
    """

    greater: Counts
    less: Counts
    trials: int

    def __add__(self, other: StabilityCounts) -> StabilityCounts:
        return StabilityCounts(self.greater + other.greater, self.less + other.less, self.trials + other.trials)

    @property
    def equal(self) -> Counts:
        """The number of trials in which the two runs were tied."""
        return self.trials - self.greater - self.less

    @property
    def minority(self) -> Counts:
        """The number of trials with the rarer of the pair's two orders."""
        return np.minimum(self.greater, self.less)

    @property
    def minority_rate(self) -> Floats:
        """The share of the rarer order among all comparisons, float64 [fuzziness]; NaN without any comparison."""
        return np.asarray(self.minority.sum(axis=1) / self._comparisons)

    @property
    def proportion_of_ties(self) -> Floats:
        """The share of comparisons that tie the runs, float64 [fuzziness]; NaN without any comparison."""
        return np.asarray(self.equal.sum(axis=1) / self._comparisons)

    @property
    def _comparisons(self) -> float:
        return self.trials * self.greater.shape[1] or np.nan


def stability_counts(
    scores: Floats, subsets: Indices, fuzziness: Sequence[float], pairs: slice = slice(None)
) -> StabilityCounts:
    """Compare pairs of runs, by default all, on each subset of the topics, at each fuzziness.

    `scores` float64 [runs, topics] is at least 0, without NaN; `subsets` is intp [trials, c]. Two means are not tied if
    they differ by more than the tolerance, and by at least the fuzziness times the larger mean.
    """
    means = (subset_means(scores, subsets[piece]) for piece in trial_pieces(len(subsets)))
    return reduce(add, (_compare(each, fuzziness, pairs) for each in means))


def _compare(means: Floats, fuzziness: Sequence[float], pairs: slice) -> StabilityCounts:
    runs, trials = means.shape
    first, second = pair_indices(runs, pairs)
    greater, less = np.zeros((2, len(fuzziness), len(first)), dtype=np.int64)
    for piece in pair_pieces(runs, trials, pairs):
        limit = _tie_limit(means[first[piece]], means[second[piece]])
        for row, fuzzy in enumerate(fuzziness):
            greater[row, piece] = count_trials(limit >= fuzzy)
            less[row, piece] = count_trials(limit <= -fuzzy)
    return StabilityCounts(greater, less, trials)


def _tie_limit(x: Floats, y: Floats) -> Floats:
    """Return the fuzziness beyond which x and y are tied, with the sign of x - y; NaN if they are always tied.

    This is |x - y| < f * max - tolerance solved for f, so one quotient serves every fuzziness.
    """
    difference = x - y
    size = np.abs(difference)
    limit = np.copysign((size + TOLERANCE) / np.maximum(np.maximum(x, y), _LEAST_MEAN), difference)
    limit[size <= TOLERANCE] = np.nan
    return limit


class TiesAtRate(NamedTuple):
    """The proportion of ties at some minority rate, NaN if all rates are above it.

    `crossed` is false if the curve never passes that rate. The proportion is then that of the smallest fuzziness.
    """

    proportion: float
    crossed: bool


def ties_at(minority_rate: Floats, proportion_of_ties: Floats, rate: float = 0.05) -> TiesAtRate:
    """Return the proportion of ties where the curve falls to `rate`, interpolated linearly in the minority rate.

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


def shared_rate(minority_rates: Floats, rate: float = 0.05) -> float:
    """Return the minority rate at which most curves can be compared, and among these the one nearest to `rate`.

    `minority_rates` is float64 [curves, fuzziness] in increasing order of fuzziness, along which no rate rises. A curve
    has every rate between its first and its last one. If some rate is on all curves, all can be compared at the result.
    """
    highest, lowest = minority_rates[:, 0], minority_rates[:, -1]
    candidates = np.unique(np.concatenate([[rate], highest, lowest]))
    on_curve = (lowest <= candidates[:, np.newaxis]) & (candidates[:, np.newaxis] <= highest)
    curves = on_curve.sum(axis=1)
    best = candidates[curves == curves.max()]
    return float(best[np.argmin(np.abs(best - rate))])
