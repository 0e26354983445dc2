"""Fisher's randomisation test, by flipping signs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gainboard.statistics.draws import BlockResult, Draws, Floats
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.pairs import NUMBERS_AT_ONCE, pair_count, pair_differences, pieces
from gainboard.statistics.significance import Outcome, PairedTest, SignificanceSettings, register_test

MOST_ENUMERATED = 13
"""The most topics for which all combinations of signs are used: 2**13 are fewer than the default draws."""

BLOCK_PRODUCTS = 2e10
"""The most multiplications in a block: about a second."""


def as_large(differences: Floats, signs: Floats) -> Floats:
    """Return how many of the `signs` [resamples, topics] give at least as large a mean in size: float64 [pairs].

    `differences` is [pairs, topics].
    """
    count = np.empty(len(differences))
    own = np.abs(differences.sum(axis=1, keepdims=True))
    for part in pieces(slice(0, len(differences)), max(32, 65536 // len(signs))):
        # No sum is larger than that of the absolute differences, so its rounding error is a share of that one.
        rounding = NEAR * np.abs(differences[part]).sum(axis=1, keepdims=True)
        flipped = differences[part] @ signs.T
        count[part] = (np.abs(flipped, out=flipped) >= own[part] - rounding).sum(axis=1)
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

    def outcome(self, scores: Floats, found: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        return self._outcome(np.sum([part["count"] for part in found], axis=0), scores.shape[1], settings)

    def _outcome(self, count: Floats, topics: int, settings: SignificanceSettings) -> Outcome:
        if self.is_exact(topics):
            return Outcome(asl=count / 2**topics, resamples=2**topics)
        resamples = self.drawn(settings.resamples)
        return Outcome(asl=(1 + count) / (1 + resamples), resamples=resamples)

    def _signs(self, runs: int, topics: int, block: int, settings: SignificanceSettings) -> Floats:
        if self.is_exact(topics):
            return every_sign(topics)
        resamples, blocks = self.drawn(settings.resamples), self.blocks(runs, topics, settings.resamples)
        number = resamples * (block + 1) // blocks - resamples * block // blocks
        return Draws(settings.seed, self.name, block).signs(number, topics)
