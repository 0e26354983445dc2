"""The input of trec_eval's measures: the levels by rank of one topic of a run, and the judgments of the topic."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, cmp_to_key
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.trec_eval.parameters import Pairs, whole_number

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class Gains(NamedTuple):
    """Gains by rank, float64 [retrieved], and those of the ideal ranking, positive ones alone, float64 [ideal]."""

    by_rank: Floats
    ideal: Floats


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
    def places(self) -> Integers:
        """The places in the ranking of documents at or above the threshold, from 0, int64 [relevant retrieved].

        With a threshold below 0, as in trec_eval, these include documents without a judgment: UNPOOLED is level -1.
        """
        return np.flatnonzero(self.levels >= self.threshold)

    @cached_property
    def judged_places(self) -> Integers:
        """The places of the relevant documents that are judged. They differ from `places` below threshold 0 alone."""
        return self.places[self.levels[self.places] >= 0]

    @property
    def found(self) -> int:
        """The number of relevant documents that are retrieved, which are judged ones."""
        return len(self.judged_places)

    @cached_property
    def precisions(self) -> Floats:
        """The precision at each relevant document, float64 [relevant retrieved]."""
        return np.arange(1, len(self.places) + 1) / (self.places + 1)

    @cached_property
    def is_nonrelevant(self) -> NDArray[np.bool_]:
        """True for each document that was judged nonrelevant, bool [retrieved]."""
        return (self.levels >= 0) & (self.levels < self.threshold)

    def relevant_within(self, rank: int) -> int:
        """Return the number of places at the first ranks."""
        return int(np.searchsorted(self.places, rank))

    def gains(self, pairs: Pairs) -> Gains:
        """Return the gains: the levels, or what the pairs of level and gain say. Levels below 0 have none."""
        given = given_gains(pairs)
        if not given:
            ideal = np.repeat(np.arange(1, len(self.counts)), self.counts[1:])[::-1]
            return Gains(np.maximum(self.levels, 0).astype(float), ideal.astype(float))
        gain_of = given | {level: float(level) for level in range(len(self.counts)) if level not in given}
        by_rank = np.array([gain_of.get(level, 0.0) for level in self.levels.tolist()])
        return Gains(by_rank, self._ideal(gain_of))

    def _ideal(self, gain_of: Mapping[int, float]) -> Floats:
        # trec_eval compares gains by the whole part of their difference, so gains closer than 1 stay in this order.
        def order(one: int, other: int) -> int:
            return int(gain_of[one] - gain_of[other])

        levels = sorted(gain_of, key=cmp_to_key(order))
        count = {level: int(self.counts[level]) if 0 <= level < len(self.counts) else 0 for level in levels}
        ideal: list[float] = []
        for level in reversed(levels):
            if count[level] and gain_of[level] <= 0:
                break
            ideal += [gain_of[level]] * count[level]
        return np.array(ideal)


def given_gains(pairs: Pairs) -> dict[int, float]:
    """Return the gains that a measure's parameters give, by level. Of two for one level, the first counts."""
    is_level = re.compile("[+-]?[0-9]+").fullmatch
    return {whole_number(name.encode()): value for name, value in reversed(pairs) if is_level(name)}


def total(values: Floats | Sequence[float]) -> float:
    """Return the sum in the order of the values, as a loop adds them."""
    return float(np.cumsum(values)[-1]) if len(values) else 0.0


def discounted(gains: Floats) -> Floats:
    """Return the cumulative gains, discounted by log2(rank + 1)."""
    return np.cumsum(gains / np.log2(np.arange(2, len(gains) + 2)))
