"""Weighted precision and similar metrics, which use cumulative gain instead of the number of relevant documents."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Cutoff, Rank
from gainboard.metrics.values import Value
from gainboard.metrics.views import GradedRankings

_NTCIR = "Kando, Kuriyama and Yoshioka, Information retrieval system evaluation using multi-grade relevance, 2001"


@metric("AWP", title="Average Weighted Precision", reference=_NTCIR)
def average_weighted_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """AWP is weighted precision, cg(r)/cg_I(r), at each relevant document retrieved, averaged over all relevant ones.

    At ranks deeper than R, the ideal gain is constant. So AWP does not change if a document moves between these ranks.
    Q-measure does.
    """
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.cumulative_gain / found.ideal_cumulative_gain) / rankings.relevant_count


@metric("RWP", aliases=["R-WP"], title="R-Weighted Precision", reference=_NTCIR)
def r_weighted_precision(rankings: GradedRankings) -> Value:
    """RWP is weighted precision at rank R, where the ideal ranking has retrieved all relevant documents."""
    found = rankings.relevant(upto=rankings.relevant_count)
    return found.sum(found.gain) / rankings.ideal.total


@metric(
    "genAP",
    aliases=["genAveP"],
    title="Generalised Average Precision",
    reference="Kishida, Property of average precision and its generalization, NII-2005-014E, 2005",
)
def generalised_average_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """genAP is the sum of cg(r)/r over the relevant documents retrieved, divided by this sum for the ideal ranking."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.cumulative_gain / found.rank) / rankings.ideal.generalised_precision_sum


@metric(
    "genP",
    title="Generalised Precision at a document cut-off",
    reference="Kekalainen and Jarvelin, Using graded relevance assessments in IR evaluation, JASIST 53(13), 2002",
    span=lambda limits: limits.highest_gain,
)
def generalised_precision(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """genP@l is the mean gain of the first l ranks. Ranks without a relevant document have gain 0."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(found.gain) / cutoff
