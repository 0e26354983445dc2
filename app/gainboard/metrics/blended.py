"""Metrics of the blended ratio, which combines the number of relevant documents with their gains."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Beta, Cutoff, RecallBase
from gainboard.metrics.precision import recall_divisor
from gainboard.metrics.values import Value, maximum
from gainboard.metrics.views import GradedFound, GradedRankings

_NTCIR4 = "Sakai, New performance metrics based on multigrade relevance, NTCIR-4, 2004"
_FIRST = "Sakai, On the task of finding one highly relevant document with high precision, IPSJ TOD 47(SIG4), 2006"
_PREFERRED = "Sakai, Give me just one highly relevant document: P-measure, SIGIR 2006"


def blended_ratio(relevant: GradedFound, beta: Beta) -> Value:
    """Return the blended ratio (beta*cg(r) + count(r)) / (beta*cg_I(r) + r) at each document found."""
    return (beta * relevant.cumulative_gain + relevant.count) / (beta * relevant.ideal_cumulative_gain + relevant.rank)


@metric("Q", aliases=["Q-measure"], title="Q-measure", reference=_NTCIR4)
def q_measure(
    rankings: GradedRankings, *, beta: Beta = 1.0, recall_base: RecallBase = "relevant", cutoff: Cutoff = None
) -> Value:
    """Q-measure is the blended ratio at each relevant document retrieved, averaged over all relevant documents.

    With `beta` 0, it is Average Precision.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(blended_ratio(relevant, beta)) / recall_divisor(rankings, recall_base, cutoff)


@metric("Rmeasure", aliases=["R-measure"], title="R-measure", reference=_NTCIR4)
def r_measure(rankings: GradedRankings, *, beta: Beta = 1.0) -> Value:
    """R-measure is the blended ratio at rank R. With `beta` 0, it is R-Precision."""
    relevant = rankings.relevant(upto=rankings.relevant_count)
    return (beta * relevant.sum(relevant.gain) + relevant.number) / (
        beta * rankings.ideal.total + rankings.relevant_count
    )


@metric("O-measure", title="O-measure", reference=_FIRST)
def o_measure(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Value:
    """O-measure is the blended ratio at the first relevant document, or 0 if none is retrieved.

    With `beta` 0, it is Reciprocal Rank.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.at_first(blended_ratio(relevant, beta))


@metric("P-measure", title="P-measure", reference=_PREFERRED, sorted_is_best=False)
def p_measure(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Value:
    """P-measure is the blended ratio at the preferred rank, or 0 if no relevant document is retrieved.

    Take the highest relevance level among the documents retrieved. The preferred rank is the rank of the first document
    of this level.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.at_preferred(blended_ratio(relevant, beta))


@metric("Pplus", aliases=["P+"], title="P-plus", reference=_PREFERRED, sorted_is_best=False)
def p_plus(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Value:
    """P-plus is the mean of the blended ratio over the relevant documents at the preferred rank and above it.

    P-measure defines the preferred rank. P-plus is 0 if no relevant document is retrieved.
    """
    relevant = rankings.relevant(upto=rankings.relevant(upto=cutoff).preferred_rank)
    return relevant.sum(blended_ratio(relevant, beta)) / maximum(relevant.number, 1)
