"""A judged run as compiled code reads it: its relevant rows, and all of them that no gain, base or cut-off changes.

That is found once and remembered for as long as the run lives, or until more is remembered than memory is set aside
for. Arrays by row have one row more than there are relevant ones: row 0 is of zeros, for topics that have none.
"""

from __future__ import annotations

from threading import Lock
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.ideal import LevelCounts
from gainboard.metrics.rankings import JudgedRun, Judgments

CONDENSED_SCALE, RAW_SCALE = 1, 2
"""What the number of a scale of system scores is the sum of: 0 scales them to [0, 1] over the whole ranking."""
MOST_BYTES: Final = 64 << 20
"""Of all runs together."""


class RelevantColumns(NamedTuple):
    """The relevant rows of a run, and the qrels of its topics by class as `LevelCounts` has them.

    By topic, uint32: `first` row [n+1] and `topic_class` [n]. By row, uint32 [rows] `topic` and `row_class`; uint8
    [rows] `level`; uint16 [2, rows] `rank`, as it is and condensed; uint16 [3, h, rows] `counted`, the documents of
    each level or a higher one among as many of the ideal ranking, the same condensed, and so far in the run. By class,
    int64 [c, h+1] `counts` of documents at each level, nothing at level 0. int64 [3] `deepest` rank of the run, the
    same condensed, and of the ideal rankings.
    """

    first: NDArray[np.uint32]
    topic: NDArray[np.uint32]
    row_class: NDArray[np.uint32]
    level: NDArray[np.uint8]
    rank: NDArray[np.uint16]
    counted: NDArray[np.uint16]
    topic_class: NDArray[np.uint32]
    counts: NDArray[np.int64]
    deepest: NDArray[np.int64]


class DistanceColumns(NamedTuple):
    """The run's own scores on some scales, whose numbers are int64 [s] `scales`; all else is float64.

    By row [s, rows] `system`. By topic [s, n] the `distance` that there would be if no document was worth anything,
    and the `documents` judged or retrieved; none if the run lacks the topic.
    """

    system: Scores
    distance: Scores
    documents: Scores
    scales: NDArray[np.int64]


class RunColumns:
    """The columns of one run; they do not keep it alive."""

    def __init__(self, run: JudgedRun, judgments: Judgments) -> None:
        self.judgments = judgments
        self.relevant = _relevant_columns(run, judgments.counts(1))
        self._distances: dict[tuple[int, ...], DistanceColumns] = {}

    @property
    def nbytes(self) -> int:
        """What they take in memory."""
        return sum(column.nbytes for columns in (self.relevant, *self._distances.values()) for column in columns)

    def distances(self, run: JudgedRun, scales: tuple[int, ...]) -> DistanceColumns:
        """Those on these scales. Raises ValueError if there are any and the run's scores were not loaded."""
        if (found := self._distances.get(scales)) is None:
            columns = [self._on_scale(run, scale) for scale in scales]
            shape = (3, len(scales), 0)
            system, distance, documents = map(np.array, zip(*columns, strict=True)) if columns else np.empty(shape)
            found = DistanceColumns(system, distance, documents, np.array(scales, np.int64))
            self._distances[scales] = found
        return found

    def _on_scale(self, run: JudgedRun, scale: int) -> tuple[Scores, Scores, Scores]:
        raw, condensed = bool(scale & RAW_SCALE), bool(scale & CONDENSED_SCALE)
        distance, documents = run.system_distance(raw, condensed), self.judgments.judged_count
        if not condensed:
            scores = run.loaded_scores
            distance = distance + (scores.unjudged_absolute if raw else scores.unjudged_scaled)
            documents = documents + run.retrieved - np.diff(run.starts)
        topic = self.relevant.topic[1:].astype(np.intp)
        system = run.system_scores.at(run.starts[topic] + self.relevant.rank[1, 1:] - 1, topic, raw, condensed)
        return _after_none(system, np.float64), distance, np.where(run.retrieved > 0, documents, 0.0)


class _Remembered:
    """The columns of the runs that are alive, as many as there is memory for."""

    def __init__(self) -> None:
        self._columns: WeakKeyDictionary[JudgedRun, RunColumns] = WeakKeyDictionary()
        self._bytes = 0  # at most this, for runs that are gone by now are still counted
        self._lock = Lock()

    def find(self, run: JudgedRun) -> RunColumns | None:
        return self._columns.get(run)

    def keep(self, run: JudgedRun, columns: RunColumns) -> RunColumns:
        with self._lock:
            self._bytes += columns.nbytes
            if self._bytes > MOST_BYTES:
                # Counted anew only here, for with each of many runs that would cost more than to score it.
                self._bytes = columns.nbytes + sum(each.nbytes for each in self._columns.values())
            if self._bytes > MOST_BYTES:
                self._columns.clear()
                self._bytes = columns.nbytes
            self._columns[run] = columns
        return columns


_REMEMBERED: Final = _Remembered()


def columns_of(run: JudgedRun, judgments: Judgments) -> RunColumns:
    """The columns of a run joined with these judgments, whose ranks are uint16."""
    found = _REMEMBERED.find(run)
    if found is not None and found.judgments is judgments:
        return found
    return _REMEMBERED.keep(run, RunColumns(run, judgments))


def _relevant_columns(run: JudgedRun, counts: LevelCounts) -> RelevantColumns:
    row = np.flatnonzero(run.level > 0)
    topic = np.searchsorted(run.starts, row, side="right") - 1
    row_class, first = counts.topic_class.take(topic), np.searchsorted(row, run.starts)
    rank = np.stack((run.rank.take(row), row - run.starts.take(topic) + 1))
    so_far = _so_far(run.level.take(row), first.take(topic), len(counts.last))
    counted = (*np.minimum(rank[:, np.newaxis], counts.last.take(row_class, axis=1)), so_far)
    return RelevantColumns(
        first=(first + 1).astype(np.uint32),
        topic=_after_none(topic, np.uint32),
        row_class=_after_none(row_class, np.uint32),
        level=_after_none(run.level.take(row), np.uint8),
        rank=_after_none(rank, np.uint16),
        counted=_after_none(np.stack(counted), np.uint16),
        topic_class=counts.topic_class.astype(np.uint32),
        counts=np.concatenate((np.zeros_like(counts.relevant[:1]), counts.relevant)).T.copy(),
        deepest=np.array([*rank.max(axis=1, initial=0), counts.deepest], np.int64),
    )


def _so_far(level: NDArray[np.int8], first: NDArray[np.intp], levels: int) -> NDArray[np.int64]:
    """How many rows from the topic's `first` one on are of level 1, 2, ..., h or a higher one, int64 [h, rows]."""
    counts = np.zeros((levels, len(level) + 1), np.int64)
    np.cumsum(level >= np.arange(1, levels + 1)[:, np.newaxis], axis=1, out=counts[:, 1:])
    return np.asarray(counts[:, 1:] - counts.take(first, axis=1))


def _after_none(values: NDArray[Any], dtype: DTypeLike) -> NDArray[Any]:
    """Values by row, after a row of zeros."""
    kept = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype)
    kept[..., 1:] = values
    return kept
