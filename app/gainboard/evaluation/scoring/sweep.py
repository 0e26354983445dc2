"""Mean scores of runs over a whole grid of parameters, in one pass over the judged rankings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.judgments.topic_groups import ChosenTopics, topics_of
from gainboard.evaluation.judgments.versions import JudgedVersion, select
from gainboard.evaluation.scoring.binding import DEFAULT_METRICS, refuse_custom, scale_of, undefined
from gainboard.evaluation.scoring.scorer import SCORE_SECONDS, mean_scores
from gainboard.evaluation.scoring.selection import visible_runs
from gainboard.evaluation.scoring.turns import spend
from gainboard.evaluation.workspace import Workspace
from gainboard.metrics import BoundMetric, expand, resolve
from gainboard.notation.queries import MOST_POINTS
from gainboard.store.records import NEWEST, Collection, Qrels, Run, VersionName
from gainboard.vocabulary import LateShown

MOST_SCORES = 200_000_000
"""The most points x runs x topics behind the means: some seconds of work."""


@dataclass(frozen=True)
class Grid:
    """The grid: metrics, and the values of parameters by name. All values are combined."""

    metrics: Sequence[str]
    values: Mapping[str, Sequence[str]]
    runs: Sequence[str] | None = None
    qrels: VersionName = NEWEST
    late: LateShown = "include"
    topics: str | None = None
    """The name of a topic group; None means all topics."""


@dataclass(frozen=True)
class Point:
    """A metric of the grid: the expression that gave it, and its values from the grid, as its label writes them."""

    asked: str
    metric: BoundMetric
    parameters: Mapping[str, str]


@dataclass(frozen=True)
class SweptScores:
    """The answer: `means` is float64 [points, runs], NaN if a run has none."""

    collection: Collection
    qrels: Qrels
    points: Sequence[Point]
    runs: Sequence[Run]
    topics_scored: Sequence[int]
    """The number of topics in the means of each point."""
    means: NDArray[np.float64]
    chosen: ChosenTopics | None = None
    """The topic group that the means are about; None if they are about all topics."""


def sweep(workspace: Workspace, principal: Principal, name: str, grid: Grid) -> SweptScores:
    """Score runs at every point of the grid, for principals who may see scores under any parameters."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_free_scores()
        refuse_custom(list(grid.metrics), "query.metric", "A sweep varies parameters, and uploaded scores have none.")
        points = _points(view.collection, grid)
        version = select(tx, view, grid.qrels)
        chosen = visible_runs(workspace, tx, view, grid.runs, grid.late)
        group, topics = topics_of(workspace, tx, view, version, grid.topics)
    metrics = [point.metric for point in points]
    count = len(metrics) * len(chosen) * len(topics.topics)
    if count > MOST_SCORES:
        message = (
            f"These are means of {count:,} scores (points x runs x topics), but one sweep may have at most "
            f"{MOST_SCORES:,}. Give fewer values, or select runs: `run=NAME`."
        )
        raise InvalidRequest.at("query", "too-many", message)
    # After the transaction, because `spend` may wait for a turn, and a transaction that is open holds a connection.
    spend(count * SCORE_SECONDS)
    means = mean_scores(workspace, view.collection, JudgedVersion(version, topics), chosen, metrics)
    scored = len(topics.topics) - undefined(metrics, topics).sum(axis=1)
    return SweptScores(view.collection, version, points, chosen, scored.tolist(), means, group)


def _points(collection: Collection, grid: Grid) -> list[Point]:
    """Return the distinct metrics in the order of the request, then of the values, the last parameter fastest."""
    expressions = expand(grid.metrics or collection.metrics or DEFAULT_METRICS, collection.highest_level)
    if (count := len(expressions) * prod(map(len, grid.values.values()))) > MOST_POINTS:
        message = (
            f"{len(expressions)} metrics under all combinations are {count:,} points, but one sweep may have at most "
            f"{MOST_POINTS:,}. Give fewer metrics or values."
        )
        raise InvalidRequest.at("query", "too-many", message)
    scale, defaults = scale_of(collection), {"gains": collection.gains}
    points: dict[str, Point] = {}
    for expression in expressions:
        for combination in product(*grid.values.values()):
            values = dict(zip(grid.values, combination, strict=True))
            metric = resolve(expression, scale, defaults={**defaults, **values})
            of_grid = [parameter for parameter in metric.metric.parameters if parameter.name in values]
            written = {parameter.name: parameter.write(metric.parameters[parameter.name]) for parameter in of_grid}
            points.setdefault(metric.label, Point(expression, metric, written))
    return list(points.values())
