"""A metric with all its parameters settled: what computes scores and means."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from app.metrics.arrays import Scores
from app.metrics.catalogue import Metric
from app.metrics.parameters import CONDENSED, GAINS, MEAN, REL
from app.metrics.rankings import Scale
from app.metrics.views import JudgedRankings, Reading

_FLOOR = 1e-5
"""What a score below it counts as in a geometric mean, as in trec_eval's gm_map."""


_READING = (GAINS.name, REL.name, CONDENSED.name)


class BoundMetric:
    """A metric, its parameters (typed values by name) and its cut-off (None: the whole ranking).

    `label` is the canonical expression: equal labels on equal scales mean equal scores. `reading` is how the metric
    has a run read: gains, relevance threshold, condensed or not.
    """

    def __init__(self, metric: Metric, parameters: Mapping[str, Any], cutoff: int | None, scale: Scale) -> None:
        self.metric = metric
        self.parameters = MappingProxyType(dict(parameters))
        self.cutoff = cutoff
        self.label = _label(metric, parameters, cutoff, scale)
        own = dict(parameters)
        self._geometric = own.pop(MEAN.name) == "geometric"
        self.reading = Reading(**{key: own.pop(key) for key in _READING if key in own})
        self._arguments = {**own, "cutoff": cutoff} if metric.takes_cutoff else own

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
        view = rankings.view(self.metric.reads, self.reading)
        with np.errstate(all="ignore"):
            scores = self.metric.kernel(view, **self._arguments)
            scores[rankings.missing] = 0.0
            scores[view.undefined] = np.nan
        return scores

    def mean(self, scores: Scores) -> float:
        """The mean score over the topics for which it is defined, of one run (float64 [n]); NaN if none is."""
        return float(self.means(scores))

    def means(self, scores: Scores) -> Scores:
        """`mean` over the last axis of `scores` float64 [..., n]."""
        values = np.log(np.maximum(scores, _FLOOR)) if self._geometric else scores
        defined = ~np.isnan(values)
        with np.errstate(invalid="ignore"):
            means = np.where(defined, values, 0.0).sum(axis=-1) / defined.sum(axis=-1)
        return np.asarray(np.exp(means) if self._geometric else means)


def _label(metric: Metric, parameters: Mapping[str, Any], cutoff: int | None, scale: Scale) -> str:
    shown = [
        f"{parameter.name}={parameter.write(parameters[parameter.name])}"
        for parameter in sorted(metric.parameters, key=lambda parameter: parameter.name)
        if parameter.always_shown or parameters[parameter.name] != parameter.default_value(scale)
    ]
    return metric.name + (f"({','.join(shown)})" if shown else "") + (f"@{cutoff}" if cutoff is not None else "")
