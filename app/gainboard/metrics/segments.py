"""Rows by topic, and what is summed of them."""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores

_LONG: Final = 16
"""Rows a topic from which sums are faster segment by segment than row by row."""


class Segments:
    """Rows that lie topic by topic, in `counts` int64 [n], some topics without any: what is summed over each."""

    def __init__(self, counts: NDArray[np.intp]) -> None:
        self._counts = counts
        self._rows = int(counts.sum())
        self._is_long = self._rows >= _LONG * len(counts) > 0

    @cached_property
    def topic(self) -> NDArray[np.intp]:
        """The topic of each row, intp [rows]."""
        return np.repeat(np.arange(self.topics), self._counts)

    @cached_property
    def number(self) -> Scores:
        """How many rows each topic has, float64 [n]."""
        return self._counts.astype(np.float64)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """The first row of each topic, or where it would be: intp [n]."""
        return np.asarray(np.cumsum(self._counts) - self._counts)

    @cached_property
    def filled(self) -> NDArray[np.intp]:
        """The topics that have rows."""
        return self._counts.nonzero()[0]

    def spread(self, values: Scores) -> Scores:
        """The value of each row's topic, float64 [rows], of `values` float64 [n]."""
        return np.repeat(values, self._counts)

    @property
    def topics(self) -> int:
        """The number of topics, n."""
        return len(self._counts)

    def sum(self, values: Scores) -> Scores:
        """The sum of `values` float64 [rows] over each topic, float64 [n]."""
        return self._reduced(np.add, values) if self._is_long else self._summed(values)

    def extremes(self, values: Scores) -> tuple[Scores, Scores]:
        """The lowest and the highest of `values` float64 [rows] of each topic, float64 [n] both; 0 without any."""
        return self._reduced(np.minimum, values), self._reduced(np.maximum, values)

    def _summed(self, values: Scores) -> Scores:
        if not self._rows:
            return np.zeros(self.topics)  # bincount would make integers
        return np.asarray(np.bincount(self.topic, values, self.topics), np.float64)

    def _reduced(self, operation: np.ufunc, values: Scores) -> Scores:
        if 0 < len(self.filled) == self.topics:
            return np.asarray(operation.reduceat(values, self.starts))
        reduced = np.zeros(self.topics)
        if self._rows:
            reduced[self.filled] = operation.reduceat(values, self.starts[self.filled])
        return reduced
