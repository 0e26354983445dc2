"""The names under which trec_eval prints what Gainboard defines alike."""

from __future__ import annotations

from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.expressions import resolve
from gainboard.metrics.names import is_pinned, with_cutoff
from gainboard.metrics.rankings import Scale


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """trec_eval's own name for exactly this metric under these parameters; None where it has none."""
    for alias in filter(is_pinned, metric.metric.aliases):
        name = with_cutoff(alias, metric.cutoff)
        if name is not None and resolve(name, scale).label == metric.label:
            return name
    return None
