"""Weighted precision and its kin: cumulative gain in the place of the count of relevant documents."""

from __future__ import annotations

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import metric
from gainboard.metrics.found import GradedFound, gain_of
from gainboard.metrics.parameters import Cutoff
from gainboard.metrics.views import GradedRankings

_NTCIR = "Kando, Kuriyama and Yoshioka, Information retrieval system evaluation using multi-grade relevance, 2001"


def weighted_precision_at(found: GradedFound) -> Scores:
    """cg(r)/cg_I(r) at each document found."""
    return found.cumulative_gain / found.ideal_cumulative_gain


def average_gain_at(found: GradedFound) -> Scores:
    """cg(r)/r at each document found."""
    return found.cumulative_gain / found.rank


@metric("AWP", title="Average Weighted Precision", reference=_NTCIR)
def average_weighted_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Scores:
    """Weighted precision cg(r)/cg_I(r) at each relevant document retrieved, averaged over all that are relevant.

    Below rank R it does not tell ranks apart, because the ideal gain has stopped growing; Q-measure does.
    """
    return rankings.sum(weighted_precision_at, upto=cutoff) / rankings.relevant_count


@metric("RWP", aliases=["R-WP"], title="R-Weighted Precision", reference=_NTCIR)
def r_weighted_precision(rankings: GradedRankings) -> Scores:
    """Weighted precision at rank R, where the ideal ranking has gained all there is."""
    return rankings.sum(gain_of, upto=rankings.relevant_count) / rankings.ideal.total


@metric(
    "genAP",
    aliases=["genAveP"],
    title="Generalised Average Precision",
    reference="Kishida, Property of average precision and its generalization, NII-2005-014E, 2005",
)
def generalised_average_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Scores:
    """Average gain cg(r)/r at each relevant document retrieved, summed, over the same sum of the ideal ranking."""
    return rankings.sum(average_gain_at, upto=cutoff) / rankings.ideal.generalised_precision_sum


@metric(
    "genP",
    title="Generalised Precision at a document cut-off",
    reference="Kekalainen and Jarvelin, Using graded relevance assessments in IR evaluation, JASIST 53(13), 2002",
    bounded=False,
)
def generalised_precision(rankings: GradedRankings, *, cutoff: int) -> Scores:
    """The average gain of the first l ranks."""
    return rankings.sum(gain_of, upto=cutoff) / cutoff
