"""The catalogue of significance tests. A test is one class, added by `@register_test`; there is no other list of tests.

Every test compares all pairs of runs, and is computed in blocks. A job may give the blocks to any number of processes,
in any order, and the result has the same bytes.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Floats, Indices
from gainboard.statistics.means import TINY, Effects, pair_blocks, pair_count, paired_effects, unit_of
from gainboard.statistics.multiple_comparisons import (
    benjamini_hochberg,
    holm,
    levels_above_zero,
    max_t,
    needed_resamples,
)

Correction = Literal["none", "holm", "benjamini-hochberg", "max-t"]

BLOCK_SECONDS = 1.5
_ROUNDING = 1e-12
"""Levels are quotients of whole numbers, and none is nearer than this to a bound without reaching it."""


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings:
    """The settings of a test.

    `seed` is 0 .. 2**64 - 1. `resamples` None means the test's own default. `alphas` are the significance levels in (0,
    1) for which estimated differences are wanted. `largest` says whether the max-T correction is wanted. Both cost
    time.
    """

    seed: int = 0
    resamples: int | None = None
    alphas: tuple[float, ...] = ()
    largest: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a test for all pairs, in the order of `pairs`.

    `asl` is float64 [pairs] in [0, 1]. `estimated_differences`, float64 [alphas, 3, pairs], has the difference at each
    alpha, and at both ends of the levels that may be alpha (`level_error`). It is None unless the test is a
    bootstrap and was asked for it. So are `observed`, `largest`, `infinite_counts` and `infinite_resamples`, which
    `max_t` takes, and `any_infinite` [resamples]: whether the t of any pair is infinite. `resamples` is the number of
    resamples, or of all combinations if they were enumerated; None if there were none.
    """

    asl: Floats
    estimated_differences: Floats | None = None
    observed: Floats | None = None
    largest: Floats | None = None
    any_infinite: NDArray[np.bool_] | None = None
    infinite_counts: NDArray[np.int32] | None = None
    infinite_resamples: NDArray[np.int32] | None = None
    resamples: int | None = None

    def times(self, unit: float) -> Outcome:
        """Return the outcome for scores that were divided by `unit` before."""
        if self.estimated_differences is None:
            return self
        return replace(self, estimated_differences=self.estimated_differences * unit)


def uncertain_pairs(asl: Floats, alpha: float, resamples: int | None) -> NDArray[np.bool_]:
    """Return which pairs may be significant at `alpha` or not, depending on the seed: bool [pairs].

    `asl` is float64 [pairs], and `resamples` the number from which it was counted; without any, no pair is uncertain. A
    pair is uncertain if its level is within two standard errors of `alpha`: |ASL - alpha| <= 2 sqrt(alpha (1 - alpha) /
    resamples), the binomial error of a share that is `alpha`.
    """
    if resamples is None:
        return np.zeros(asl.shape, dtype=np.bool_)
    near: NDArray[np.bool_] = np.abs(asl - alpha) <= level_error(alpha, resamples) + _ROUNDING
    return near


def least_levels(differences: Floats) -> Floats:
    """Return the least level that the exact randomisation test gives to `differences` [pairs, topics]: float64 [pairs].

    If m topics differ, two of the 2**m ways to swap the runs' scores on them have the largest mean in size: 2 / 2**m.
    Without any such topic it is 1.
    """
    differing = np.count_nonzero(np.abs(differences) > TINY, axis=1)
    # Not below the smallest numbers, so that a level of 0 is below it for any number of topics.
    least: Floats = 2.0 ** np.clip(1 - differing, -1000, 0)
    return least


SHOWN = 1e-4
"""The least level that four decimals show."""


def doubtful_levels(levels: Floats, differences: Floats) -> NDArray[np.bool_]:
    """Return which levels [pairs] are below all those of the exact randomisation test: bool [pairs].

    Where that test has levels that print as 0, only those of pairs are meant whose `differences` [pairs, topics] are
    all equal.
    """
    least = least_levels(differences)
    is_constant = differences.std(axis=1, ddof=1) <= TINY
    doubtful: NDArray[np.bool_] = (levels < least) & (is_constant | (least > SHOWN))
    return doubtful


def join_fields(results: Sequence[BlockResult]) -> BlockResult:
    """Join the fields of `Outcome` of consecutive parts of the pairs, at least one part."""
    return {
        name: np.maximum.reduce([part[name] for part in results])
        if name in ("largest", "any_infinite")
        else np.concatenate([part[name] for part in results], axis=-1)
        for name in results[0]
    }


