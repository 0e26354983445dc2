"""The relevant documents that a run found: the columns on which kernels compute."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.discounts import Discount
from gainboard.metrics.ideal import IdealRankings
from gainboard.metrics.rows import Columns, RelevantRows


class RowGains:
    """What the relevant rows of a run are worth under one gain setting, float64 [rows] each."""

    def __init__(self, rows: RelevantRows, ideal: IdealRankings) -> None:
        self._rows = rows
        self._ideal = ideal

    @cached_property
    def gain(self) -> Scores:
        return self._ideal.gain_of(self._rows.topic_class, self._rows.level - self._rows.counts.lowest)

    @cached_property
    def cumulative(self) -> Scores:
        return self._ideal.worth_of(self._rows.topic_class, self._rows.level_counts)


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
        return discount.at(self._columns.place)

    def pick(self, column: Scores) -> Scores:
        """Of a column of all the relevant documents retrieved, what belongs to these."""
        return self._columns.pick(column)

    def sum_by_topic(self, values: Scores) -> Scores:
        """The sum of `values` (one for each document found) over each topic, float64 [n], 0 without any."""
        return self._columns.segments.sum(values)

    def at_first(self, values: Scores) -> Scores:
        """The value of the topmost of them by topic, float64 [n], 0 without any."""
        return self._settled(values, self._columns.first)

    def at_preferred(self, values: Scores) -> Scores:
        """The value of the topmost among those of the highest level found, float64 [n], 0 without any."""
        return self._settled(values, self._columns.preferred)

    @cached_property
    def preferred_rank(self) -> Scores:
        """The rank of the topmost among those of the highest level found, float64 [n], 0 without any."""
        return self.at_preferred(self.rank)

    def _settled(self, values: Scores, places: NDArray[np.intp]) -> Scores:
        settled = np.zeros(self._columns.segments.topics)
        settled[self._columns.segments.filled] = values.take(places)
        return settled

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
        return self._ideal.worth_of(self._columns.topic_class, self._columns.ideal_counts)

    def reciprocals(self, discount: Discount, upto: int) -> Scores:
        """The sum of 1/cg_I(i), discounted, over the ranks i from this document's to `upto`, which is none above it."""
        sums, classes = self._ideal.reciprocal_sums(discount, upto), self._columns.topic_class
        return sums.to(upto).take(classes) - sums.at(classes, self._columns.place - 1)


def gain_of(found: GradedFound) -> Scores:
    """g(r) of each document found: for metrics that sum it."""
    return found.gain
