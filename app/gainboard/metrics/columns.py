"""Judged rankings as NumPy columns, by row and by ranking. Each column is computed when it is first read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.rankings import JudgedRun, JudgedRuns
from gainboard.metrics.retrieval import Scores, by_topic
from gainboard.metrics.user_models import five_numbers


class Rankings:
    """The columns of some runs: by row, and by ranking (run after run, topic after topic).

    - `size` and `start` intp [rankings]: the number of rows of each ranking, and its first row.
    - `bounds` intp [rankings + 1]: where each ranking starts, and the number of all rows.
    """

    weight: Scores | None = None
    """The weight of each row in sums, float64 [rows]; None if all are 1."""

    def __init__(self, runs: JudgedRuns, chosen: NDArray[np.intp]) -> None:
        """Choose the runs at the positions `chosen`, intp [chosen]."""
        first = runs.first.take(chosen, axis=0)
        self._runs, self._chosen = runs, chosen
        self.classes = runs.judgments.classes
        self.size = (first[:, 1:] - first[:, :-1]).ravel()
        self.bounds = np.zeros(len(self.size) + 1, np.intp)
        self.size.cumsum(out=self.bounds[1:])
        self.start = self.bounds[:-1]
        # Successive runs are a view of the columns, without a copy.
        if len(chosen) and chosen[-1] - chosen[0] == len(chosen) - 1:
            self.taken: slice | NDArray[np.intp] = slice(int(first[0, 0]), int(first[-1, -1]))
        else:
            spans = [np.arange(begin, end) for begin, end in zip(first[:, 0], first[:, -1], strict=True)]
            self.taken = np.concatenate(spans) if spans else np.zeros(0, np.intp)
        self.level: NDArray[np.int8] = runs.level[self.taken]

    @property
    def deepest(self) -> int:
        """A rank that no row is below."""
        return self._runs.deepest

    @cached_property
    def ranking_class(self) -> NDArray[np.intp]:
        """The class of each ranking's topic, intp [rankings]."""
        return self.classes.topic_class[np.newaxis].repeat(len(self._chosen), axis=0).ravel()

    @cached_property
    def ranking(self) -> NDArray[np.intp]:
        """The ranking of each row, as its number: intp [rows]."""
        return np.repeat(np.arange(len(self.size)), self.size)

    @cached_property
    def row_class(self) -> NDArray[np.intp]:
        """The class of each row's topic, intp [rows]."""
        return self.ranking_class.repeat(self.size)

    @cached_property
    def missing(self) -> NDArray[np.intp]:
        """The numbers of the rankings that are missing, because the run lacks the topic."""
        return self._runs.missing[self._chosen].ravel().nonzero()[0]

    @cached_property
    def ranks(self) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
        """The rank of each row, that among the judged documents, and that among those of level >= 0: intp [rows]."""
        ranks = self._runs.rank[:, self.taken].astype(np.intp)
        return ranks[0], ranks[1], ranks[-1]

    @cached_property
    def float_ranks(self) -> tuple[Scores, Scores, Scores]:
        """The columns of `ranks`, as float64."""
        ranks = self._runs.rank[:, self.taken].astype(np.float64)
        return ranks[0], ranks[1], ranks[-1]

    @cached_property
    def level_index(self) -> NDArray[np.intp]:
        """The level of each row, intp [rows], as `take` reads it without converting it."""
        return self.level.astype(np.intp)

    @cached_property
    def ideal_ends(self) -> Scores:
        """The last rank of each level, 1 to h, in the ideal ranking of the row's topic: float64 [h, rows]."""
        return self.classes.last.T[1:].astype(np.float64).take(self.ranking_class, axis=1).repeat(self.size, axis=1)

    def upto(self, limit: Any, condensed: int) -> Rows:
        """Return the rows of each ranking at ranks <= `limit`. `limit` is one number, or one for each ranking."""
        limits = limit.repeat(self.size) if isinstance(limit, np.ndarray) else limit
        (row,) = (self.float_ranks[condensed] <= limits).nonzero()
        if len(row) == len(self.level):
            return self.all_rows
        bounds = row.searchsorted(self.bounds)
        return Rows(self, bounds[1:] - bounds[:-1], row, bounds[:-1])

    @property
    def all_rows(self) -> Rows:
        """All rows of each ranking."""
        # They hold this object. If it held them, too, only the garbage collector would free the columns.
        return Rows(self, self.size, None, self.start)

    @cached_property
    def counts(self) -> list[Scores]:
        """A list by level, 0 to h: count(r) of the documents of this level or a higher one, float64 [rows]."""
        levels = np.arange(1, self.classes.highest_level + 1)[:, np.newaxis]
        # Four bytes are enough for the rows computed at once, and take half the time of eight.
        running = np.zeros((len(levels), len(self.level) + 1), np.int32)
        (self.level >= levels).cumsum(axis=1, out=running[:, 1:])
        running[:, 1:] -= running.take(self.start, axis=1).repeat(self.size, axis=1)
        counts = running[:, 1:].astype(np.float64)
        return [counts[0], *counts]  # every row has level 1 or a higher one

    @cached_property
    def _tops(self) -> dict[int, NDArray[np.intp]]:
        return {}

    def relevant_rows(self, rel: int) -> NDArray[np.intp]:
        """Return the indexes of the rows of level `rel` or a higher one."""
        if (rows := self._tops.get(rel)) is None:
            rows = self._tops[rel] = np.flatnonzero(self.level >= rel)
        return rows

    def system_scores(self, raw: int, condensed: int) -> Scores:
        """Return the runs' own scores by row, as in `SystemColumns`."""
        return self._runs.system_columns(bool(raw), bool(condensed)).system[self.taken]

    def by_ranking(self, operation: str, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
        """Return the value of an operation of `by_ranking`, float64 [rankings]."""
        return values_by_ranking(operation, self._runs, self._chosen, fixed, settings).ravel()


class Rows:
    """The first rows of each ranking.

    - `number` intp [rankings]: how many rows of each ranking are included.
    - `row` intp [included]: the rows that are included, or None for all rows.
    - `begin` intp [rankings]: where those of each ranking begin in `row`.
    """

    def __init__(
        self, rankings: Rankings, number: NDArray[np.intp], row: NDArray[np.intp] | None, begin: NDArray[np.intp]
    ) -> None:
        self._rankings = rankings
        self.number = number
        self._row, self._begin = row, begin

    @cached_property
    def filled(self) -> NDArray[np.intp]:
        """The numbers of the rankings that have rows."""
        return self.number.nonzero()[0]

    def _select_filled(self, by_ranking: NDArray[np.intp]) -> NDArray[np.intp]:
        return by_ranking if len(self.filled) == len(by_ranking) else by_ranking.take(self.filled)

    @cached_property
    def first(self) -> NDArray[np.intp]:
        """The first row of each ranking that has rows."""
        return self._select_filled(self._rankings.start)

    @cached_property
    def last(self) -> NDArray[np.intp]:
        """The last row of each ranking that has rows."""
        return self._select_filled(self._rankings.start + self.number - 1)

    @cached_property
    def preferred(self) -> NDArray[np.intp]:
        """The first row of the highest level found, of each ranking that has rows."""
        # One number orders rows by descending level, and rows of the same level by ascending position.
        level = self._rankings.level_index
        preference: NDArray[np.intp] = level * len(level) - np.arange(len(level))
        rows: NDArray[np.intp] = -self.reduce(np.maximum, preference) % max(len(level), 1)
        return self._select_filled(rows)

    def by_row(self, by_class: NDArray[Any]) -> NDArray[Any]:
        """Return the number of the topic's class for each row that is included."""
        return by_class.take(self._rankings.ranking_class).repeat(self.number)

    def select(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return those of the `values` by row that belong to rows that are included."""
        return values if self._row is None else values.take(self._row)

    def put_back(self, values: Scores) -> Scores:
        """Return an array by row: the given values for the rows that are included, and 0 for the others."""
        if self._row is None:
            return values
        by_row = np.zeros(len(self._rankings.level))
        by_row[self._row] = values
        return by_row

    def reduce(self, operation: np.ufunc, values: NDArray[Any]) -> NDArray[Any]:
        """Reduce the `values` by row with the operation: one number for each ranking, 0 for one without rows."""
        # Only expected scores over tied documents weight their rows.
        if (weight := self._rankings.weight) is not None:
            values = values * weight
        values = self.select(values)
        filled = self.filled
        if len(filled) == len(self.number):
            return np.asarray(operation.reduceat(values, self._begin)) if len(filled) else values[:0]
        # For a stretch without rows, `reduceat` gives the first number of the next one. So such rankings are left out.
        placed = np.zeros(len(self.number), values.dtype)
        if len(filled):
            placed[filled] = operation.reduceat(values, self._begin.take(filled))
        return placed

    def expand(self, values: Any) -> Scores:
        """Return an array by ranking: the given values for rankings that have rows, and 0 for the others."""
        if len(self.filled) == len(self.number):
            return np.asarray(values)
        placed = np.zeros(len(self.number))
        placed[self.filled] = values
        return placed


Integers = NDArray[np.intp]
_Function = Callable[[JudgedRuns, Integers, Sequence[int], Sequence[Any]], Scores]


def values_by_ranking(
    operation: str, runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]
) -> Scores:
    """Return the value of an operation in BY_RANKING for the runs at the positions `chosen`: float64 [chosen, n].

    `fixed` and `settings` are those of the operation. Raises ValueError if it needs scores that were not loaded.
    """
    return BY_RANKING[operation](runs, chosen, fixed, settings)


def _distance(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    return runs.system_columns(bool(fixed[0]), bool(fixed[1])).distance.take(chosen, axis=0)


def _documents(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    return runs.system_columns(bool(fixed[0]), bool(fixed[1])).documents.take(chosen, axis=0)


def _judged_at_zero(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    return np.tile(runs.judgments.level_counts[:, 0].astype(np.float64), (len(chosen), 1))


def _retrieved(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    whole = runs.whole
    every = [whole[number][0].judged_count if fixed[0] else whole[number][0].retrieved for number in chosen]
    return np.array(every, np.float64).reshape(len(chosen), runs.judgments.topics)


def _judged_weight(runs: JudgedRuns, chosen: Integers, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
    whole, (condensed, upto), (discount,) = runs.whole, fixed, settings

    def of_run(run: JudgedRun) -> Scores:
        counts = run.judged_count
        rank = np.arange(1, len(run.rank) + 1) - np.repeat(run.starts[:-1], counts) if condensed else run.rank
        return by_topic(np.add, np.where(rank <= upto, discount.at(rank.astype(np.intp)), 0.0), counts)

    every = [of_run(whole[number][0]) for number in chosen]
    return np.array(every, np.float64).reshape(len(chosen), runs.judgments.topics)


BY_RANKING: Final[Mapping[str, _Function]] = {
    "system_distance": _distance,
    "documents": _documents,
    "judged_at_zero": _judged_at_zero,
    "retrieved": _retrieved,
    "judged_weight": _judged_weight,
    "expected_utility": lambda runs, chosen, fixed, settings: five_numbers(settings[0], runs, chosen)[0],
}
"""The functions of the operations, by name."""
