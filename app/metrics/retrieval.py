"""The scores that a run gave its documents, as far as metrics look at them."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.metrics.arrays import Scores
from app.metrics.segments import Segments

_REMEMBERED: Final = 5
"""Numbers by topic: two extremes and three sums."""


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
        lowest, highest = self._range(condensed)
        return min_max(scores, lowest.take(topic), highest.take(topic))

    def distance(self, raw: bool, condensed: bool) -> Scores:
        """The sum of their absolute values, float64 [n]: how far off they are if no document is worth anything."""
        key = (raw, condensed and not raw)
        if key not in self._distances:
            judged = Segments(self._counts)
            with np.errstate(over="ignore"):
                scores = self.at(np.arange(len(judged.topic)), judged.topic, *key)
                self._distances[key] = judged.sum(np.abs(scores))
        return self._distances[key]

    def _range(self, condensed: bool) -> tuple[Scores, Scores]:
        return self._judged_range if condensed else self._extremes

    @cached_property
    def _judged_range(self) -> tuple[Scores, Scores]:
        return Segments(self._counts).extremes(self._scores)


def min_max(scores: Scores, lowest: Scores | float, highest: Scores | float) -> Scores:
    """`scores` scaled so that `lowest` becomes 0 and `highest` 1 (all float64 of one shape, or broadcast to it).

    Where those two are equal, all are 1.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        spread = np.subtract(highest, lowest)
        if np.all((spread > 0) & (spread < np.inf)):
            return (scores - lowest) / spread
        # Two finite scores may be further apart than the largest number; their halves are not.
        unit = np.where(np.isinf(spread), 0.5, 1.0)
        spread = highest * unit - lowest * unit
        return np.where(spread > 0, (scores * unit - lowest * unit) / spread, 1.0)
