"""The names under which trec_eval prints what Gainboard defines alike."""

from __future__ import annotations

from app.metrics.bound import BoundMetric
from app.metrics.catalogue import NUMBERED
from app.metrics.expressions import resolve
from app.metrics.names import is_pinned
from app.metrics.rankings import Scale


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """trec_eval's own name for exactly this metric under these parameters; None where it has none."""
    for alias in filter(is_pinned, metric.metric.aliases):
        name = alias if metric.cutoff is None else alias.removesuffix(NUMBERED) + f"_{metric.cutoff}"
        is_cut = alias.endswith(NUMBERED)
        if is_cut == (metric.cutoff is not None) and resolve(name, scale).label == metric.label:
            return name
    return None
