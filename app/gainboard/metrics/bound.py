"""A metric with all its parameters settled: what computes scores and means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import Metric
from gainboard.metrics.parameters import CONDENSED, GAINS, MEAN, REL
from gainboard.metrics.rankings import Scale
from gainboard.metrics.twin import as_numbers, mean_together, score_together
from gainboard.metrics.views import JudgedRankings, Reading

_FLOOR = 1e-5
"""What a score below it counts as in a geometric mean, as in trec_eval's gm_map."""


_READING = (GAINS.name, REL.name, CONDENSED.name)


class BoundMetric:
    """A metric, its parameters (typed values by name) and its cut-off (None: the whole ranking).

    `label` is the canonical expression: equal labels on equal scales mean equal scores. `reading` is how the metric
    has a run read: gains, relevance threshold, condensed or not. `arguments` is what its kernel is called with.
    """

    def __init__(self, metric: Metric, parameters: Mapping[str, Any], cutoff: int | None, scale: Scale) -> None:
        self.metric = metric
        self.parameters = MappingProxyType(dict(parameters))
        self.cutoff = cutoff
        self.label = _label(metric, parameters, cutoff, scale)
        own = dict(parameters)
        self.is_geometric = own.pop(MEAN.name) == "geometric"
        self.reading = Reading(**{key: own.pop(key) for key in _READING if key in own})
        self.arguments = {**own, "cutoff": cutoff} if metric.takes_cutoff else own

        self.as_numbers = as_numbers(metric.name, metric.graded, self.reading, self.arguments, scale.highest_level)

    def __repr__(self) -> str:
        return f"<BoundMetric {self.label}>"

    @property
    def needs_retrieval_scores(self) -> bool:
        """Whether `JudgedRun.retrieval_scores` must be there."""
        return self.metric.needs_retrieval_scores

    @property
    def is_bounded(self) -> bool:
        """Whether all scores lie in [0, 1]."""
        # The Average Distance Measure does so while it scales; scores taken as they are may be anything.
        return self.metric.bounded and "raw" not in self.parameters.values()

    def score(self, rankings: JudgedRankings) -> Scores:
        """The score of each topic, float64 [n].

        0 where the run lacks the topic; NaN where the metric is undefined, because no document is relevant or,
        for graded metrics, because the ideal ranking is worth nothing.
        """
        return np.asarray(_score_plainly([self], rankings)[0])

    def mean(self, scores: Scores) -> float:
        """The mean score over the topics for which it is defined, of one run (float64 [n]); NaN if none is."""
        return float(self.means(scores))

    def means(self, scores: Scores) -> Scores:
        """`mean` over the last axis of `scores` float64 [..., n]."""
        return np.asarray(_mean_plainly([self], scores[np.newaxis])[0])


def score_all(metrics: Sequence[BoundMetric], rankings: JudgedRankings) -> Scores:
    """What `BoundMetric.score` says of each topic for each of the metrics, float64 [metrics, n].

    To 1e-12: it may be compiled, which single scores never are.
    """
    table = score_together([metric.as_numbers for metric in metrics], rankings.run, rankings.judgments)
    return _score_plainly(metrics, rankings) if table is None else table


def mean_all(metrics: Sequence[BoundMetric], table: Scores) -> Scores:
    """What `BoundMetric.means` says of each metric's scores, float64 [metrics, ..., n]: float64 [metrics, ...]."""
    means = mean_together([metric.is_geometric for metric in metrics], table)
    return _mean_plainly(metrics, table) if means is None else means


def _score_plainly(metrics: Sequence[BoundMetric], rankings: JudgedRankings) -> Scores:
    table = np.empty((len(metrics), len(rankings.run.retrieved)))
    with np.errstate(all="ignore"):
        for scores, metric in zip(table, metrics, strict=True):
            view = rankings.view(metric.metric.reads, metric.reading)
            scores[:] = metric.metric.kernel(view, **metric.arguments)
            if len(rankings.missing):
                scores[rankings.missing] = 0.0
            if len(view.undefined):
                scores[view.undefined] = np.nan
    return table


def _mean_plainly(metrics: Sequence[BoundMetric], table: Scores) -> Scores:
    geometric = [row for row, metric in enumerate(metrics) if metric.is_geometric]
    if geometric:
        table = table.copy()
        table[geometric] = np.log(np.maximum(table[geometric], _FLOOR))
    with np.errstate(invalid="ignore"):
        means = np.asarray(table.sum(axis=-1) / np.float64(table.shape[-1]))
        if (some := np.isnan(means)).any():
            scores = table[some]
            undefined = np.isnan(scores)
            means[some] = np.where(undefined, 0.0, scores).sum(axis=-1) / (~undefined).sum(axis=-1)
    if geometric:
        means[geometric] = np.exp(means[geometric])
    return means


def _label(metric: Metric, parameters: Mapping[str, Any], cutoff: int | None, scale: Scale) -> str:
    shown = [
        f"{parameter.name}={parameter.write(parameters[parameter.name])}"
        for parameter in sorted(metric.parameters, key=lambda parameter: parameter.name)
        if parameter.always_shown or parameters[parameter.name] != parameter.default_value(scale)
    ]
    return metric.name + (f"({','.join(shown)})" if shown else "") + (f"@{cutoff}" if cutoff is not None else "")
