"""Runs ranked by their mean scores."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.evaluation.principals import Principal
from app.evaluation.scoring import Question, Scores, score
from app.evaluation.workspace import Workspace
from app.statistics import mean_intervals
from app.store.records import Run


@dataclass(frozen=True)
class Row:
    """One run's place. `means` and `intervals` stand in the order of the leaderboard's metrics."""

    rank: int
    run: Run
    means: Sequence[float]
    intervals: Sequence[tuple[float, float] | None]


@dataclass(frozen=True)
class Leaderboard:
    """Rows in order of the metric `by`: best first, equal means share a rank, runs without a mean last."""

    scores: Scores
    by: str
    rows: Sequence[Row]


def leaderboard(
    workspace: Workspace, principal: Principal, name: str, question: Question, by: str | None
) -> Leaderboard:
    """Ranks the collection's runs by `by`, which is one of the metrics asked for, or joins them."""
    scores = score(workspace, principal, name, replace(question, also=(by,) if by else (), as_many_as_may=True))
    chosen = scores.asked[by] if by else scores.metrics[0].label
    return Leaderboard(scores, chosen, _rows(scores, chosen))


def _rows(scores: Scores, by: str) -> list[Row]:
    means = scores.means()
    key = means[[metric.label for metric in scores.metrics].index(by)].tolist()
    order = sorted(range(len(scores.runs)), key=lambda column: (_descending(key[column]), scores.runs[column].name))
    # How wide an interval is tells of single topics, so there is none while those are hidden.
    intervals = _intervals(scores) if scores.disclosure is None else [[None] * len(means)] * len(scores.runs)
    rows: list[Row] = []
    for place, column in enumerate(order, start=1):
        same = bool(rows) and _descending(key[column]) == _descending(key[order[place - 2]])
        rank = rows[-1].rank if same else place
        rows.append(Row(rank, scores.runs[column], means[:, column].tolist(), intervals[column]))
    return rows


def _intervals(scores: Scores) -> list[list[tuple[float, float] | None]]:
    """[runs][metrics]: None where there is no interval."""
    low, high = mean_intervals(scores.table)
    # An interval of the arithmetic mean would not be about a geometric one.
    low[[metric.parameters["mean"] != "arithmetic" for metric in scores.metrics]] = np.nan
    ends = np.stack((low, high), axis=-1).swapaxes(0, 1).tolist()
    return [[None if math.isnan(low) else (low, high) for low, high in row] for row in ends]


def _descending(mean: float) -> tuple[bool, float]:
    # Equal sums added in another order may differ in the last bits; 12 decimals decide, as in the analyses.
    return (True, 0.0) if np.isnan(mean) else (False, -round(mean, 12))
