"""The input of trec_eval's measures: the levels by rank of one topic of a run, and the judgments of the topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.trec_eval.parameters import Pairs, whole_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
LARGEST_INT: Final = 2**31 - 1
"""C's largest `int`."""


class Gains(NamedTuple):
    """Gains by rank, float64 [retrieved], and those of the ideal ranking, positive ones alone, float64 [ideal]."""

    by_rank: Floats
    ideal: Floats


class GainLevel(NamedTuple):
    """A level with its gain, and the number of its documents."""

    level: int
    gain: float
    documents: int


class TopicResult:
    """One topic of a run.

    - `levels` int64 [retrieved]: the level by rank, UNPOOLED or UNJUDGED.
    - `counts` int64 [highest level + 1]: the number of judged documents by level.
    - `threshold`: the lowest level of relevant documents (`-l`).
    - `documents`: the number of documents in the collection (`-N`).
    """

    def __init__(self, levels: Integers, counts: Integers, threshold: int, documents: int) -> None:
        self.levels, self.counts, self.threshold, self.documents = levels, counts, threshold, documents

    @property
    def retrieved(self) -> int:
        """The number of retrieved documents."""
        return len(self.levels)

    @cached_property
    def relevant(self) -> int:
        """The number of relevant documents, R."""
        return int(self.counts[max(self.threshold, 0) :].sum())

    @cached_property
    def positions(self) -> Integers:
        """The positions in the ranking of documents at or above the threshold, from 0, int64 [relevant retrieved].

        With a threshold below 0, as in trec_eval, these include documents without a judgment: UNPOOLED is level -1.
        """
        return np.flatnonzero(self.levels >= self.threshold)

    @cached_property
    def judged_positions(self) -> Integers:
        """The positions of relevant documents that are judged. They differ from `positions` below threshold 0 alone."""
        return self.positions[self.levels[self.positions] >= 0]

    @property
    def found(self) -> int:
        """The number of relevant documents that are retrieved, which are judged ones."""
        return len(self.judged_positions)

    @cached_property
    def precisions(self) -> Floats:
        """The precision at each relevant document, float64 [relevant retrieved]."""
        return np.arange(1, len(self.positions) + 1) / (self.positions + 1)

    @cached_property
    def is_nonrelevant(self) -> NDArray[np.bool_]:
        """True for each document that was judged nonrelevant, bool [retrieved]."""
        return (self.levels >= 0) & (self.levels < self.threshold)

    def relevant_within(self, rank: int) -> int:
        """Return the number of positions at the first ranks."""
        return int(np.searchsorted(self.positions, rank))

    def gains(self, pairs: Pairs) -> Gains:
        """Return the gains: the levels, or what the pairs of level and gain say. Levels below 0 have none."""
        if not given_gains(pairs):
            ideal = np.repeat(np.arange(1, len(self.counts)), self.counts[1:])[::-1]
            return Gains(np.maximum(self.levels, 0).astype(float), ideal.astype(float))
        levels = self.gain_levels(pairs)
        gain_of = {level.level: level.gain for level in reversed(levels)}
        by_rank = np.array([gain_of.get(level, 0.0) for level in self.levels.tolist()])
        # trec_eval looks for the ideal ranking only if the last gain, of whatever level, is above 0.
        ideal_gains: list[float] = []
        for level in reversed(levels) if levels[-1].gain > 0 else ():
            if level.documents and not level.gain > 0:
                break
            ideal_gains += [level.gain] * level.documents
        return Gains(by_rank, np.array(ideal_gains))

    def gain_levels(self, pairs: Pairs) -> list[GainLevel]:
        """Return the levels that are given a gain, and the judged ones that are not, in trec_eval's order.

        Of two gains for one level, the documents are counted at the first one given, and a retrieved document has the
        first one in this order.
        """
        gains, counts = given_gains(pairs), self.counts.tolist()
        levels: list[GainLevel] = []
        for level, gain in gains:
            is_first = all(earlier.level != level for earlier in levels)
            levels.append(GainLevel(level, gain, counts[level] if is_first and 0 <= level < len(counts) else 0))
        named = {level for level, _ in gains}
        levels += [GainLevel(level, float(level), n) for level, n in enumerate(counts) if level not in named]
        return _sort_gains(levels)


def given_gains(pairs: Pairs) -> list[tuple[int, float]]:
    """Return the levels and gains that a measure's parameters give, in their order."""
    is_level = re.compile("[+-]?[0-9]+").fullmatch
    return [(whole_number(name.encode()), value) for name, value in pairs if is_level(name)]


def _sort_gains(levels: list[GainLevel]) -> list[GainLevel]:
    """Sort levels by gain as trec_eval does: gains closer than 1 are equal to it, and keep their order."""
    # Such a comparison is not transitive, so the result depends on the algorithm: Python's may give another one.
    # This is qsort of glibc, a merge sort.
    if len(levels) < 2:
        return levels
    half = len(levels) // 2
    lower, upper = _sort_gains(levels[:half]), _sort_gains(levels[half:])
    merged: list[GainLevel] = []
    while lower and upper:
        merged.append((lower if _compare_gains(lower[0].gain, upper[0].gain) <= 0 else upper).pop(0))
    return merged + lower + upper


def _compare_gains(one: float, other: float) -> int:
    """Return the difference as C's `int`: its whole part, or the lowest `int` (on x86) if it is none."""
    difference = one - other
    return int(difference) if abs(difference) <= LARGEST_INT else -LARGEST_INT - 1


def total(values: Floats | Sequence[float]) -> float:
    """Return the sum in the order of the values, as a loop adds them."""
    # Not `np.sum`, which adds pairwise: the last bits can decide how the fourth decimal is rounded.
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def discount_gains(gains: Floats) -> Floats:
    """Return the cumulative gains, discounted by log2(rank + 1)."""
    return np.cumsum(gains / np.log2(np.arange(2, len(gains) + 2)))
