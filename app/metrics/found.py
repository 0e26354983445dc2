"""The relevant documents that a run found: the columns on which kernels compute."""

from __future__ import annotations

from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from app.metrics.arrays import Scores
from app.metrics.discounts import Discount
from app.metrics.ideal import IdealRankings, worth
from app.metrics.rankings import JudgedRun
from app.metrics.segments import Segments

Upto = int | Scores | None
"""A rank to stop after: the same for all topics, one for each (float64 [n]), or none."""

Value = TypeVar("Value", bound=np.generic)


class RelevantRows:
    """The relevant rows of a run, by topic, then rank, and what neither gains nor unjudged documents change of them.

    `levels` are those that count as relevant, up to the scale's highest.
    """

    def __init__(self, run: JudgedRun, row_topic: NDArray[np.intp], levels: range) -> None:
        self.levels = levels
        self.row = np.flatnonzero(run.level >= levels.start)
        self.topic = row_topic.take(self.row)
        self.level = run.level.take(self.row)
        self.segments = Segments(np.bincount(self.topic, minlength=len(run.retrieved)))

    @cached_property
    def _above(self) -> NDArray[np.intp]:
        """The number of rows of the topics above that of each row."""
        return self.segments.starts.take(self.topic)

    @cached_property
    def count(self) -> Scores:
        """count(r): the relevant documents at this rank and above it."""
        return (np.arange(1, len(self.row) + 1) - self._above).astype(np.float64)

    @cached_property
    def level_counts(self) -> Scores:
        """count(r) of the documents of each level or a higher one, float64 [levels, rows].

        Whole numbers, so that sums of gains made of them carry no accumulated error.
        """
        counts = np.empty((len(self.levels), len(self.row)))
        counts[0] = self.count
        running = np.zeros(len(self.row) + 1, dtype=np.intp)
        for place, level in enumerate(self.levels[1:], start=1):
            np.cumsum(self.level >= level, out=running[1:])
            np.subtract(running[1:], running.take(self._above), out=counts[place])
        return counts


class RankedRows:
    """The relevant rows at their ranks, which `condensed` counts among the judged documents only."""

    def __init__(self, run: JudgedRun, rows: RelevantRows, condensed: bool) -> None:
        self.rows = rows
        if condensed:
            self.place: NDArray[np.intp] = rows.row - run.starts.take(rows.topic) + 1
        else:
            self.place = run.rank.take(rows.row).astype(np.intp)
        self.rank: Scores = self.place.astype(np.float64)
        self._cut: dict[int | None, Columns] = {}
        self._weights: dict[Discount, Scores] = {}

    def weights(self, discount: Discount) -> Scores:
        """The discount at the rank of each row."""
        if discount not in self._weights:
            self._weights[discount] = discount.at(self.place)
        return self._weights[discount]

    def cut(self, upto: Upto) -> Columns:
        """The rows at ranks <= `upto`."""
        if isinstance(upto, np.ndarray):
            return Columns(self, np.flatnonzero(self.rank <= upto.take(self.rows.topic)))
        if upto not in self._cut:
            self._cut[upto] = Columns(self, None if upto is None else np.flatnonzero(self.place <= upto))
        return self._cut[upto]


class Columns:
    """What all gain settings share of the rows that are left of a ranking: parallel columns."""

    def __init__(self, ranked: RankedRows, chosen: NDArray[np.intp] | None) -> None:
        rows = ranked.rows
        self._ranked = ranked
        self._chosen = None if chosen is None or len(chosen) == len(rows.row) else chosen
        self.topic = self.pick(rows.topic)
        self.segments = rows.segments
        if self._chosen is not None:
            self.segments = Segments(np.bincount(self.topic, minlength=rows.segments.topics))

    def pick(self, column: NDArray[Value]) -> NDArray[Value]:
        """Those of the column of all relevant rows that are left."""
        return column if self._chosen is None else column.take(self._chosen)

    @cached_property
    def place(self) -> NDArray[np.intp]:
        """The rank as an integer."""
        return self.pick(self._ranked.place)

    @cached_property
    def rank(self) -> Scores:
        return self.pick(self._ranked.rank)

    @cached_property
    def level(self) -> NDArray[np.int8]:
        return self.pick(self._ranked.rows.level)

    @cached_property
    def count(self) -> Scores:
        return self.pick(self._ranked.rows.count)

    @cached_property
    def row(self) -> NDArray[np.intp]:
        return self.pick(self._ranked.rows.row)

    def weights(self, discount: Discount) -> Scores:
        """The discount at each rank."""
        return self.pick(self._ranked.weights(discount))


class RowGains:
    """What the relevant rows of a run are worth under one gain setting, float64 [rows] each."""

    def __init__(self, rows: RelevantRows, ideal: IdealRankings) -> None:
        self._rows = rows
        self._ideal = ideal

    @cached_property
    def gain(self) -> Scores:
        gains, levels = self._ideal.gains, self._rows.level - self._rows.levels.start
        if gains.shape[1] == 1:
            return gains[:, 0].take(levels)
        return np.asarray(gains[levels, self._rows.topic])

    @cached_property
    def cumulative(self) -> Scores:
        return worth(self._ideal.steps_at(self._rows.topic), self._rows.level_counts)


class Found:
    """The relevant documents retrieved, to some rank: parallel columns in the order of topic, then rank."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns

    @property
    def row(self) -> NDArray[np.intp]:
        """The index among all rows of the run."""
        return self._columns.row

    @property
    def topic(self) -> NDArray[np.intp]:
        """The index of the topic."""
        return self._columns.topic

    @property
    def rank(self) -> Scores:
        """r, from 1."""
        return self._columns.rank

    @property
    def level(self) -> NDArray[np.int8]:
        """The relevance level, int8."""
        return self._columns.level

    @property
    def count(self) -> Scores:
        """count(r), the relevant documents at this rank and above it."""
        return self._columns.count

    def discount(self, discount: Discount) -> Scores:
        """The weight of the rank under `discount`."""
        return self._columns.weights(discount)

    def sum_by_topic(self, values: Scores) -> Scores:
        """The sum of `values` (one for each document found) over each topic, float64 [n], 0 without any."""
        return self._columns.segments.sum(values)

    @property
    def number(self) -> Scores:
        """How many there are of each topic, float64 [n]."""
        return self._columns.segments.number


class GradedFound(Found):
    """The relevant documents retrieved, with what they are worth."""

    def __init__(self, columns: Columns, gains: RowGains, ideal: IdealRankings) -> None:
        super().__init__(columns)
        self._gains = gains
        self._ideal = ideal

    @cached_property
    def gain(self) -> Scores:
        """g(r)."""
        return self._columns.pick(self._gains.gain)

    @cached_property
    def cumulative_gain(self) -> Scores:
        """cg(r), the gain of this document and those above it."""
        return self._columns.pick(self._gains.cumulative)

    @cached_property
    def ideal_cumulative_gain(self) -> Scores:
        """cg_I(r), the gain of the first r documents of the ideal ranking."""
        return self._ideal.gain_at(self.topic, self.rank)

    def reciprocals_above(self, discount: Discount, upto: int) -> Scores:
        """The sum of 1/cg_I(i), discounted, over the ranks i above this document, which is at a rank <= `upto`."""
        return self._ideal.reciprocal_sums(discount, upto).at(self.topic, self._columns.place - 1)
