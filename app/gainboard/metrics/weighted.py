"""Weighted precision and its kin: cumulative gain in the place of the count of relevant documents."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Cutoff
from gainboard.metrics.values import Value
from gainboard.metrics.views import GradedRankings

_NTCIR = "Kando, Kuriyama and Yoshioka, Information retrieval system evaluation using multi-grade relevance, 2001"


@metric("AWP", title="Average Weighted Precision", reference=_NTCIR)
def average_weighted_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """AWP is weighted precision, cg(r)/cg_I(r), at each relevant document retrieved, averaged over all relevant ones.

    Below rank R it does not tell ranks apart, because the ideal gain has stopped growing; Q-measure does.
    """
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.cumulative_gain / found.ideal_cumulative_gain) / rankings.relevant_count


@metric("RWP", aliases=["R-WP"], title="R-Weighted Precision", reference=_NTCIR)
def r_weighted_precision(rankings: GradedRankings) -> Value:
    """RWP is weighted precision at rank R, where the ideal ranking has gained all there is."""
    found = rankings.relevant(upto=rankings.relevant_count)
    return found.sum(found.gain) / rankings.ideal.total


@metric(
    "genAP",
    aliases=["genAveP"],
    title="Generalised Average Precision",
    reference="Kishida, Property of average precision and its generalization, NII-2005-014E, 2005",
)
def generalised_average_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """genAP is the average gain cg(r)/r at each relevant document retrieved, summed, over the ideal ranking's sum."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.cumulative_gain / found.rank) / rankings.ideal.generalised_precision_sum


@metric(
    "genP",
    title="Generalised Precision at a document cut-off",
    reference="Kekalainen and Jarvelin, Using graded relevance assessments in IR evaluation, JASIST 53(13), 2002",
    bounded=False,
)
def generalised_precision(rankings: GradedRankings, *, cutoff: int) -> Value:
    """genP@l is the average gain of the first l ranks."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.gain) / cutoff
