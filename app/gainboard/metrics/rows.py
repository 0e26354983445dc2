"""The rows of a run that hold relevant documents, and what all gain settings share of them."""

from __future__ import annotations

from functools import cached_property
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.ideal import LevelCounts
from gainboard.metrics.rankings import JudgedRun
from gainboard.metrics.segments import Segments

Upto = int | NDArray[np.float64] | NDArray[np.int64] | None
"""A rank to stop after: the same for all topics, one for each ([n]), or none."""

_MOST_CUTS: Final = 8
"""Cut-offs that are remembered of a ranking."""

Value = TypeVar("Value", bound=np.generic)


class RelevantRows:
    """The relevant rows of a run, by topic, then rank, and what neither gains nor unjudged documents change of them.

    `row`, `topic` and `level` are parallel; `counts` are those of all topics from the lowest relevant level up.
    """

    def __init__(
        self, counts: LevelCounts, row: NDArray[np.intp], topic: NDArray[np.intp], level: NDArray[np.int8]
    ) -> None:
        self.counts = counts
        self.row = row
        self.topic = topic
        self.level = level
        self.segments = Segments(np.bincount(topic, minlength=len(counts.topic_class)))

    @classmethod
    def of(cls, run: JudgedRun, judged: Segments, counts: LevelCounts) -> RelevantRows:
        """All that are relevant at some level."""
        row = (run.level >= counts.lowest).nonzero()[0]
        return cls(counts, row, judged.topic.take(row), run.level.take(row))

    def above(self, counts: LevelCounts) -> RelevantRows:
        """Those that still are where fewer levels count."""
        chosen = (self.level >= counts.lowest).nonzero()[0]
        return RelevantRows(counts, self.row.take(chosen), self.topic.take(chosen), self.level.take(chosen))

    @cached_property
    def topic_class(self) -> NDArray[np.intp]:
        """The class of the topic in `counts`."""
        return self.counts.topic_class.take(self.topic)

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
        counts = np.empty((len(self.counts.relevant), len(self.row)))
        counts[0] = self.count
        running = np.zeros(len(self.row) + 1, dtype=np.intp)
        for place in range(1, len(counts)):
            np.cumsum(self.level >= self.counts.lowest + place, out=running[1:])
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

    @cached_property
    def ideal_counts(self) -> Scores:
        """The documents of each level or a higher one among as many of the ideal ranking: float64 [levels, rows]."""
        last = self.rows.counts.last_rank.take(self.rows.topic_class, axis=1)
        return np.minimum(self.rank, last, out=last)


class Columns:
    """What all gain settings share of the rows that are left of a ranking: parallel columns.

    Those that are picked are not kept, for whole rankings are what is mostly read of them.
    """

    def __init__(self, ranked: RankedRows, chosen: NDArray[np.intp] | None) -> None:
        rows = ranked.rows
        self._ranked = ranked
        self._chosen = chosen
        self.topic = self.pick(rows.topic)
        self.segments = rows.segments
        if chosen is not None:
            self.segments = Segments(np.bincount(self.topic, minlength=rows.segments.topics))

    def pick(self, column: NDArray[Value]) -> NDArray[Value]:
        """Those of the column of all relevant rows that are left."""
        return column if self._chosen is None else column.take(self._chosen, axis=-1)

    @property
    def place(self) -> NDArray[np.intp]:
        """The rank as an integer."""
        return self.pick(self._ranked.place)

    @property
    def rank(self) -> Scores:
        return self.pick(self._ranked.rank)

    @property
    def level(self) -> NDArray[np.int8]:
        return self.pick(self._ranked.rows.level)

    @property
    def count(self) -> Scores:
        return self.pick(self._ranked.rows.count)

    @property
    def row(self) -> NDArray[np.intp]:
        return self.pick(self._ranked.rows.row)

    @property
    def topic_class(self) -> NDArray[np.intp]:
        return self.pick(self._ranked.rows.topic_class)

    @property
    def ideal_counts(self) -> Scores:
        return self.pick(self._ranked.ideal_counts)

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The place of the topmost of each topic's rows among them all, topics without any left out."""
        return self.segments.starts.take(self.segments.filled)

    @cached_property
    def preferred(self) -> NDArray[np.intp]:
        """The same of the topmost row of the highest level."""
        # The higher the level and, of one level, the fewer the rows above, the greater the number.
        rows = len(self.topic)
        preference = self.level.astype(np.intp) * rows - np.arange(rows)
        greatest = np.maximum.reduceat(preference, self.first) if rows else preference
        return -greatest % max(rows, 1)


class Cuts:
    """A ranking to one rank or another, of which those last asked for are remembered."""

    def __init__(self, ranked: RankedRows) -> None:
        self._ranked = ranked
        self._deepest = int(ranked.place.max(initial=0))
        self._columns: dict[int | None, Columns] = {}

    def to(self, upto: Upto) -> Columns:
        """The rows at ranks <= `upto`."""
        ranked = self._ranked
        if isinstance(upto, np.ndarray):
            return Columns(ranked, (ranked.rank <= upto.take(ranked.rows.topic)).nonzero()[0])
        upto = None if upto is None or upto >= self._deepest else upto
        if (columns := self._columns.get(upto)) is None:
            if len(self._columns) >= _MOST_CUTS:
                self._columns.clear()
            chosen = None if upto is None else (ranked.place <= upto).nonzero()[0]
            columns = self._columns[upto] = Columns(ranked, chosen)
        return columns

    @cached_property
    def to_relevant_count(self) -> Columns:
        """The rows at ranks <= R."""
        counts = self._ranked.rows.counts
        return self.to(counts.relevant_count.take(counts.topic_class))
