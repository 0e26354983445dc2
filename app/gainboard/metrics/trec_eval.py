"""trec_eval's names for metrics that Gainboard defines in the same way."""

from __future__ import annotations

from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.expressions import resolve
from gainboard.metrics.rankings import Scale
from gainboard.metrics.vocabularies import TREC_EVAL


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """Return trec_eval's own name for this metric with these parameters, or None if trec_eval has no name for it."""
    for name, word in TREC_EVAL.words.items():
        if word.ours == metric.metric.name:
            written = name if word.cutoff == "never" else f"{name}_{metric.cutoff}"
            if TREC_EVAL.has(written) and resolve(TREC_EVAL.translate(written), scale).label == metric.label:
                return written
    return None
