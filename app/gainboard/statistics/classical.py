"""The classical tests, as in SciPy, and randomisation tests, for all pairs at once.

Fisher's randomisation test flips the signs of a pair's differences, Tukey's HSD permutes the runs of a topic.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Draws, Floats, Indices
from gainboard.statistics.means import (
    NUMBERS_AT_ONCE,
    TINY,
    Effects,
    midranks,
    numbers_of_block,
    pair_count,
    pair_differences,
    pieces,
    residual_effects,
    round_scores,
    unit_of,
)
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.significance import (
    Outcome,
    PairedTest,
    PairwiseTest,
    SignificanceSettings,
    SignificanceTest,
    join_fields,
    register_test,
)

MOST_EXACT = 200
"""The most differences that are not 0 for which Wilcoxon's test uses the exact distribution of the signed ranks."""


def t_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the paired t-test on `differences` [pairs, topics]: float64 [pairs]."""
    return _levels_of_t(differences.mean(axis=1), differences.std(axis=1, ddof=1), differences.shape[1])


def reproduced_scores(original: Floats, reproduced: Floats, is_paired: bool) -> dict[str, Any]:
    """Return what is left of scores, float64 [topics] each, by name; NaN where it is undefined.

    `change` is that of the mean, as a share. `rmse` is by topic, so scores must be paired, and `nrmse` is its share of
    the error of scores at the farther end of [0, 1] (Breuer et al., SIGIR 2020). `asl` is by Student's t-test.
    """
    if min(topics := (len(original), len(reproduced))) < 2:
        return {"means": (np.nan, np.nan)} | dict.fromkeys(("change", "rmse", "nrmse", "asl"), np.nan)
    mean, again = float(original.mean()), float(reproduced.mean())
    unit, error, largest = unit_of(np.append(original, reproduced)), np.nan, np.nan
    if is_paired:
        error = np.sqrt(np.square(original - reproduced).mean())
        if original.min() >= 0 and original.max() <= 1:
            largest = np.sqrt(np.square(np.maximum(original, 1 - original)).mean())
        asl = t_levels((reproduced - original)[np.newaxis] / unit)[0]
    else:
        squares = topics[0] * original.var() + topics[1] * reproduced.var()
        # As of one sample of n differences, which has as many degrees of freedom.
        n = sum(topics) - 1
        spread = np.sqrt(squares / (n - 1) * (1 / topics[0] + 1 / topics[1]) * n)
        asl = _levels_of_t(np.asarray(again - mean) / unit, spread / unit, n)
    change = (again - mean) / abs(mean) if abs(mean) > TINY * unit else np.nan
    return {"means": (mean, again), "change": change, "rmse": error, "nrmse": error / largest, "asl": float(asl)}


def deciding_topics(differences: Floats, alpha: float) -> Indices:
    """Return the topics on which the significance of a mean difference depends: intp [deciding].

    `differences` is float64 [topics], at least two. Topics are taken away one by one, those that contribute most to the
    mean difference first, until the paired t-test over the others has a level of at least `alpha`, or fewer than two
    are left. The result is the topics taken away, in this order. It is empty if the difference is not significant.
    """
    # Rounded, so that rounding errors do not decide which of several topics with equal differences goes first.
    contributed = round_scores(differences) * np.sign(differences.mean())
    order = np.argsort(-contributed, kind="stable")
    # From the last topic to be taken away: then a running mean is that of the topics that are left, and the squares are
    # summed about it. The recurrence is that of Welford (Note on a method for calculating corrected sums of squares
    # and products, Technometrics 4, 1962): differences of sums would lose the spread of values that are almost equal.
    means, squares = np.empty((2, len(order)))
    mean = square = 0.0
    for index, value in enumerate(differences[order[::-1]].tolist()):
        before = value - mean
        mean += before / (index + 1)
        square += before * (value - mean)
        means[index], squares[index] = mean, square
    topics = np.arange(2, len(order) + 1)
    lost = topics[_levels_of_t(means[1:], np.sqrt(squares[1:] / (topics - 1)), topics) >= alpha]
    return order[: len(order) - max(lost, default=1)]


def pivotal_topics(differences: Floats, alphas: Floats) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the topics that decide alone, because without them the others say something else.

    `differences` is float64 [pairs, topics] with at least three topics, and `alphas` [pairs]. The first result, bool
    [pairs, topics], is true if the mean difference of the other topics has not the sign of the mean of all. The second
    is true if the levels of the paired t-test with and without the topic are on different sides of the pair's alpha.
    Without a mean difference, there is no sign to lose.
    """
    topics = differences.shape[1]
    mean = differences.mean(axis=1, keepdims=True)
    centred = differences - mean
    means = round_scores(mean - centred / (topics - 1))
    total = (centred**2).sum(axis=1, keepdims=True)
    squares = np.maximum(total - centred**2 * (topics / (topics - 1)), 0.0)
    sign = np.sign(round_scores(mean))
    # Of a sum, a remainder this small is its rounding error.
    spreads = np.sqrt(np.where(squares > TINY * total, squares, 0.0) / (topics - 2))
    is_significant = _levels_of_t(means, spreads, topics - 1) < alphas[:, np.newaxis]
    return (np.sign(means) != sign) & (sign != 0), is_significant != (t_levels(differences) < alphas)[:, np.newaxis]


