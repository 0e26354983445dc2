"""trec_eval's names for metrics that Gainboard defines in the same way."""

from __future__ import annotations

from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.expressions import resolve
from gainboard.metrics.names import is_pinned, with_cutoff
from gainboard.metrics.rankings import Scale


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """Return trec_eval's own name for this metric with these parameters, or None if trec_eval has no name for it."""
    for alias in filter(is_pinned, metric.metric.aliases):
        name = with_cutoff(alias, metric.cutoff)
        if name is not None and resolve(name, scale).label == metric.label:
            return name
    return None
