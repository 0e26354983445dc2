"""Scores as text: CSV, and the format of trec_eval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from gainboard.exhibits import csv_line
from gainboard.metrics import BoundMetric, Scale, trec_eval_name

Floats = NDArray[np.float64]


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
