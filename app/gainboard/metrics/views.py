"""How a metric reads a judged run. A kernel says by the type of its first parameter what it may look at."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.found import Found, GradedFound, RowGains
from gainboard.metrics.gains import FLAT, GainSetting
from gainboard.metrics.ideal import IdealRankings
from gainboard.metrics.rankings import JudgedRun, Judgments, RetrievalScores
from gainboard.metrics.remembered import RunRows, rows_of
from gainboard.metrics.rows import Columns, Cuts, Upto


class Reading(NamedTuple):
    """The parameters that say how a run is read, before any metric computes on it."""

    gains: GainSetting = FLAT
    rel: int = 1
    condensed: bool = False


Values = Callable[..., Scores]
"""A formula that takes the relevant documents found, and whatever else it needs, and gives each a value."""


class BinaryRankings:
    """A run as metrics of binary relevance read it: documents are relevant (level >= `rel`) or not."""

    def __init__(self, rankings: JudgedRankings, reading: Reading) -> None:
        self._found: dict[int | None, Found] = {}
        self._columns: dict[tuple[Any, ...], Scores] = {}
        self._sums: dict[tuple[Any, ...], Scores] = {}
        self._cuts = rankings.cuts(reading.rel, reading.condensed)
        self.reading = reading
        self.run = rankings.run
        self.judgments = rankings.judgments
        self.relevant_count: Scores = self.judgments.relevant_count(reading.rel)
        """R: the relevant documents of each topic, retrieved or not, float64 [n]."""

    @cached_property
    def undefined(self) -> NDArray[np.intp]:
        """The indices of the topics for which nothing of this kind is defined."""
        return np.flatnonzero(self.relevant_count == 0)

    def relevant(self, *, upto: Upto = None) -> Found:
        """The relevant documents retrieved at ranks <= `upto` (all of them if None)."""
        # No cut-off is 0, which stands for R, to which several metrics read.
        key = 0 if upto is self.relevant_count else upto
        if isinstance(key, np.ndarray):
            return self._find(key)
        found = self._found.get(key)
        if found is None:
            found = self._found[key] = self._find(upto)
        return found

    def sum(self, values: Values, *settings: Hashable, upto: Upto = None) -> Scores:
        """The sum of `values` over the relevant documents retrieved at ranks <= `upto`: float64 [n], for all to read.

        `values(found, *settings)` is worked out once for all of them, and so for all cut-offs.
        """
        found = self.relevant(upto=upto)
        key = (found, values, *settings)
        sums = self._sums.get(key)
        if sums is None:
            sums = self._sums[key] = found.sum_by_topic(found.pick(self.column(values, *settings)))
        return sums

    def at_first(self, values: Values, *settings: Hashable, upto: Upto = None) -> Scores:
        """`values` at the first relevant document, 0 if none is retrieved at ranks <= `upto`: float64 [n]."""
        found = self.relevant(upto=upto)
        return found.at_first(found.pick(self.column(values, *settings)))

    def at_preferred(self, values: Values, *settings: Hashable, upto: Upto = None) -> Scores:
        """`values` at the topmost among the documents of the highest level retrieved at ranks <= `upto`, 0 if no
        relevant one is: float64 [n]."""
        found = self.relevant(upto=upto)
        return found.at_preferred(found.pick(self.column(values, *settings)))

    def column(self, values: Values, *settings: Hashable) -> Scores:
        """`values(found, *settings)` for all relevant documents retrieved."""
        key = (values, *settings)
        column = self._columns.get(key)
        if column is None:
            column = self._columns[key] = values(self.relevant(), *settings)
        return column

    def _find(self, upto: Upto) -> Found:
        return Found(self._cut(upto))

    def _cut(self, upto: Upto) -> Columns:
        return self._cuts.to_relevant_count if upto is self.relevant_count else self._cuts.to(upto)


class GradedRankings(BinaryRankings):
    """A run as metrics of graded relevance read it: each relevant document is worth a gain."""

    def __init__(self, rankings: JudgedRankings, reading: Reading) -> None:
        super().__init__(rankings, reading)
        self._gains = rankings.row_gains(reading.gains, reading.rel)
        self.ideal: IdealRankings = self.judgments.ideal(reading.gains, reading.rel)
        """The ideal rankings of the same topics."""

    @property
    def highest_gain(self) -> float:
        """The gain of the scale's highest level before any adjustment, H."""
        return self.reading.gains.highest

    @cached_property
    def undefined(self) -> NDArray[np.intp]:
        """The indices of the topics whose ideal ranking is worth nothing."""
        return np.flatnonzero(self.ideal.total == 0)

    def relevant(self, *, upto: Upto = None) -> GradedFound:
        """The relevant documents retrieved at ranks <= `upto` (all of them if None)."""
        found = super().relevant(upto=upto)
        assert isinstance(found, GradedFound)
        return found

    def _find(self, upto: Upto) -> GradedFound:
        return GradedFound(self._cut(upto), self._gains, self.ideal)


class ScoredRankings(GradedRankings):
    """A run as a metric reads it that needs the run's own retrieval scores too."""

    @property
    def retrieval_scores(self) -> RetrievalScores:
        """The scores that the run gave its documents; ValueError if they were not loaded."""
        return self.run.loaded_scores

    def system_scores(self, found: Found, *, raw: bool) -> Scores:
        """The run's scores of the documents found, `raw` or scaled to [0, 1] over their ranking."""
        return self.run.system_scores.at(found.row, found.topic, raw, self.reading.condensed)

    def system_distance(self, *, raw: bool) -> Scores:
        """The sum of |score| over all judged documents retrieved, float64 [n]."""
        return self.run.system_distance(raw, self.reading.condensed)


View = TypeVar("View", bound=BinaryRankings)


class JudgedRankings:
    """One run against one qrels version, for the time of one request.

    Metrics share through it whatever does not depend on the metric, so score all of them on one object.
    """

    def __init__(self, run: JudgedRun, judgments: Judgments) -> None:
        self.run = run
        self.judgments = judgments
        self._views: dict[tuple[type[BinaryRankings], Reading], BinaryRankings] = {}
        self._gains: dict[tuple[GainSetting, int], RowGains] = {}

    @cached_property
    def _rows(self) -> RunRows:
        return rows_of(self.run, self.judgments)

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        """The indices of the topics that the run lacks."""
        return np.flatnonzero(self.run.retrieved == 0)

    def view(self, kind: type[View], reading: Reading) -> View:
        """The run as `kind` reads it."""
        view = self._views.get((kind, reading))
        if not isinstance(view, kind):
            view = self._views[kind, reading] = kind(self, reading)
        return view

    def cuts(self, rel: int, condensed: bool) -> Cuts:
        """The rows of level >= `rel` by rank, shared by all gain settings."""
        return self._rows.cuts(self.run, rel, condensed)

    def row_gains(self, gains: GainSetting, rel: int) -> RowGains:
        """What the rows of level >= `rel` are worth, condensed or not."""
        if (gains, rel) not in self._gains:
            rows = self._rows.relevant(self.run, rel)
            self._gains[gains, rel] = RowGains(rows, self.judgments.ideal(gains, rel))
        return self._gains[gains, rel]
