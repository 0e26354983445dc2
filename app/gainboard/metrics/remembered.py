"""What is remembered of the runs last read, from one request to the next: the relevant rows as no gain setting
changes them. All of it can be found anew, so little room is given to it, and none to runs that are gone."""

from __future__ import annotations

from threading import Lock
from typing import Final
from weakref import WeakKeyDictionary

import numpy as np

from gainboard.metrics.rankings import JudgedRun, Judgments
from gainboard.metrics.rows import Cuts, RankedRows, RelevantRows
from gainboard.metrics.segments import Segments

MOST_ROWS: Final = 1 << 18
"""Relevant rows and topics of all runs together, at some 180 bytes each, half as much again where many cut-offs
are asked for: some 80 runs of TREC's size."""
_MOST_READINGS: Final = 4
"""Ways to read a run that are remembered of it."""


class RunRows:
    """The relevant rows of one run against one qrels version. Threads may share it."""

    def __init__(self, run: JudgedRun, judgments: Judgments) -> None:
        # Not the run itself: it is the key, and would be kept alive.
        self.judgments = judgments
        self.weight = int(np.count_nonzero(run.level > 0)) + len(run.retrieved)
        self._rows: dict[int, RelevantRows] = {}
        self._cuts: dict[tuple[int, bool], Cuts] = {}

    def relevant(self, run: JudgedRun, rel: int) -> RelevantRows:
        """The rows of level >= `rel`."""
        if (rows := self._rows.get(rel)) is None:
            if len(self._rows) >= _MOST_READINGS:
                self._rows.clear()
            rows = self._rows[rel] = self._find(run, rel)
        return rows

    def _find(self, run: JudgedRun, rel: int) -> RelevantRows:
        counts = self.judgments.counts(rel)
        if rel > 1:
            return self.relevant(run, 1).above(counts)
        return RelevantRows.of(run, Segments(np.diff(run.starts)), counts)

    def cuts(self, run: JudgedRun, rel: int, condensed: bool) -> Cuts:
        """The same by rank, which `condensed` counts among the judged documents only."""
        if (cuts := self._cuts.get((rel, condensed))) is None:
            if len(self._cuts) >= _MOST_READINGS:
                self._cuts.clear()
            cuts = self._cuts[rel, condensed] = Cuts(RankedRows(run, self.relevant(run, rel), condensed))
        return cuts


_remembered: Final[WeakKeyDictionary[JudgedRun, RunRows]] = WeakKeyDictionary()
_lock: Final = Lock()


def rows_of(run: JudgedRun, judgments: Judgments) -> RunRows:
    """The relevant rows of the run, as they were if they are remembered."""
    with _lock:
        rows = _remembered.pop(run, None)
        if rows is None or rows.judgments is not judgments:
            rows = RunRows(run, judgments)
            _forget(MOST_ROWS - rows.weight)
        _remembered[run] = rows  # the last one, and so the last to be forgotten
        return rows


def _forget(most: int) -> None:
    """Drops those longest unused, until the rest weighs no more than that."""
    weight = sum(rows.weight for rows in _remembered.values())
    for run in list(_remembered):
        if weight <= most:
            break
        if (dropped := _remembered.pop(run, None)) is not None:
            weight -= dropped.weight