class SignificanceTest(ABC):
    """A two-sided test of the hypothesis that two runs are equally good, applied to all pairs.

    Score matrices are float64 [runs, topics] without NaN, with at least two runs and two topics. Every test must keep
    three rules. What `work` finds depends only on the scores, the settings and the number of its block. `blocks`
    depends only on the sizes. A block takes at most a few seconds of one core. The class's docstring is the definition
    that users read.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    default_resamples: ClassVar[int | None] = None
    least_topics: ClassVar[int] = 2
    gives_shares: ClassVar[bool] = False
    """True if levels are shares of the resamples, count / B, which may be 0."""
    gives_largest: ClassVar[bool] = False
    """True if the test can provide what the max-T correction compares."""
    is_simultaneous: ClassVar[bool] = False
    """True if levels hold for all pairs together, and a larger difference of means never has a higher level."""
    may_understate: ClassVar[bool] = False
    """True if the level of a pair can fall below `least_levels`, because the test assumes more than exchangeability."""

    @property
    def definition(self) -> str:
        """The description of the test for users."""
        return inspect.getdoc(type(self)) or ""

    @abstractmethod
    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        """Return the number of blocks for matrices of this size: at least 1. `resamples` None means the default."""

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        """Return the approximate seconds of one core for a block."""
        return BLOCK_SECONDS

    def numbers_kept(self, runs: int, topics: int, resamples: int | None = None) -> int:
        """Return how many numbers the test keeps in memory besides the scores: few, unless a test overrides this."""
        return 0

    @abstractmethod
    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        """Compute one block, numbered 0 .. blocks - 1."""

    @abstractmethod
    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        """Put together the results of all blocks, given in the order of blocks."""

    def decide(self, scores: Floats, settings: SignificanceSettings) -> Outcome:
        """Compute all blocks, one after the other. Scores may be of any size: see `unit_of`."""
        (runs, topics), unit = scores.shape, unit_of(scores)
        scaled, blocks = scores / unit, self.blocks(runs, topics, settings.resamples)
        outcome = self.outcome(scaled, [self.work(scaled, block, settings) for block in range(blocks)], settings)
        return outcome.times(unit)

    def effects(self, scores: Floats, numbers: Indices | None = None) -> Effects:
        """Return the effects of all pairs, or of the pairs with these numbers: intp [pairs]."""
        return paired_effects(scores, numbers)

    def corrected(self, outcome: Outcome, correction: Correction) -> Floats:
        """Return the levels of an outcome after a correction for many comparisons: float64 [pairs]."""
        if correction == "max-t":
            assert outcome.observed is not None
            assert outcome.largest is not None
            assert outcome.infinite_counts is not None
            assert outcome.infinite_resamples is not None
            return max_t(outcome.observed, outcome.largest, outcome.infinite_counts, outcome.infinite_resamples)
        if correction == "none":
            return outcome.asl
        levels = self.above_zero(outcome)
        return holm(levels) if correction == "holm" else benjamini_hochberg(levels)

    def above_zero(self, outcome: Outcome) -> Floats:
        """Return the levels, those that are count / B as (1 + count) / (B + 1): float64 [pairs]."""
        is_share = self.gives_shares and outcome.resamples is not None
        return levels_above_zero(outcome.asl, outcome.resamples or 0) if is_share else outcome.asl

    def holm_note(self, resamples: int | None, pairs: int, topics: int, alphas: Sequence[float]) -> str | None:
        """Return a sentence for readers if so few resamples leave nothing significant after Holm's correction."""
        if resamples is None or self.is_exact(topics):
            return None
        needed = {alpha: needed_resamples(pairs, alpha) for alpha in alphas}
        lost = [f"{needed[alpha]:,} at {alpha:g}" for alpha in alphas if resamples < needed[alpha]]
        if not lost:
            return None
        return (
            f"{resamples:,} resamples are too few for Holm's correction of {pairs:,} pairs, so no pair is significant: "
            f"it needs at least {' and '.join(lost)}. Use the bootstrap range test or the t-test."
        )

    def is_exact(self, topics: int) -> bool:
        """Return whether levels over so many topics depend on no seed, although resamples are counted."""
        return False

    def drawn(self, resamples: int | None) -> int:
        """Return the number of resamples to draw if the request asks for `resamples`."""
        return resamples or self.default_resamples or 0


class PairwiseTest(SignificanceTest):
    """A test that decides each pair independently: its blocks are blocks of pairs."""

    @abstractmethod
    def seconds(self, topics: int, resamples: int) -> float:
        """Return the approximate seconds of one core for a pair."""

    @abstractmethod
    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        """Return the fields of `Outcome` for the pairs start .. stop: those by pair on the last axis, and `largest`."""

    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        return len(self._blocks(runs, topics, resamples))

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        return self._whole(runs, topics, resamples) / self.blocks(runs, topics, resamples)

    def _blocks(self, runs: int, topics: int, resamples: int | None) -> list[slice]:
        return pair_blocks(runs, self._whole(runs, topics, resamples), BLOCK_SECONDS)

    def _whole(self, runs: int, topics: int, resamples: int | None) -> float:
        return pair_count(runs) * self.seconds(topics, self.drawn(resamples))

    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        runs, topics = scores.shape
        return self.decide_pairs(scores, self._blocks(runs, topics, settings.resamples)[block], settings)

    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        return Outcome(**join_fields(results), resamples=self.drawn(settings.resamples) or None)


class PairedTest(SignificanceTest):
    """A test of differences by topic, which can therefore decide any choice of pairs."""

    @abstractmethod
    def decide_differences(self, differences: Floats, settings: SignificanceSettings) -> Outcome:
        """Return the outcome for `differences`, float64 [pairs, topics] with at least one pair and two topics.

        The level of a pair is the same whatever the other pairs are.
        """


_TESTS: dict[str, SignificanceTest] = {}
Entered = TypeVar("Entered", bound=type[SignificanceTest])


def register_test(test: Entered) -> Entered:
    """Add a test to the catalogue."""
    _TESTS[test.name] = test()
    return test


def every_test() -> tuple[SignificanceTest, ...]:
    """Return all tests, in the order of their definition."""
    return tuple(_TESTS.values())


def find_paired_test(name: str) -> PairedTest:
    """Return the paired test with this name. Raise KeyError if there is none."""
    test = _TESTS[name]
    if not isinstance(test, PairedTest):
        raise KeyError(name)
    return test


def find_test(name: str) -> SignificanceTest:
    """Return the test with this name. Raise KeyError if there is none."""
    return _TESTS[name]


def level_error(alpha: float, resamples: int) -> float:
    """Return two standard errors of a share of `resamples` that is `alpha`: 2 sqrt(alpha (1 - alpha) / resamples)."""
    return 2 * math.sqrt(alpha * (1 - alpha) / resamples)
