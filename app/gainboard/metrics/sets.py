"""Metrics of the set of documents retrieved, whatever their order: precision, recall and what is made of both."""

from __future__ import annotations

from typing import Final

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import RecallWeight
from gainboard.metrics.values import Value, maximum, minimum
from gainboard.metrics.views import BinaryRankings, WholeRankings

_RIJSBERGEN: Final = "van Rijsbergen, Information Retrieval, 1979, as in trec_eval"
_TREC_EVAL: Final = "trec_eval, https://github.com/usnistgov/trec_eval, its measure `{}`"


def _size(rankings: WholeRankings) -> Value:
    """Return L, the number of documents retrieved; 1 for a condensed ranking without a judged document."""
    return maximum(rankings.retrieved_count, 1)


@metric("setP", aliases=["set_P"], title="Precision of the set", reference=_RIJSBERGEN)
def set_precision(rankings: WholeRankings) -> Value:
    """setP is the share of relevant documents among all documents retrieved."""
    return rankings.found_count / _size(rankings)


@metric("setRecall", aliases=["setR", "set_recall"], title="Recall of the set", reference=_RIJSBERGEN)
def set_recall(rankings: BinaryRankings) -> Value:
    """setRecall is the share of the relevant documents that are retrieved at any rank."""
    return rankings.found_count / rankings.relevant_count


@metric("setF", aliases=["set_F", "set_F_x"], title="F-measure of the set", reference=_RIJSBERGEN)
def set_f(rankings: WholeRankings, *, weight: RecallWeight = 1.0) -> Value:
    """setF is the weighted harmonic mean of setP and setRecall.

    It is (w+1) * setP * setRecall / (w * setP + setRecall), where w is `weight`. This is (w+1) times the number of
    relevant documents retrieved, divided by w*R + L. L is the number of documents retrieved.
    """
    return (weight + 1.0) * rankings.found_count / (weight * rankings.relevant_count + _size(rankings))


@metric("setAP", aliases=["set_map"], title="Average precision of the set", reference=_TREC_EVAL.format("set_map"))
def set_average_precision(rankings: WholeRankings) -> Value:
    """setAP is setP times setRecall.

    This is the Average Precision of a ranking with the same precision at each relevant document retrieved.
    """
    found = rankings.found_count
    return found * found / (_size(rankings) * rankings.relevant_count)


@metric(
    "setRelP",
    aliases=["set_relative_P"],
    title="Relative precision of the set",
    reference=_TREC_EVAL.format("set_relative_P"),
)
def set_relative_precision(rankings: WholeRankings) -> Value:
    """setRelP is setP divided by the highest precision that a set of this size can have.

    If more documents are retrieved than are relevant, it is setRecall.
    """
    return rankings.found_count / minimum(_size(rankings), rankings.relevant_count)
