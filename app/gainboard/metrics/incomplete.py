"""Metrics for incomplete judgments, in which many relevant documents may not be judged."""

from __future__ import annotations

from typing import Final

from gainboard.metrics.catalogue import metric
from gainboard.metrics.values import Value, maximum, minimum
from gainboard.metrics.views import BinaryRankings

_EPSILON: Final = 1e-5
"""The number that infAP adds to counts, as trec_eval does, so that nothing is divided by 0."""


@metric(
    "bpref",
    aliases=["gm_bpref(mean=geometric)"],
    title="Binary preference",
    reference="Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, as in trec_eval",
)
def binary_preference(rankings: BinaryRankings) -> Value:
    """bpref is how seldom judged nonrelevant documents are ranked above relevant documents.

    It is the sum of 1 - min(n, R)/min(N, R) over the relevant documents retrieved, divided by R. n is the number of
    judged nonrelevant documents above the document, N that of the topic. Documents of a negative level count as
    unjudged.
    """
    found, relevant = rankings.relevant(), rankings.relevant_count
    above = found.pooled_rank - found.count
    most = maximum(minimum(rankings.nonrelevant_count, relevant), 1)  # where N is 0, so is n
    return found.sum(1.0 - minimum(above, relevant) / most) / relevant


@metric(
    "infAP",
    title="Inferred Average Precision",
    reference="Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006, as "
    "in trec_eval",
    sorted_is_best=False,
)
def inferred_average_precision(rankings: BinaryRankings) -> Value:
    """infAP is Average Precision as estimated from a sample of the pool.

    Documents of a negative level are in the pool but not judged. Documents that the qrels lack are not in the pool, and
    they are not relevant. The precision at rank k is 1/k + (d/k) * (a+e)/(a+b+2e). Above rank k, d documents are in the
    pool, a are relevant and b are judged nonrelevant. e is 0.00001.
    """
    found = rankings.relevant()
    in_pool, judged, relevant = found.judged_rank - 1.0, found.pooled_rank - 1.0, found.count - 1.0
    share = (relevant + _EPSILON) / (judged + 2.0 * _EPSILON)
    return found.sum(1.0 / found.rank + in_pool / found.rank * share) / rankings.relevant_count
