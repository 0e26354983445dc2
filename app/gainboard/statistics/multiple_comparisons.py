"""Many comparisons at once: corrections of their levels, and groups of runs that do not differ significantly.

Of m true hypotheses, some look false at any level.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices, resample_counts
from gainboard.statistics.means import pair_indices, pieces, round_scores

NEAR = 1e-9
"""The relative rounding error that one side of a comparison may have, if both sides are equal in exact arithmetic."""


def holm(asl: Floats) -> Floats:
    """Return Holm's step-down adjustment: float64 [pairs] in [0, 1], none below its `asl` [pairs].

    A pair without a level, NaN, is none of the comparisons.

    The j-th smallest level is multiplied by m - j + 1, and no result may be below a smaller one (Holm, A simple
    sequentially rejective multiple test procedure, Scandinavian Journal of Statistics, 1979).
    """
    order = np.argsort(asl, kind="stable")[: np.count_nonzero(~np.isnan(asl))]  # NaN sorts last
    factors = np.arange(len(order), 0, -1.0)
    adjusted = np.full_like(asl, np.nan)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * asl[order]))
    return adjusted


def holm_thresholds(asl: Floats, alpha: float) -> Floats:
    """Return the level below which Holm's method calls each pair significant at `alpha`: float64 [pairs].

    A pair is significant by its `holm` level if, and only if, its `asl` is below its threshold. The pairs keep their
    order. No `asl` [pairs] is NaN.
    """
    smaller = np.searchsorted(np.sort(asl), asl)
    thresholds: Floats = alpha / (len(asl) - smaller)
    # From the smallest level that is not significant on, none is: the method stops there.
    thresholds[:] = np.minimum(thresholds, thresholds[asl >= thresholds].min(initial=np.inf))
    return thresholds


def benjamini_hochberg(asl: Floats) -> Floats:
    """Return the step-up adjustment that controls the false discovery rate: float64 [pairs] in [0, 1].

    None is below its `asl` [pairs]. A pair without a level, NaN, is none of the comparisons.

    The expected share of false ones among the pairs whose adjusted level is below alpha is at most alpha, while Holm's
    method and max-T keep the chance of any false one below alpha. The j-th smallest of m levels is multiplied by m / j,
    and no result may be above a larger one (Benjamini and Hochberg, Controlling the false discovery rate, Journal of
    the Royal Statistical Society B 57, 1995). It holds for levels that are independent or positively dependent in their
    sense; all pairs of runs are not known to be (Benjamini and Yekutieli, The control of the false discovery rate in
    multiple testing under dependency, Annals of Statistics 29, 2001).
    """
    order = np.argsort(asl, kind="stable")[: np.count_nonzero(~np.isnan(asl))]  # NaN sorts last
    factors = len(order) / np.arange(1.0, len(order) + 1)
    adjusted = np.full_like(asl, np.nan)
    adjusted[order] = np.minimum.accumulate(np.minimum(1.0, factors * asl[order])[::-1])[::-1]
    return adjusted


def levels_above_zero(shares: Floats, resamples: int) -> Floats:
    """Return (1 + count) / (B + 1) for levels that are `shares`, count / B, of B `resamples`: float64 [pairs].

    A level of 0 stays 0 whatever a correction multiplies it with, and would make a pair significant that no number of
    resamples could tell (Phipson and Smyth, Permutation p-values should never be zero, 2010).
    """
    levels: Floats = (1 + np.rint(shares * resamples)) / (1 + resamples)
    return levels


def max_t(
    observed: Floats, largest: Floats, infinite_counts: NDArray[np.int32], infinite_resamples: NDArray[np.int32]
) -> Floats:
    """Return the single-step max-T adjustment: float64 [pairs] in (0, 1], (1 + count) / (1 + resamples).

    A pair's count is of the resamples in which its own t is infinite, or the largest finite t of all pairs
    reaches the pair's `observed` t [pairs] (Westfall and Young, Resampling-based multiple testing, 1993). `largest`
    [resamples] is that largest finite t. `infinite_resamples` lists, pair after pair, the resamples in which a pair's
    own t is infinite; those whose `largest` is sufficient may be left out. `infinite_counts` [pairs] is the length of
    each pair's list.

    An infinite t counts only for its own pair. Two runs that differ on only one topic have one in every resample
    without that topic, which is a third of all. If it counted for every pair, one near-duplicate run would leave no
    difference significant.
    """
    needed = observed * (1 - NEAR)
    reached = len(largest) - np.searchsorted(np.sort(largest), needed, side="left")
    pairs = np.repeat(np.arange(len(observed)), infinite_counts)
    # resamples whose largest finite t is sufficient are counted already
    infinite_alone = pairs[largest[infinite_resamples] < needed[pairs]]
    adjusted: Floats = (1 + reached + np.bincount(infinite_alone, minlength=len(observed))) / (1 + len(largest))
    return adjusted


def needed_resamples(pairs: int, alpha: float) -> int:
    """Return the smallest B with which one of `pairs` can be significant at `alpha` after Holm's correction.

    The least level is 1 / (B + 1), and the first factor is the number of pairs: B + 1 > `pairs` / `alpha`.
    """
    # Where the quotient is whole, a rounding error must not make it one too small.
    return max(1, math.floor(pairs / alpha + NEAR))


def differing_pairs(asl: Floats, runs: int, alpha: float) -> NDArray[np.bool_]:
    """Return which runs differ: bool [runs, runs], true where the `asl` [pairs] of two runs is below `alpha`."""
    differs = np.zeros((runs, runs), bool)
    first, second = pair_indices(runs)
    differs[first, second] = differs[second, first] = asl < alpha
    return differs


def significance_groups(means: Floats, differs: NDArray[np.bool_]) -> list[tuple[str, ...]]:
    """Return the letters of each run's groups: a, b, ..., z, aa, ab, ... with the best mean's groups first.

    A group is a set of neighbours by `means` [runs] of which no two differ (`differs` [runs, runs]), and which no
    further neighbour could join. Every run is in at least one group. If a larger difference of means is never less
    significant, these are all maximal sets of runs that are not told apart. Under other tests there may be more.
    """
    order = np.argsort(-means, kind="stable")
    letters: list[list[str]] = [[] for _ in means]
    runs = order.tolist()
    for number, (first, last) in enumerate(_maximal_intervals(differs[np.ix_(order, order)])):
        letter = _letter(number)
        for run in runs[first : last + 1]:
            letters[run].append(letter)
    return [tuple(of_run) for of_run in letters]


def _maximal_intervals(differs: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """Return the first and last index of each maximal interval within which nothing `differs`."""
    intervals: list[tuple[int, int]] = []
    first, indexes = 0, np.arange(len(differs))
    is_before = indexes[:, np.newaxis] < indexes
    # The last of those before each one from which it differs, or -1.
    conflicts = np.where(differs & is_before, indexes[:, np.newaxis], -1).max(axis=0, initial=-1)
    for last, conflict in enumerate(conflicts.tolist()):
        if conflict >= first:
            intervals.append((first, last - 1))
            first = conflict + 1
    return [*intervals, (first, len(differs) - 1)] if len(differs) else []


def _letter(number: int) -> str:
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]


@dataclass(frozen=True)
class DifferenceGroups:
    """The groups and the rank sets of runs of which two differ if their means do by more than a critical difference.

    They are those of `significance_groups` and `rank_sets`, without a look at each pair. `letters` has those of all
    groups. `groups` int64 [runs, 2] are the places in it of the first and of the last group of each run, and
    `rank_sets` int64 [runs, 2] the best and the worst rank. `different_pairs` is their number.
    """

    letters: list[str]
    groups: NDArray[np.int64]
    rank_sets: NDArray[np.int64]
    different_pairs: int

    @classmethod
    def of(cls, means: Floats, critical: float) -> DifferenceGroups:
        """Return the groups of runs with these `means`, float64 [runs]. `critical` may be infinite."""
        order, places = np.argsort(-means, kind="stable"), np.arange(len(means))
        ordered = -means[order]
        # Sums round otherwise than the differences that decide, so that a neighbour may be wrong.
        last = np.searchsorted(ordered, ordered + critical, side="right") - 1
        while (is_short := ordered[np.minimum(last + 1, places[-1:])] - ordered <= critical)[last < places[-1]].any():
            last += is_short & (last < places[-1])
        while (is_long := ordered[last] - ordered > critical).any():
            last -= is_long
        first = np.searchsorted(last, places)
        # A group begins with each run that reaches further than the run before.
        starts = np.flatnonzero(np.diff(last, prepend=-1))
        groups, rank_sets = np.empty((2, len(means), 2), np.int64)
        groups[order] = np.stack(
            (np.searchsorted(last[starts], places), np.searchsorted(starts, places, side="right") - 1), axis=1
        )
        rank_sets[order] = np.stack((first + 1, last + 1), axis=1)
        different = len(means) * (len(means) - 1) // 2 - int((last - places).sum())
        return cls(list(map(_letter, range(len(starts)))), groups, rank_sets, different)

    def letters_of(self, run: int) -> tuple[str, ...]:
        """Return the letters of a run."""
        first, last = self.groups[run].tolist()
        return tuple(self.letters[first : last + 1])


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
        means = round_scores(resample_counts(resamples[part], topics) @ scores.T / topics)
        better, reached = np.empty((2, *means.shape), np.intp)  # the better runs, and those at least as good
        for row, keys in enumerate(-means):
            ordered = np.sort(keys)
            better[row], reached[row] = (np.searchsorted(ordered, keys, side) for side in ("left", "right"))
        ranks[part] = better + 1
        # runs with equal means share their ranks, and the first rank, equally
        expected += ((better + 1 + reached) / 2).sum(axis=0)
        first += np.where(better == 0, 1 / reached, 0.0).sum(axis=0)
    low, high = np.percentile(ranks, SHARES, axis=0, method="inverted_cdf").astype(np.int64)
    return ResampledRanks(low, high, expected / len(resamples), first / len(resamples))


def rank_sets(means: Floats, differs: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the best and the worst rank that each run may have: int64 [runs, 2].

    They are 1 + the number of runs that are significantly better, and the number of runs less those significantly
    worse. `means` is float64 [runs], and `differs` [runs, runs] says which runs differ. If the test holds for all pairs
    together at a level, the sets of all runs hold together with a confidence of at least 1 - level (Al Mohamad, Goeman
    and van Zwet, Simultaneous confidence intervals for ranks, Biometrics 78, 2022).
    """
    is_better = differs & (means > means[:, np.newaxis])
    better, worse = is_better.sum(axis=1), is_better.sum(axis=0)
    return np.stack((better + 1, len(means) - worse), axis=1).astype(np.int64)
