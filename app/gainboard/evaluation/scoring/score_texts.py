"""Scores as text: CSV, the format of trec_eval, and remarks on means."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gainboard.exhibits import csv_line
from gainboard.metrics import BoundMetric, Scale, notes_on_names, trec_eval_name
from gainboard.notation.remarks import why_left_out

Floats = NDArray[np.float64]
_TOPICS_NAMED = 10


def csv_of(
    runs: Sequence[str], labels: Sequence[str], topics: Sequence[str], means: Floats, by_topic: Floats | None
) -> Iterator[str]:
    """Yield lines of CSV, by run and metric.

    `means` is [metrics, runs]; a mean's topic is `all`. If `by_topic` [metrics, runs, topics] is given, the scores of
    topics come before their mean.
    """
    yield "run,topic,metric,value\r\n"
    for column, run in enumerate(runs):
        for row, label in enumerate(labels):
            if by_topic is not None:
                for topic, value in zip(topics, by_topic[row, column].tolist(), strict=True):
                    yield csv_line((run, topic, label, value))
            yield csv_line((run, "all", label, float(means[row, column])))


def trec_eval_of(
    tag: str, names: Sequence[str], topics: Sequence[str], scored: int | None, means: Floats, by_topic: Floats | None
) -> Iterator[str]:
    """Yield lines of trec_eval for one run.

    `means` is [metrics], over at most `scored` topics (None: hidden). If `by_topic` [metrics, topics] is given, the
    scores of topics come first. Undefined scores have no line.
    """
    for topic, scores in zip(topics, by_topic.T.tolist(), strict=True) if by_topic is not None else ():
        for name, value in zip(names, scores, strict=True):
            if not math.isnan(value):
                yield f"{name:<22s}\t{topic}\t{value:6.4f}\n"
    yield f"{'runid':<22s}\tall\t{tag}\n"
    if scored is not None:
        yield f"{'num_q':<22s}\tall\t{scored}\n"
    for name, mean in zip(names, means.tolist(), strict=True):
        if not math.isnan(mean):
            yield f"{name:<22s}\tall\t{mean:6.4f}\n"


def trec_eval_names(metrics: Sequence[BoundMetric], scale: Scale) -> list[str]:
    """Return trec_eval's own name of each metric with the same definition, and the label of the others."""
    return [trec_eval_name(metric, scale) or metric.label for metric in metrics]


def remarks_on_means(
    metrics: Sequence[BoundMetric], topics: Sequence[str], undefined: NDArray[np.bool_]
) -> Iterator[str]:
    """Yield what a reader of means should know: names that mean something else elsewhere, and topics left out.

    `undefined` [metrics, topics] is true if no run has a score. The sentences have no full stop.
    """
    yield from (note.removesuffix(".") for note in notes_on_names(metrics))
    left_out: dict[tuple[str, ...], list[str]] = {}
    for metric, row in zip(metrics, undefined, strict=True):
        left_out.setdefault(tuple(topics[topic] for topic in row.nonzero()[0]), []).append(metric.label)
    for names, labels in left_out.items():
        if names:
            more = f" and {len(names) - _TOPICS_NAMED} more" if len(names) > _TOPICS_NAMED else ""
            means = "all means" if len(labels) == len(metrics) else f"the means of {', '.join(labels)}"
            count = f"{len(names)} of {len(topics)} topics"
            yield f"{count} are left out of {means}, {why_left_out(labels)}: {', '.join(names[:_TOPICS_NAMED])}{more}"
