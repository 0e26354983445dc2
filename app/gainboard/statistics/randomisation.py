"""Randomisation tests: Fisher's flips the signs of a pair's differences, Tukey's HSD permutes the runs of a topic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gainboard.statistics.draws import BlockResult, Draws, Floats, Indices
from gainboard.statistics.means import Effects, residual_effects
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.pairs import NUMBERS_AT_ONCE, numbers_of_block, pair_count, pair_differences, pieces
from gainboard.statistics.significance import Outcome, PairedTest, SignificanceSettings, SignificanceTest, register_test

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


def largest_differences(scores: Floats, permutations: Indices) -> Floats:
    """Return the largest minus the smallest mean after each permutation of `scores`: float64 [resamples].

    `permutations` [resamples, topics, runs] says whose score each run gets, topic by topic.
    """
    runs, topics = scores.shape
    return _spreads(scores, permutations + _rows(topics, runs))


def _spreads(scores: Floats, positions: Indices) -> Floats:
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


def _rows(topics: int, runs: int) -> Indices:
    return np.arange(topics)[:, np.newaxis] * runs


# Metrics are computed one after the other. Each block's permutations, which cost most, serve all of them.
@lru_cache(maxsize=1)
def _permute_positions(seed: int, block: int, resamples: int, topics: int, runs: int) -> Indices:
    positions = Draws(seed, RandomisedTukey.name, block).permutations(resamples, topics, runs)
    positions += _rows(topics, runs)
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
        return {"largest": _spreads(scores, _permute_positions(settings.seed, block, number, topics, runs))}

    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        largest = np.concatenate([part["largest"] for part in results])
        return Outcome(asl=tukey_levels(scores, largest), resamples=len(largest))

    def effects(self, scores: Floats, numbers: Indices | None = None) -> Effects:
        return residual_effects(scores, numbers)
