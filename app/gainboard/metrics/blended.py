"""Metrics of the blended ratio, which counts relevant documents and what they are worth at once."""

from __future__ import annotations

import numpy as np

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import metric
from gainboard.metrics.found import GradedFound, gain_of
from gainboard.metrics.parameters import Beta, Cutoff, RecallBase
from gainboard.metrics.precision import recall_divisor
from gainboard.metrics.views import GradedRankings

_NTCIR4 = "Sakai, New performance metrics based on multigrade relevance, NTCIR-4, 2004"
_FIRST = "Sakai, On the task of finding one highly relevant document with high precision, IPSJ TOD 47(SIG4), 2006"
_PREFERRED = "Sakai, Give me just one highly relevant document: P-measure, SIGIR 2006"


def blended_ratio(found: GradedFound, beta: float) -> Scores:
    """(beta*cg(r) + count(r)) / (beta*cg_I(r) + r) at each document found."""
    return (beta * found.cumulative_gain + found.count) / (beta * found.ideal_cumulative_gain + found.rank)


@metric("Q", aliases=["Q-measure"], title="Q-measure", reference=_NTCIR4)
def q_measure(
    rankings: GradedRankings, *, beta: Beta = 1.0, recall_base: RecallBase = "relevant", cutoff: Cutoff = None
) -> Scores:
    """The blended ratio at each relevant document retrieved, averaged over all that are relevant.

    `beta` 0 makes it Average Precision.
    """
    return rankings.sum(blended_ratio, beta, upto=cutoff) / recall_divisor(rankings, recall_base, cutoff)


@metric("Rmeasure", aliases=["R-measure"], title="R-measure", reference=_NTCIR4)
def r_measure(rankings: GradedRankings, *, beta: Beta = 1.0) -> Scores:
    """The blended ratio at rank R. `beta` 0 makes it R-Precision."""
    gained = rankings.sum(gain_of, upto=rankings.relevant_count)
    blended = beta * gained + rankings.relevant(upto=rankings.relevant_count).number
    return blended / (beta * rankings.ideal.total + rankings.relevant_count)


@metric("O-measure", title="O-measure", reference=_FIRST)
def o_measure(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Scores:
    """The blended ratio at the first relevant document, 0 if none is retrieved. `beta` 0 makes it RR."""
    return rankings.at_first(blended_ratio, beta, upto=cutoff)


@metric("P-measure", title="P-measure", reference=_PREFERRED)
def p_measure(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Scores:
    """The blended ratio at the preferred rank, that of the topmost document of the highest level retrieved."""
    return rankings.at_preferred(blended_ratio, beta, upto=cutoff)


@metric("Pplus", aliases=["P+"], title="P-plus", reference=_PREFERRED)
def p_plus(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Scores:
    """The mean of the blended ratio over the relevant documents down to the preferred rank of P-measure."""
    preferred_rank = rankings.relevant(upto=cutoff).preferred_rank
    number = rankings.relevant(upto=preferred_rank).number
    return rankings.sum(blended_ratio, beta, upto=preferred_rank) / np.maximum(number, 1)
