"""trec_eval's names for metrics that Gainboard defines in the same way."""

from __future__ import annotations

from collections.abc import Sequence

from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.expressions import resolve
from gainboard.metrics.gains import format_number
from gainboard.metrics.judgments import Scale
from gainboard.metrics.vocabularies import TREC_EVAL, Word


def trec_eval_name(metric: BoundMetric, scale: Scale) -> str | None:
    """Return trec_eval's own name for this metric with these parameters, or None if trec_eval has no name for it."""
    for name, word in TREC_EVAL.words.items():
        for written in _spellings(name, word, metric) if word.ours == metric.metric.name else ():
            if TREC_EVAL.has(written) and resolve(TREC_EVAL.translate(written), scale).label == metric.label:
                return written
    return None


def _spellings(name: str, word: Word, metric: BoundMetric) -> Sequence[str]:
    """Return the forms of a name that may stand for the metric, the one that trec_eval prints first."""
    if word.number:
        value = metric.parameters[word.number]
        exact = f"{name}_{format_number(value)}"
        return (name, exact) if word.cutoff == "may" else (f"{name}_{value:.2f}", exact)
    return (name if word.cutoff == "never" else f"{name}_{metric.cutoff}",)
