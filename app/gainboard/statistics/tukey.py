"""The randomised version of Tukey's HSD test."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from gainboard.statistics.draws import BlockResult, Draws, Floats, Indices
from gainboard.statistics.effects import Effects, residual_effects
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.pairs import NUMBERS_AT_ONCE, pair_differences, pieces
from gainboard.statistics.significance import Outcome, SignificanceSettings, SignificanceTest, register_test

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


def _spreads(scores: Floats, places: Indices) -> Floats:
    topics = scores.shape[1]
    flat = scores.T.ravel()
    spreads = np.empty(len(places))
    for part in pieces(slice(0, len(places)), IN_CACHE // scores.size):
        spreads[part] = np.ptp(flat[places[part]].sum(axis=1), axis=1)
    spreads /= topics
    return spreads


def tukey_levels(scores: Floats, largest: Floats) -> Floats:
    """Return the share of the `largest` differences that reach the pair's own, to rounding: float64 [pairs]."""
    own = np.abs(pair_differences(scores.mean(axis=1)))
    below = np.searchsorted(np.sort(largest), own - NEAR * np.abs(scores).max(initial=0.0), side="left")
    levels: Floats = (len(largest) - below) / len(largest)
    return levels


def _rows(topics: int, runs: int) -> Indices:
    return np.arange(topics)[:, np.newaxis] * runs


# Metrics are computed one after the other. Each block's permutations, which cost most, serve all of them.
@lru_cache(maxsize=1)
def _permuted_positions(seed: int, block: int, resamples: int, topics: int, runs: int) -> Indices:
    places = Draws(seed, RandomisedTukey.name, block).permutations(resamples, topics, runs)
    places += _rows(topics, runs)
    # All callers share the array.
    places.flags.writeable = False
    return places


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
        number = resamples * (block + 1) // blocks - resamples * block // blocks
        return {"largest": _spreads(scores, _permuted_positions(settings.seed, block, number, topics, runs))}

    def outcome(self, scores: Floats, found: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        largest = np.concatenate([part["largest"] for part in found])
        return Outcome(asl=tukey_levels(scores, largest), resamples=len(largest))

    def effects(self, scores: Floats, numbers: Indices | None = None) -> Effects:
        return residual_effects(scores, numbers)
