"""Metrics whose costs or points follow from the ideal ranking, as trec_eval has them."""

from __future__ import annotations

from typing import Final

from gainboard.metrics.catalogue import metric
from gainboard.metrics.gains import MICROSOFT
from gainboard.metrics.values import Value, logarithm, maximum, minimum
from gainboard.metrics.views import WHOLE, BinaryRankings, GradedRankings, WholeGradedRankings

_TREC_EVAL: Final = "trec_eval, https://github.com/usnistgov/trec_eval, its measure `{}`"


@metric("G", title="G", reference=_TREC_EVAL.format("G"), sorted_is_best=False)
def g(rankings: GradedRankings) -> Value:
    """G is the sum of the gains found, each divided by log2(2 + cost - cg), over the sum of all gains of the topic.

    The cost of a rank is the gain of the ideal ranking there, and at least 1. The cost of all ranks down to a document
    is compared with cg, the gain found down to it. So a document after an ideal beginning is divided by less than in
    nDCG. With one level of gain 1, G is binG.
    """
    relevant = rankings.relevant()
    lost = maximum(relevant.ideal_cost - relevant.cumulative_gain, 0.0)
    return relevant.sum(relevant.gain / logarithm(2.0 + lost)) / rankings.ideal.total


@metric("binG", title="Binary G", reference=_TREC_EVAL.format("binG"))
def binary_g(rankings: BinaryRankings) -> Value:
    """binG is the mean over all relevant documents of 1/log2(2 + n), where n documents above are not relevant.

    Relevant documents that are not retrieved add 0. Unlike in nDCG, relevant documents above do not lower the value.
    """
    relevant = rankings.relevant()
    # A row below `rel` may have the count 0. Its weight is not used, but its rank must be within the run.
    own_rank = relevant.rank - (maximum(relevant.count, 1) - 1)
    return relevant.sum(relevant.discount_at(own_rank, MICROSOFT)) / rankings.relevant_count


@metric("nDCGrel", aliases=["ndcg_rel"], title="nDCG at relevant documents", reference=_TREC_EVAL.format("ndcg_rel"))
def ndcg_at_relevant_documents(rankings: GradedRankings) -> Value:
    """nDCGrel is the mean over all relevant documents of the nDCG at their ranks, with Microsoft's discount.

    A relevant document that is not retrieved counts with the nDCG of the whole ranking.
    """
    relevant = rankings.relevant()
    ratios = relevant.discounted_gain(MICROSOFT) / relevant.ideal_discounted_gain(MICROSOFT)
    whole = relevant.sum(relevant.gain * relevant.discount(MICROSOFT)) / rankings.ideal.cumulative_gain(
        WHOLE, MICROSOFT
    )
    missed = rankings.relevant_count - rankings.found_count
    return (relevant.sum(ratios) + missed * whole) / rankings.relevant_count


@metric("RnDCG", title="nDCG where the ideal gain falls", reference=_TREC_EVAL.format("Rndcg"))
def ndcg_at_falls(rankings: WholeGradedRankings) -> Value:
    """RnDCG is the mean of the nDCG at the ranks after which the ideal gain falls, with Microsoft's discount.

    With levels S, A and B, these ranks are the number of S documents, that of S and A, and R. If the ranking is longer
    than R + 1, the nDCG of the whole ranking counts, too, as in trec_eval. With one level and a ranking that ends by
    rank R + 1, RnDCG is MSnDCG@R.
    """
    relevant = rankings.relevant()
    gains = relevant.gain * relevant.discount(MICROSOFT)
    whole = relevant.sum(gains) / rankings.ideal.cumulative_gain(WHOLE, MICROSOFT)
    goes_on = minimum(maximum(rankings.retrieved_count - rankings.relevant_count - 1.0, 0.0), 1.0)
    at_falls = relevant.sum(gains * relevant.reciprocals_at_falls(MICROSOFT))
    return (at_falls + goes_on * whole) / (rankings.ideal.falls + goes_on)
