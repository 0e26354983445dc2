"""The scores that a run gave its documents, as far as metrics look at them."""

from __future__ import annotations

from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.segments import Segments

_REMEMBERED: Final = 9
"""Numbers by topic: three sums, and three to scale scores by over either ranking."""


class SystemScores:
    """The scores of the judged documents retrieved, as user scores are compared with them.

    Either `raw`, as they are, or scaled to [0, 1] over the topic's ranking, which `condensed` leaves only judged
    documents in. What sums over them all is remembered, for no gain setting changes it.
    """

    def __init__(self, scores: Scores, lowest: Scores, highest: Scores, counts: NDArray[np.int64]) -> None:
        """`scores` float64 [rows], `counts` of them by topic; the extremes of each topic are over all retrieved."""
        self._scores = scores
        self._extremes = lowest, highest
        self._counts = counts
        self._distances: dict[tuple[bool, bool], Scores] = {}

    @staticmethod
    def remembered(topics: int) -> int:
        """The bytes that may be remembered of so many topics."""
        return _REMEMBERED * 8 * topics

    def at(self, row: NDArray[np.intp], topic: NDArray[np.intp], raw: bool, condensed: bool) -> Scores:
        """Those of some rows, each of its topic: float64 [m]."""
        scores = self._scores.take(row)
        if raw:
            return scores
        scaling = self._condensed_scaling if condensed else self._scaling
        return scaled(scores, Scaling(*(each.take(topic) for each in scaling)))

    def distance(self, raw: bool, condensed: bool) -> Scores:
        """The sum of their absolute values, float64 [n]: how far off they are if no document is worth anything."""
        key = (raw, condensed and not raw)
        if key not in self._distances:
            judged = Segments(self._counts)
            with np.errstate(over="ignore"):
                scores = self.at(np.arange(len(judged.topic)), judged.topic, *key)
                self._distances[key] = judged.sum(np.abs(scores))
        return self._distances[key]

    @cached_property
    def _scaling(self) -> Scaling:
        return Scaling.between(*self._extremes)

    @cached_property
    def _condensed_scaling(self) -> Scaling:
        return Scaling.between(*Segments(self._counts).extremes(self._scores))


class Scaling(NamedTuple):
    """What scores are multiplied by, what is then taken off and what that is divided by."""

    unit: Scores
    shift: Scores
    spread: Scores

    @classmethod
    def between(cls, lowest: Scores | float, highest: Scores | float) -> Scaling:
        """From `lowest` to `highest`, finite both, to 0 and 1; where they are equal, all to 1."""
        with np.errstate(over="ignore"):
            # Two finite scores may be further apart than the largest number; their halves are not.
            unit = np.where(np.isinf(np.subtract(highest, lowest)), 0.5, 1.0)
        shift = lowest * unit
        spread = highest * unit - shift
        some = spread > 0
        return cls(np.where(some, unit, 0.0), np.where(some, shift, -1.0), np.where(some, spread, 1.0))


def scaled(scores: Scores, scaling: Scaling) -> Scores:
    """The scores, each by its scaling."""
    return (scores * scaling.unit - scaling.shift) / scaling.spread


def min_max(scores: Scores, lowest: float, highest: float) -> Scores:
    """`scores` float64 [m] scaled so that `lowest` becomes 0 and `highest` 1; all 1 where those two are equal."""
    return scaled(scores, Scaling.between(lowest, highest))
