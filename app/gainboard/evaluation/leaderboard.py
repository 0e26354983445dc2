"""Runs ranked by their mean scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.policy import late_from
from gainboard.evaluation.principals import Sender
from gainboard.evaluation.scoring import Question, ScoreTable, score
from gainboard.evaluation.workspace import Workspace
from gainboard.store.records import Run

Floats = NDArray[np.float64]


class Row(NamedTuple):
    """A row of the leaderboard: a run's rank, and its index among the scored runs."""

    rank: int
    run: Run
    column: int


@dataclass(frozen=True)
class RankedRuns:
    """Rows in order of the metric `by`: best first, equal means share a rank, runs without a mean last."""

    scores: ScoreTable
    means: Floats
    """[metrics, runs]."""
    by: str
    rows: Sequence[Row]
    is_whole: bool
    """False if late runs are left out."""

    def means_of(self, row: Row) -> list[float]:
        """Return a run's means, in the order of the metrics."""
        means: list[float] = self.means[:, row.column].tolist()
        return means

    def intervals_of(self, row: Row) -> list[tuple[float, float] | None]:
        """Return the intervals of a run's means, in the order of the metrics; None if there is none.

        The width of an interval reveals something about single topics, so there is none while these are hidden. A
        geometric mean has none, because the interval is about the arithmetic mean.
        """
        if self.scores.disclosure is not None:
            return [None] * len(self.means)
        return [
            None if math.isnan(low) or metric.is_geometric else (low, high)
            for metric, low, high in zip(self.scores.metrics, *self._ends[row.column], strict=True)
        ]

    @cached_property
    def _ends(self) -> list[list[list[float]]]:
        """The lower and upper ends by run, in the order of the metrics."""
        ends: list[list[list[float]]] = np.stack(self.scores.scored.intervals).transpose(2, 0, 1).tolist()
        return ends


def leaderboard(workspace: Workspace, sender: Sender, name: str, question: Question, by: str | None) -> RankedRuns:
    """Rank the collection's runs by the metric `by`, which is added to the request if it is not part of it."""
    scores = score(workspace, sender, name, replace(question, also=(by,) if by else (), as_many_as_may=True))
    chosen = scores.asked[by] if by else scores.metrics[0].label
    means = scores.means()
    is_whole = question.late == "include" or late_from(scores.collection) is None
    return RankedRuns(scores, means, chosen, _rows(scores, means[scores.labels().index(chosen)].tolist()), is_whole)


def _rows(scores: ScoreTable, means: Sequence[float]) -> list[Row]:
    keys = [(_descending(mean), run.name) for mean, run in zip(means, scores.runs, strict=True)]
    rows: list[Row] = []
    before: tuple[bool, float] | None = None
    for place, column in enumerate(sorted(range(len(keys)), key=keys.__getitem__), start=1):
        mean, _ = keys[column]
        rows.append(Row(rows[-1].rank if mean == before else place, scores.runs[column], column))
        before = mean
    return rows


def _descending(mean: float) -> tuple[bool, float]:
    # The same sum in another order may differ in its last bits. 12 decimals decide, as in the analyses.
    return (True, 0.0) if math.isnan(mean) else (False, -round(mean, 12))