def _levels_of_t(means: Floats, spreads: Floats, topics: int | NDArray[np.int64]) -> Floats:
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr  # noqa: PLC0415

    mean = np.abs(means)
    t = np.where(spreads > TINY, mean / np.maximum(spreads, TINY) * np.sqrt(topics), np.inf)
    levels: Floats = np.where(mean > TINY, 2 * stdtr(topics - 1, -t), 1.0)
    return levels


def sign_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the exact sign test on `differences` [pairs, topics]: float64 [pairs]."""
    # SciPy is imported late here, too, because of its time.
    from scipy.special import bdtr  # noqa: PLC0415

    above, below = (np.count_nonzero(side, axis=1) for side in (differences > 0, differences < 0))
    levels: Floats = np.minimum(1.0, 2 * bdtr(np.minimum(above, below).astype(np.float64), above + below, 0.5))
    return levels


def wilcoxon_levels(differences: Floats) -> Floats:
    """Return two-sided levels of the signed-rank test on `differences` [pairs, topics]: float64 [pairs].

    Zeros are left out. With at most `MOST_EXACT` others, the level is exact, with ties, too: it is the share of all
    ways to give the ranks signs. With more, it is that of the normal approximation, with its variance corrected for
    ties.
    """
    is_zero = differences == 0
    zeros = is_zero.sum(axis=1, keepdims=True)
    # Midranks are halves. The doubled ones are whole numbers, and zeros have rank 0.
    ranks = np.where(is_zero, 0, np.rint(2 * (midranks(np.abs(differences)) - zeros))).astype(np.int64)
    positive = np.where(differences > 0, ranks, 0).sum(axis=1)
    is_exact = differences.shape[1] - zeros[:, 0] <= MOST_EXACT
    levels = np.empty(len(differences))
    levels[is_exact] = _exact_levels(ranks[is_exact], positive[is_exact])
    # SciPy is imported late here, too, because of its time.
    from scipy.special import ndtr  # noqa: PLC0415

    # Given the ranks, the variance of their sum under random signs is a quarter of the sum of their squares. This is
    # what the usual correction for ties amounts to. Both are of doubled ranks.
    ranks, positive = ranks[~is_exact], positive[~is_exact]
    spread = np.sqrt((ranks.astype(np.float64) ** 2).sum(axis=1)) / 2
    levels[~is_exact] = 2 * ndtr(-np.abs(positive - ranks.sum(axis=1) / 2) / spread)
    return levels


def _exact_levels(ranks: NDArray[np.int64], positive: NDArray[np.int64]) -> Floats:
    """Return exact levels from doubled ranks [pairs, topics] and the sums of positive ones [pairs]: float64 [pairs]."""
    smaller = np.minimum(positive, ranks.sum(axis=1) - positive)
    # Pairs with the same ranks share a distribution: without ties, all that have as many differences.
    patterns, pattern_of = np.unique(np.sort(ranks, axis=1), axis=0, return_inverse=True)
    order = np.argsort(pattern_of, kind="stable")
    begins = np.searchsorted(pattern_of[order], np.arange(len(patterns) + 1))
    levels = np.empty(len(ranks))
    for number, pattern in enumerate(patterns):
        pairs = order[begins[number] : begins[number + 1]]
        positive_ranks = pattern[pattern > 0]
        unit = int(np.gcd.reduce(positive_ranks)) or 1
        levels[pairs] = 2 * _shares_up_to(positive_ranks // unit)[smaller[pairs] // unit]
    return np.minimum(1.0, levels)


def _shares_up_to(ranks: NDArray[np.int64]) -> Floats:
    """Return for each sum the share of all subsets of the `ranks` that have at most this sum: float64 [sums]."""
    counts = np.zeros(int(ranks.sum()) + 1)
    counts[0], reached = 1.0, 1
    for rank in ranks.tolist():
        # With the rank, each sum is larger by it. Numbers of subsets are at most 2 ** `MOST_EXACT`.
        counts[rank : reached + rank] += counts[:reached].copy()
        reached += rank
    return np.cumsum(counts) / 2.0 ** len(ranks)


class ClassicalTest(PairwiseTest, PairedTest):
    """A test that uses a known distribution, and draws nothing."""

    @abstractmethod
    def levels(self, differences: Floats) -> Floats:
        """Return levels, float64 [pairs], from differences [pairs, topics]."""

    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        parts = pieces(pairs, NUMBERS_AT_ONCE // 4 // scores.shape[1])
        return join_fields([{"asl": self.levels(pair_differences(scores, part))} for part in parts])

    def decide_differences(self, differences: Floats, settings: SignificanceSettings) -> Outcome:
        return Outcome(asl=self.levels(differences))


@register_test
class TTest(ClassicalTest):
    """Student's paired t-test: is the mean of the differences 0, if they are normal?

    Differences that are all equal and not 0 have a level of 0. Differences that are all 0 have a level of 1.
    """

    name = "t-test"
    title = "Paired t-test"
    may_understate = True
    reference = "Student, The probable error of a mean, Biometrika 6, 1908"

    def seconds(self, topics: int, resamples: int) -> float:
        return topics * 8e-9

    def levels(self, differences: Floats) -> Floats:
        return t_levels(differences)


@register_test
class Wilcoxon(ClassicalTest):
    """The test ranks the differences by their size, and compares the ranks of positive and negative ones.

    Zeros are left out. With at most 200 other differences the level is exact, with ties, too. With more it is the
    normal approximation, corrected for ties.
    """

    name = "wilcoxon"
    title = "Wilcoxon signed-rank test"
    reference = "Wilcoxon, Individual comparisons by ranking methods, Biometrics Bulletin 1, 1945"

    def seconds(self, topics: int, resamples: int) -> float:
        # The differences may have ties of their own, so that no pair shares its distribution with another.
        ranked = min(topics, MOST_EXACT)
        return topics * 1e-7 + ranked * 1.5e-6 + ranked**3 * 1.05e-10

    def levels(self, differences: Floats) -> Floats:
        return wilcoxon_levels(round_scores(differences))


@register_test
class Sign(ClassicalTest):
    """The test counts the topics on which each run is better. It is exact, and ties are left out."""

    name = "sign"
    title = "Sign test"
    reference = "Arbuthnott, An argument for divine providence, Philosophical Transactions 27, 1710"

    def seconds(self, topics: int, resamples: int) -> float:
        return topics * 8e-9

    def levels(self, differences: Floats) -> Floats:
        return sign_levels(round_scores(differences))


MOST_ENUMERATED = 13
"""The most topics for which all combinations of signs are used: 2**13 are fewer than the default draws."""

BLOCK_PRODUCTS = 2e10
"""The most multiplications in a block: about a second."""


def as_large(differences: Floats, signs: Floats) -> Floats:
    """Return how many of the `signs` [resamples, topics] give at least as large a mean in size: float64 [pairs].

    `differences` is [pairs, topics].
    """
    count = np.empty(len(differences))
    observed = np.abs(differences.sum(axis=1, keepdims=True))
    for part in pieces(slice(0, len(differences)), max(32, 65536 // len(signs))):
        # No sum is larger than that of the absolute differences, so its rounding error is a share of that one.
        rounding = NEAR * np.abs(differences[part]).sum(axis=1, keepdims=True)
        flipped = differences[part] @ signs.T
        count[part] = (np.abs(flipped, out=flipped) >= observed[part] - rounding).sum(axis=1)
    return count


def every_sign(topics: int) -> Floats:
    """Return all combinations of signs of the topics: float64 [2 ** topics, topics]."""
    bits = np.arange(2**topics)[:, np.newaxis] >> np.arange(topics) & 1
    return 2 * bits.astype(np.float64) - 1


@register_test
class Randomisation(PairedTest):
    """The test swaps the two runs' scores on random topics, and counts how often the means differ as much.

    The ASL is (1 + count) / (1 + resamples), so it is never 0. With at most 13 topics, all combinations of swaps are
    counted, and the ASL is exact.
    """

    name = "randomisation"
    title = "Randomisation test"
    reference = "Smucker, Allan and Carterette, A comparison of statistical significance tests for IR, CIKM 2007"
    default_resamples = 10000

    def is_exact(self, topics: int) -> bool:
        return topics <= MOST_ENUMERATED

    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        if self.is_exact(topics):
            return 1
        at_once = min(NUMBERS_AT_ONCE, BLOCK_PRODUCTS / max(1, pair_count(runs))) // topics
        return int(-(-self.drawn(resamples) // max(1, at_once)))

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        flips = 2**topics if self.is_exact(topics) else self.drawn(resamples)
        whole = pair_count(runs) * flips * (topics * 1e-10 + 1e-9)
        return whole / self.blocks(runs, topics, resamples)

    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        runs, topics = scores.shape
        signs = self._signs(runs, topics, block, settings)
        pairs = pieces(slice(0, pair_count(runs)), NUMBERS_AT_ONCE // topics)
        return {"count": np.concatenate([as_large(pair_differences(scores, part), signs) for part in pairs])}

    def decide_differences(self, differences: Floats, settings: SignificanceSettings) -> Outcome:
        # The draws are those of a single pair, so that they do not depend on the number of pairs.
        runs, topics = 2, differences.shape[1]
        blocks = range(self.blocks(runs, topics, settings.resamples))
        counts = [as_large(differences, self._signs(runs, topics, block, settings)) for block in blocks]
        return self._outcome(np.sum(counts, axis=0), topics, settings)

    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        return self._outcome(np.sum([part["count"] for part in results], axis=0), scores.shape[1], settings)

    def _outcome(self, count: Floats, topics: int, settings: SignificanceSettings) -> Outcome:
        if self.is_exact(topics):
            return Outcome(asl=count / 2**topics, resamples=2**topics)
        resamples = self.drawn(settings.resamples)
        return Outcome(asl=(1 + count) / (1 + resamples), resamples=resamples)

    def _signs(self, runs: int, topics: int, block: int, settings: SignificanceSettings) -> Floats:
        if self.is_exact(topics):
            return every_sign(topics)
        resamples, blocks = self.drawn(settings.resamples), self.blocks(runs, topics, settings.resamples)
        return Draws(settings.seed, self.name, block).signs(len(numbers_of_block(resamples, block, blocks)), topics)


IN_CACHE = 1 << 15
"""The float64 that are gathered at once: 256 KB."""

SECONDS_A_SCORE = 6e-9
"""The cost of one resample: a quarter is the look-up, and three quarters are the draw, which all metrics share."""


def largest_differences(scores: Floats, positions: Indices) -> Floats:
    """Return the largest minus the smallest mean after each permutation of `scores`: float64 [resamples].

    `positions` [resamples, topics, runs] are those of the scores that runs get, in the transposed table row by row.
    """
    topics = scores.shape[1]
    flat = scores.T.ravel()
    spreads = np.empty(len(positions))
    for part in pieces(slice(0, len(positions)), IN_CACHE // scores.size):
        spreads[part] = np.ptp(flat[positions[part]].sum(axis=1), axis=1)
    spreads /= topics
    return spreads


def tukey_levels(scores: Floats, largest: Floats) -> Floats:
    """Return the share of the `largest` differences that reach the pair's own, to rounding: float64 [pairs]."""
    observed = np.abs(pair_differences(scores.mean(axis=1)))
    below = np.searchsorted(np.sort(largest), observed - NEAR * np.abs(scores).max(initial=0.0), side="left")
    levels: Floats = (len(largest) - below) / len(largest)
    return levels


