"""The catalogue of significance tests. A test is one class, entered by `@register_test`; nothing else lists tests.

Every test looks at all pairs of runs, and is computed in blocks: a job may give them to any number of processes, in
any order, and its result is the same to the byte.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Floats, Indices
from gainboard.statistics.effects import Effects, paired_effects
from gainboard.statistics.pairs import pair_count

BLOCK_SECONDS = 1.5


@dataclass(frozen=True, kw_only=True)
class SignificanceSettings:
    """The choices beside the test.

    `seed` is 0 .. 2**64 - 1; `resamples` None means the test's own default. `alphas` are the significance levels in
    (0, 1) for which estimated differences are wanted, `largest` whether the max-T correction is: both cost time.
    """

    seed: int = 0
    resamples: int | None = None
    alphas: tuple[float, ...] = ()
    largest: bool = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """The result of a test for all pairs, in the order of `pairs`.

    `asl` is float64 [pairs] in [0, 1]. `estimated_differences`, float64 [alphas, pairs], is None unless the test
    is a bootstrap and was asked. So are `observed`, `largest`, `infinite_counts` and `infinite_resamples`, which
    `max_t` takes, and `any_infinite` [resamples]: where the t of any pair is infinite. `resamples` is how many there
    were, all that exist where they could be enumerated; None if none.
    """

    asl: Floats
    estimated_differences: Floats | None = None
    observed: Floats | None = None
    largest: Floats | None = None
    any_infinite: NDArray[np.bool_] | None = None
    infinite_counts: NDArray[np.int32] | None = None
    infinite_resamples: NDArray[np.int32] | None = None
    resamples: int | None = None


def join_fields(found: Sequence[BlockResult]) -> BlockResult:
    """Join the fields of `Outcome` of consecutive parts of the pairs, at least one part."""
    return {
        name: np.maximum.reduce([part[name] for part in found])
        if name in ("largest", "any_infinite")
        else np.concatenate([part[name] for part in found], axis=-1)
        for name in found[0]
    }


class SignificanceTest(ABC):
    """A two-sided test of the hypothesis that two runs do equally well, applied to all pairs.

    Score matrices are float64 [runs, topics] without NaN, with at least two of either. Whoever writes a test keeps
    true: what `work` finds depends on the scores, the settings and the number of its block only; `blocks` depends
    on the sizes only; a block takes a few seconds of one core at most. The class's docstring is the definition that
    users read.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    default_resamples: ClassVar[int | None] = None
    gives_largest: ClassVar[bool] = False
    """Say whether the test can give what the max-T correction compares."""

    @property
    def definition(self) -> str:
        """Return what the test does, in prose."""
        return inspect.getdoc(type(self)) or ""

    @abstractmethod
    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        """Return how many blocks there are for matrices of this size: at least 1. None means the default resamples."""

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        """Return about how many seconds of one core a block takes."""
        return BLOCK_SECONDS

    def numbers_kept(self, runs: int, topics: int, resamples: int | None = None) -> int:
        """Return how many numbers the test keeps in memory beside the scores; few unless it says so."""
        return 0

    @abstractmethod
    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        """Compute block 0 .. blocks - 1."""

    @abstractmethod
    def outcome(self, scores: Floats, found: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        """Put together the results of all blocks, given in the order of blocks."""

    def decide(self, scores: Floats, settings: SignificanceSettings) -> Outcome:
        """Compute all blocks, one after the other."""
        runs, topics = scores.shape
        blocks = self.blocks(runs, topics, settings.resamples)
        return self.outcome(scores, [self.work(scores, block, settings) for block in range(blocks)], settings)

    def effects(self, scores: Floats, numbers: Indices | None = None) -> Effects:
        """Return how much the runs of all pairs differ, or of those of these numbers: intp [pairs]."""
        return paired_effects(scores, numbers)

    def drawn(self, resamples: int | None) -> int:
        """Return how many resamples to draw if the request says `resamples`."""
        return resamples or self.default_resamples or 0


class PairwiseTest(SignificanceTest):
    """A test that decides each pair by itself: its blocks are blocks of pairs."""

    @abstractmethod
    def seconds(self, topics: int, resamples: int) -> float:
        """Return about how many seconds of one core a pair takes."""

    @abstractmethod
    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        """Return the fields of `Outcome` for the pairs start .. stop: those by pair on the last axis, and `largest`."""

    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        return max(1, min(pair_count(runs), math.ceil(self._whole(runs, topics, resamples) / BLOCK_SECONDS)))

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        return self._whole(runs, topics, resamples) / self.blocks(runs, topics, resamples)

    def _whole(self, runs: int, topics: int, resamples: int | None) -> float:
        return pair_count(runs) * self.seconds(topics, self.drawn(resamples))

    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        runs, topics = scores.shape
        pairs, blocks = pair_count(runs), self.blocks(runs, topics, settings.resamples)
        return self.decide_pairs(scores, slice(pairs * block // blocks, pairs * (block + 1) // blocks), settings)

    def outcome(self, scores: Floats, found: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        return Outcome(**join_fields(found), resamples=self.drawn(settings.resamples) or None)


_TESTS: dict[str, SignificanceTest] = {}
Entered = TypeVar("Entered", bound=type[SignificanceTest])


def register_test(test: Entered) -> Entered:
    """Enter a test into the catalogue."""
    _TESTS[test.name] = test()
    return test


def every_test() -> tuple[SignificanceTest, ...]:
    """Return all tests, in the order in which they are defined."""
    return tuple(_TESTS.values())


def find_test(name: str) -> SignificanceTest:
    """Return the test of this name. Raises KeyError if there is none."""
    return _TESTS[name]
