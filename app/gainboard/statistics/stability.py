"""Stability and swap rates: how often other topics disagree about a pair of runs, tie it, or reverse its difference.

Stability is by Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000, as Sakai uses it. Swap rates
are by Voorhees and Buckley, The effect of topic set size on retrieval experiment error, SIGIR 2002, with Sakai's
stricter count, for which a difference that becomes 0 is a swap too. Both count trials with the same means over subsets.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices, resample_counts
from gainboard.statistics.means import pair_indices, pair_pieces, pieces

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
    first, second = pair_indices(len(scores), pairs)
    greater, less = np.zeros((2, len(fuzziness), len(first)), dtype=np.int64)
    for trials in trial_pieces(len(subsets)):
        means = subset_means(scores, subsets[trials])
        for piece in pair_pieces(len(means), means.shape[1], pairs):
            x, y = means[first[piece]], means[second[piece]]
            difference = x - y
            size = np.abs(difference)
            # The fuzziness beyond which x and y are tied, with the sign of x - y: |x - y| < f * max - tolerance solved
            # for f, so one quotient serves every fuzziness.
            limit = np.copysign((size + TOLERANCE) / np.maximum(np.maximum(x, y), _LEAST_MEAN), difference)
            limit[size <= TOLERANCE] = np.nan
            for row, fuzzy in enumerate(fuzziness):
                greater[row, piece] += count_trials(limit >= fuzzy)
                less[row, piece] += count_trials(limit <= -fuzzy)
    return StabilityCounts(greater, less, len(subsets))


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


BINS: Final = 21
BIN_EDGES: Final = tuple(edge / 100 for edge in range(BINS))
"""The lower edge of each bin, which belongs to the bin. A bin ends where the next begins; the last has no end."""
SURE_RATE: Final = 0.05
"""The highest swap rate at which the direction of a difference is sure."""
LEAST_COMPARISONS: Final = 100
"""The least number of comparisons with which a bin decides anything: the rate of a sparse bin is an accident."""

Rule = Literal["first", "pooled", "isotonic", "all-higher"]
"""A way to read off the bin whose lower edge is the difference required.

- `first`: the first bin whose swap rate is at most 5 %, as one reads it off a curve.
- `pooled`: the first bin from which on at most 5 % of all comparisons, counted together, are swaps.
- `isotonic`: the first bin at most at 5 % after the rates are made non-increasing (`isotonic_rates`).
- `all-higher`: the first bin from which on no bin with comparisons exceeds 5 %. Sparse bins count here, so that the
  results of earlier versions can be compared.