# Metrics are computed one after the other. Each block's permutations, which cost most, serve all of them.
@lru_cache(maxsize=1)
def _permute_positions(seed: int, block: int, resamples: int, topics: int, runs: int) -> Indices:
    positions = Draws(seed, RandomisedTukey.name, block).permutations(resamples, topics, runs)
    positions += np.arange(topics)[:, np.newaxis] * runs
    # All callers share the array.
    positions.flags.writeable = False
    return positions


@register_test
class RandomisedTukey(SignificanceTest):
    """The test permutes the runs within each topic, and counts how often the extremes differ as much as a pair.

    It takes into account that all pairs are compared, so no correction is needed.
    """

    name = "randomised-tukey-hsd"
    title = "Randomised Tukey HSD test"
    reference = "Carterette, Multiple testing in statistical analysis of systems-based IR experiments, TOIS 30(1), 2012"
    default_resamples = 5000
    gives_shares = True
    is_simultaneous = True

    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        at_once = max(1, NUMBERS_AT_ONCE // (runs * topics))
        return -(-self.drawn(resamples) // at_once)

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        return self.drawn(resamples) * runs * topics / self.blocks(runs, topics, resamples) * SECONDS_A_SCORE

    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        runs, topics = scores.shape
        resamples, blocks = self.drawn(settings.resamples), self.blocks(runs, topics, settings.resamples)
        number = len(numbers_of_block(resamples, block, blocks))
        return {"largest": largest_differences(scores, _permute_positions(settings.seed, block, number, topics, runs))}

    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        largest = np.concatenate([part["largest"] for part in results])
        return Outcome(asl=tukey_levels(scores, largest), resamples=len(largest))

    def effects(self, scores: Floats, numbers: Indices | None = None) -> Effects:
        return residual_effects(scores, numbers)
