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

Upto = int | Scores | None
"""A rank to stop after: the same for all topics, one for each (float64 [n]), or none."""

Column = TypeVar("Column", bound=np.generic)


class RelevantRows:
    """The relevant rows of a run, and what no gain setting changes about them.

    `levels` are those that count as relevant, up to the scale's highest. Rows are ordered by topic, then rank.
    Counts are integers, so that sums of gains made of them carry no accumulated error. `condensed` counts ranks
    among the judged documents only.
    """

    def __init__(self, run: JudgedRun, row_topic: NDArray[np.intp], levels: range, condensed: bool) -> None:
        self.levels = levels
        self.topics = len(run.retrieved)
        self.rows = np.flatnonzero(run.level >= levels.start)
        self.topic = row_topic[self.rows]
        self.level = run.level[self.rows]
        rank = self.rows - run.starts[self.topic] + 1 if condensed else run.rank[self.rows]
        self.rank: Scores = rank.astype(np.float64)
        self._chosen: dict[int, NDArray[np.intp] | None] = {}
        self._weights: dict[Discount, Scores] = {}

    @cached_property
    def _first(self) -> NDArray[np.intp]:
        """The first row of the topic that each row belongs to."""
        size = np.bincount(self.topic, minlength=self.topics)
        return (np.cumsum(size) - size)[self.topic]

    @cached_property
    def count(self) -> Scores:
        """count(r): the relevant documents at this rank and above it."""
        return (np.arange(len(self.rows)) - self._first + 1).astype(np.float64)

    @cached_property
    def level_counts(self) -> NDArray[np.int64]:
        """count(r) by level, int64 [levels, rows]."""
        running = np.zeros((len(self.levels), len(self.rows) + 1), dtype=np.int64)
        np.cumsum(self.level == np.array(self.levels)[:, np.newaxis], axis=1, out=running[:, 1:])
        return running[:, 1:] - running[:, self._first]

    def weights(self, discount: Discount) -> Scores:
        """The discount at the rank of each row."""
        if discount not in self._weights:
            self._weights[discount] = discount.at(self.rank)
        return self._weights[discount]

    def chosen(self, upto: Upto) -> NDArray[np.intp] | None:
        """The indices of the rows at ranks <= `upto`; None says all of them."""
        if upto is None:
            return None
        if not isinstance(upto, int):
            return np.flatnonzero(self.rank <= upto[self.topic])
        if upto not in self._chosen:
            rows = np.flatnonzero(self.rank <= upto)
            self._chosen[upto] = None if len(rows) == len(self.rows) else rows
        return self._chosen[upto]


class RowGains:
    """What the relevant rows of a run are worth under one gain setting, float64 [rows] each."""

    def __init__(self, rows: RelevantRows, ideal: IdealRankings) -> None:
        self._rows = rows
        self._ideal = ideal
        self._reciprocals: dict[Discount, Scores] = {}
        self._gains = ideal.gains if ideal.gains.shape[1] == 1 else ideal.gains[:, rows.topic]

    @cached_property
    def gain(self) -> Scores:
        levels = self._rows.level - self._rows.levels.start
        uniform = self._gains.shape[1] == 1
        gains: Scores = self._gains[levels, 0 if uniform else np.arange(len(levels))]
        return gains

    @cached_property
    def cumulative(self) -> Scores:
        return worth(self._gains, self._rows.level_counts)

    @cached_property
    def ideal_cumulative(self) -> Scores:
        rank, topic = self._rows.rank, self._rows.topic
        counts = np.minimum(rank, self._ideal.last[:, topic]) - np.minimum(rank, self._ideal.above[:, topic])
        return worth(self._gains, counts)

    def reciprocals_above(self, discount: Discount) -> Scores:
        if discount not in self._reciprocals:
            above = self._rows.rank.astype(np.intp) - 1
            self._reciprocals[discount] = self._ideal.reciprocal_sums(discount).at(self._rows.topic, above)
        return self._reciprocals[discount]


class Found:
    """The relevant documents retrieved, to some rank: parallel columns in the order of topic, then rank."""

    def __init__(self, rows: RelevantRows, upto: Upto) -> None:
        self._rows = rows
        self._chosen = rows.chosen(upto)

    def _pick(self, column: NDArray[Column]) -> NDArray[Column]:
        return column if self._chosen is None else column[self._chosen]

    @property
    def row(self) -> NDArray[np.intp]:
        """The index among all rows of the run."""
        return self._pick(self._rows.rows)

    @cached_property
    def topic(self) -> NDArray[np.intp]:
        """The index of the topic."""
        return self._pick(self._rows.topic)

    @cached_property
    def rank(self) -> Scores:
        """r, from 1."""
        return self._pick(self._rows.rank)

    @cached_property
    def level(self) -> NDArray[np.int8]:
        """The relevance level, int8."""
        return self._pick(self._rows.level)

    @cached_property
    def count(self) -> Scores:
        """count(r), the relevant documents at this rank and above it."""
        return self._pick(self._rows.count)

    def discount(self, discount: Discount) -> Scores:
        """The weight of the rank under `discount`."""
        return self._pick(self._rows.weights(discount))

    def sum_by_topic(self, values: Scores | NDArray[np.bool_]) -> Scores:
        """The sum of `values` (one for each document found) over each topic, float64 [n], 0 without any."""
        # Of nothing, bincount makes integers.
        return np.bincount(self.topic, values, self._rows.topics).astype(np.float64, copy=False)

    @cached_property
    def number(self) -> Scores:
        """How many there are of each topic, float64 [n]."""
        return np.bincount(self.topic, minlength=self._rows.topics).astype(np.float64)


class GradedFound(Found):
    """The relevant documents retrieved, with what they are worth."""

    def __init__(self, rows: RelevantRows, upto: Upto, gains: RowGains) -> None:
        super().__init__(rows, upto)
        self._gains = gains

    @cached_property
    def gain(self) -> Scores:
        """g(r)."""
        return self._pick(self._gains.gain)

    @cached_property
    def cumulative_gain(self) -> Scores:
        """cg(r), the gain of this document and those above it."""
        return self._pick(self._gains.cumulative)

    @cached_property
    def ideal_cumulative_gain(self) -> Scores:
        """cg_I(r), the gain of the first r documents of the ideal ranking."""
        return self._pick(self._gains.ideal_cumulative)

    def reciprocals_above(self, discount: Discount) -> Scores:
        """The sum of 1/cg_I(i), discounted, over the ranks i above this document."""
        return self._pick(self._gains.reciprocals_above(discount))