"""
RULES: Final[tuple[Rule, ...]] = get_args(Rule)


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

    @property
    def decides(self) -> NDArray[np.bool_]:
        """The bins that have enough comparisons to decide anything, bool [21]."""
        return self.comparisons >= LEAST_COMPARISONS

    def exceptions(self, above: int, rate: float = SURE_RATE) -> Indices:
        """Return the bins above the bin `above` whose swap rate exceeds `rate`, sparse or not: intp [exceptions]."""
        return above + 1 + np.flatnonzero(self.swap_rate[above + 1 :] > rate)

    def deciding_bin(self, rule: Rule, rate: float = SURE_RATE) -> int | None:
        """Return the bin from which on a difference is sure by this rule; None if no bin is.

        A bin with fewer than `LEAST_COMPARISONS` is never returned, except by `all-higher`.
        """
        sure = np.flatnonzero(_SURE_BINS[rule](self, rate))
        return int(sure[0]) if len(sure) else None

    def sensitivity(self, rule: Rule = "first", rate: float = SURE_RATE) -> SwapSensitivity:
        """Return the columns that follow from the bin that decides by this rule (Sakai, AIRS 2005, Tables 2 and 3)."""
        deciding = self.deciding_bin(rule, rate)
        if deciding is None:
            return SwapSensitivity(np.nan, self.maximum, np.nan, np.nan)
        difference = BIN_EDGES[deciding]
        relative = difference / self.maximum if self.maximum else np.nan
        power = self.comparisons[deciding:].sum() / self.comparisons.sum()
        return SwapSensitivity(difference, self.maximum, relative, float(power))


def _sure_first(counts: SwapCounts, rate: float) -> NDArray[np.bool_]:
    return counts.decides & (counts.swap_rate <= rate)


def _sure_pooled(counts: SwapCounts, rate: float) -> NDArray[np.bool_]:
    comparisons, swaps = (np.cumsum(counted[::-1])[::-1] for counted in (counts.comparisons, counts.swaps))
    return counts.decides & (swaps / np.maximum(comparisons, 1) <= rate)


def _sure_isotonic(counts: SwapCounts, rate: float) -> NDArray[np.bool_]:
    decides = counts.decides
    sure = np.zeros(BINS, dtype=np.bool_)
    sure[decides] = isotonic_rates(counts.swaps[decides], counts.comparisons[decides]) <= rate
    return sure


def _sure_all_higher(counts: SwapCounts, rate: float) -> NDArray[np.bool_]:
    too_high = counts.swap_rate > rate
    return (counts.comparisons > 0) & ~np.logical_or.accumulate(too_high[::-1])[::-1]


_SURE_BINS: Final[Mapping[Rule, Callable[[SwapCounts, float], NDArray[np.bool_]]]] = {
    "first": _sure_first,
    "pooled": _sure_pooled,
    "isotonic": _sure_isotonic,
    "all-higher": _sure_all_higher,
}
"""The bins that are sure by each rule, bool [21]; the first of them decides."""


def isotonic_rates(swaps: Counts, comparisons: Counts) -> Floats:
    """Return the non-increasing rates closest to those of the bins, weighted by comparisons: float64 [bins].

    `swaps` and `comparisons` are int64 [bins], and every bin has comparisons. Neighbours whose rates rise are pooled
    until none do (pool-adjacent-violators; Ayer, Brunk, Ewing, Reid and Silverman, Annals of Mathematical Statistics
    26, 1955). Rates of blocks are quotients of whole numbers, so that 5 % is met exactly.
    """
    blocks: list[tuple[int, int, int]] = []
    for swapped, compared in zip(swaps.tolist(), comparisons.tolist(), strict=True):
        block = (swapped, compared, 1)
        # a quotient of whole numbers rises: s/n > t/m is s*m > t*n
        while blocks and block[0] * blocks[-1][1] > blocks[-1][0] * block[1]:
            before = blocks.pop()
            block = (before[0] + block[0], before[1] + block[1], before[2] + block[2])
        blocks.append(block)
    rates = [swapped / compared for swapped, compared, _ in blocks]
    return np.repeat(np.array(rates, dtype=np.float64), [size for *_, size in blocks])


def swap_counts(
    scores: Floats, first: Indices, second: Indices, strict: bool = True, pairs: slice = slice(None)
) -> SwapCounts:
    """Compare pairs of runs, by default all, on two sets of topics in each trial.

    `scores` is float64 [runs, topics] without NaN; `first` and `second` are intp [trials, c]. The first set's
    difference chooses the bin. It is a swap if the second's has the opposite sign or, if `strict`, if only one of them
    is zero.
    """
    x, y = pair_indices(len(scores), pairs)
    by_bin, by_pair = np.zeros((2, BINS), dtype=np.int64), np.zeros(len(x), dtype=np.int64)
    maximum = -math.inf
    for trials in trial_pieces(len(first)):
        means, others = (subset_means(scores, subsets[trials]) for subsets in (first, second))
        maximum = max(maximum, float(means.max()), float(others.max()))
        for piece in pair_pieces(len(means), means.shape[1], pairs):
            difference, other = (values.take(x[piece], axis=0) for values in (means, others))
            difference -= means.take(y[piece], axis=0)
            other -= others.take(y[piece], axis=0)
            signs, other_signs = _signs(difference), _signs(other)
            swapped = signs != other_signs if strict else signs * other_signs < 0
            by_pair[piece] += count_trials(swapped)
            scaled = np.abs(difference, out=difference)
            # The tolerance puts 0.03 into the fourth bin, even if its last bit is too low.
            scaled += TOLERANCE
            scaled *= 100
            # `np.clip` with single numbers is faster than `np.minimum`.
            bins = np.clip(scaled, 0, BINS - 1, out=scaled).astype(np.int8)
            # The bins of swaps are apart, so that one count serves both.
            bins += np.multiply(swapped, BINS, dtype=np.int8)
            by_bin += np.bincount(bins.ravel(), minlength=2 * BINS).reshape(2, BINS)
    return SwapCounts(by_bin.sum(axis=0), by_bin[1], by_pair, maximum)


def _signs(differences: Floats) -> NDArray[np.int8]:
    # NumPy does not subtract booleans, and a view as integers needs no copy.
    return (differences > TOLERANCE).view(np.int8) - (differences < -TOLERANCE).view(np.int8)
