"""The metrics that the expressions of a request mean, and the topics for which they are defined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression, BadGains
from gainboard.evaluation.runs.join import JudgedTopics, nothing_retrieved
from gainboard.evaluation.scoring.custom_metrics import NO_CUSTOM, CustomMetric, CustomMetrics, customs_of, is_custom
from gainboard.metrics import (
    BoundMetric,
    JudgedRuns,
    Names,
    Scale,
    expand,
    ignored_defaults,
    resolve,
    score_all,
    translate,
)

if TYPE_CHECKING:
    # Commands on files bind metrics, too, and do without SQLAlchemy.
    from gainboard.store.records import Collection

DEFAULT_METRICS = ("AP", "Q", "nDCG@10")
"""The metrics of a request, if neither the request nor the collection names any."""


def scale_of(collection: Collection) -> Scale:
    """Return what metric expressions depend on in a collection."""
    return Scale(collection.highest_level, collection.depth, collection.intents)


def in_our_names(expressions: Sequence[str], names: Names, highest_level: int) -> dict[str, str]:
    """Return our expression for each expression, with each preset replaced by its expressions.

    Raises BadExpression if the tool `names` has no such metric, or none that is here.
    """
    if names == "gainboard" or not expressions:
        return {expression: expression for expression in expand(expressions, highest_level)}
    return {each: in_ours(each, names) for each in expressions}


def bind_all(
    expressions: Mapping[str, str],
    scale: Scale,
    query: Mapping[str, str],
    gains: str,
    custom: CustomMetrics = NO_CUSTOM,
) -> tuple[list[BoundMetric], dict[str, str]]:
    """Return the distinct metrics, in the order of the request, and the label of each expression.

    `expressions` has our expression for each expression of the request (see `in_our_names`).
    `query` are the request's defaults for parameters, `gains` the collection's. Raise what `resolve` raises.
    """
    metrics: dict[str, BoundMetric] = {}
    asked: dict[str, str] = {}
    for expression, ours in expressions.items():
        metric = _bind(expression, ours, scale, custom, query, {"gains": gains})
        if not is_custom(ours) and (notes := ignored_defaults(expression, ours, metric, query)):
            metric = copy(metric)  # equal metrics of other requests are this object
            metric.ignored = notes
        asked[expression] = metric.label
        metrics.setdefault(metric.label, metric)
    return list(metrics.values()), asked


def bind_one(
    expression: str,
    scale: Scale,
    custom: CustomMetrics,
    *,
    query: Mapping[str, str] = {},
    collection: Mapping[str, str] = {},
) -> BoundMetric:
    """Return the metric of our expression, or of uploaded scores. Raise what `resolve` raises."""
    if is_custom(expression):
        return custom.resolve(expression)
    return resolve(expression, scale, query=query, collection=collection)


def in_ours(expression: str, names: Names) -> str:
    """Return our expression for one of a tool; uploaded scores have one name."""
    return expression if is_custom(expression) else translate(expression, names)


def _bind(
    expression: str,
    ours: str,
    scale: Scale,
    custom: CustomMetrics,
    query: Mapping[str, str],
    collection: Mapping[str, str],
) -> BoundMetric:
    """Return the metric of our expression. A message about it also has the expression of the request."""
    try:
        return bind_one(ours, scale, custom, query=query, collection=collection)
    except (BadExpression, BadGains) as error:
        if expression == ours:
            raise
        link = " means " if error.message.startswith(ours) else ": "
        raise type(error)(f"{expression}{link}{error.message}") from error


def undefined(bound: Sequence[BoundMetric], topics: JudgedTopics) -> NDArray[np.bool_]:
    """Return where no run has a score because the topic has no relevant document: [metrics, topics]."""
    # Whether a formula is undefined depends on the topic alone, so a run without documents tells it.
    empty = JudgedRuns.of([nothing_retrieved(len(topics.topics))], topics.judgments)
    missing = np.empty((len(bound), len(topics.topics)), np.bool_)
    uploaded = customs_of(bound)
    own = [row for row, metric in enumerate(bound) if not isinstance(metric, CustomMetric)]
    missing[own] = np.isnan(score_all([bound[row] for row in own], empty)[:, 0])
    for row, metric in uploaded:
        missing[row] = metric.undefined(topics.topics)
    return missing
