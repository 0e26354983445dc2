"""Metrics of cumulative gain, with and without a discount, with and without normalisation, and weighted precision."""

from __future__ import annotations

from gainboard.metrics.catalogue import Namesake, ScoreLimits, metric
from gainboard.metrics.gains import MICROSOFT, NO_DISCOUNT, Discount
from gainboard.metrics.parameters import Base, Cutoff, Rank
from gainboard.metrics.values import Value
from gainboard.metrics.views import GradedFound, GradedRankings

_TOIS = "Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002"


def discounted_gain(relevant: GradedFound, discount: Discount) -> Value:
    """Return the discounted gain g(r) of each document found."""
    return relevant.gain if discount is NO_DISCOUNT else relevant.gain * relevant.discount(discount)


def gain_to(rankings: GradedRankings, cutoff: Rank, discount: Discount) -> Value:
    """Return the discounted gain of the first `cutoff` ranks."""
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(discounted_gain(relevant, discount))


def normalised_gain(rankings: GradedRankings, cutoff: Rank, discount: Discount) -> Value:
    """Return the discounted gain of the first `cutoff` ranks divided by that of the ideal ranking."""
    return gain_to(rankings, cutoff, discount) / rankings.ideal.cumulative_gain(cutoff, discount)


def averaged_gain(rankings: GradedRankings, cutoff: Rank, discount: Discount) -> Value:
    """Return the mean over the ranks r <= `cutoff` of the discounted gain of the first r ranks."""
    # The gain at rank i counts at the ranks i to `cutoff`.
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(discounted_gain(relevant, discount) * (cutoff + (1 - relevant.rank))) / cutoff


def averaged_normalised_gain(rankings: GradedRankings, cutoff: int, discount: Discount) -> Value:
    """Return the mean over the ranks r <= `cutoff` of the normalised gain at r."""
    # The gain at rank i counts at every rank r >= i, divided by the ideal gain at r. So sums of reciprocals of ideal
    # gains are enough, and no table by rank is needed.
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(discounted_gain(relevant, discount) * relevant.reciprocals(discount, cutoff)) / cutoff


def _most_gain(limits: ScoreLimits) -> float:
    """Return the cumulative gain if all documents have the highest gain."""
    return limits.highest_gain * limits.last_rank


def _most_discounted_gain(limits: ScoreLimits) -> float:
    discount = Discount(limits.parameters["base"])
    return limits.highest_gain * float(discount.sums(limits.last_rank)[-1])


@metric("CG", title="Cumulative Gain", reference=_TOIS, span=_most_gain)
def cumulative_gain(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """CG@l is the sum of the gains of the first l documents."""
    return gain_to(rankings, cutoff, NO_DISCOUNT)


@metric("DCG", title="Discounted Cumulative Gain", reference=_TOIS, span=_most_discounted_gain)
def discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: Rank) -> Value:
    """DCG@l is the sum of the discounted gains of the first l documents.

    The gain at rank r is divided by the logarithm of r to `base`. Gains at ranks up to `base` are not divided.
    """
    return gain_to(rankings, cutoff, Discount(base))


@metric("ACG", title="Averaged Cumulative Gain", reference=_TOIS, span=_most_gain)
def averaged_cumulative_gain(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """ACG@l is the mean of CG@1, CG@2, ..., CG@l."""
    return averaged_gain(rankings, cutoff, NO_DISCOUNT)


@metric("ADCG", title="Averaged Discounted Cumulative Gain", reference=_TOIS, span=_most_discounted_gain)
def averaged_discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: Rank) -> Value:
    """ADCG@l is the mean of DCG@1, DCG@2, ..., DCG@l."""
    return averaged_gain(rankings, cutoff, Discount(base))


@metric("nCG", aliases=["WP"], title="Normalised Cumulative Gain (weighted precision, sliding ratio)", reference=_TOIS)
def normalised_cumulative_gain(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """nCG@l is CG@l divided by the CG@l of the ideal ranking."""
    return normalised_gain(rankings, cutoff, NO_DISCOUNT)


@metric(
    "nDCG",
    title="Normalised Discounted Cumulative Gain",
    reference=_TOIS,
    namesake=Namesake("Järvelin and Kekäläinen's", "trec_eval's and ir_measures'", "ndcg_cut_l"),
)
def normalised_discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: Rank) -> Value:
    """nDCG@l is DCG@l divided by the DCG@l of the ideal ranking.

    Gains at ranks up to `base` are not discounted. Tools that divide by log2(r+1) at every rank compute MSnDCG.
    """
    return normalised_gain(rankings, cutoff, Discount(base))


@metric("AnCG", title="Average Normalised Cumulative Gain", reference=_TOIS)
def average_normalised_cumulative_gain(rankings: GradedRankings, *, cutoff: int) -> Value:
    """AnCG@l is the mean of nCG@1, nCG@2, ..., nCG@l."""
    return averaged_normalised_gain(rankings, cutoff, NO_DISCOUNT)


@metric("AnDCG", title="Average Normalised Discounted Cumulative Gain", reference=_TOIS)
def average_normalised_discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: int) -> Value:
    """AnDCG@l is the mean of nDCG@1, nDCG@2, ..., nDCG@l."""
    return averaged_normalised_gain(rankings, cutoff, Discount(base))


@metric(
    "MSnDCG",
    aliases=["ndcg_cut_l"],
    title="Normalised Discounted Cumulative Gain, Microsoft version",
    reference="Burges et al., Learning to rank using gradient descent, ICML 2005",
)
def microsoft_ndcg(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """MSnDCG@l is nDCG with the discount 1/log2(r+1) at every rank r.

    It has no parameter `base`, because another base would not change the score.
    """
    return normalised_gain(rankings, cutoff, MICROSOFT)


_NTCIR = "Kando, Kuriyama and Yoshioka, Information retrieval system evaluation using multi-grade relevance, 2001"


@metric("AWP", title="Average Weighted Precision", reference=_NTCIR)
def average_weighted_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """AWP is weighted precision, cg(r)/cg_I(r), at each relevant document retrieved, averaged over all relevant ones.

    At ranks deeper than R, the ideal gain is constant. So AWP does not change if a document moves between these ranks.
    Q-measure does.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(relevant.cumulative_gain / relevant.ideal_cumulative_gain) / rankings.relevant_count


@metric("RWP", aliases=["R-WP"], title="R-Weighted Precision", reference=_NTCIR)
def r_weighted_precision(rankings: GradedRankings) -> Value:
    """RWP is weighted precision at rank R, where the ideal ranking has retrieved all relevant documents."""
    relevant = rankings.relevant(upto=rankings.relevant_count)
    return relevant.sum(relevant.gain) / rankings.ideal.total


@metric(
    "genAP",
    aliases=["genAveP"],
    title="Generalised Average Precision",
    reference="Kishida, Property of average precision and its generalization, NII-2005-014E, 2005",
)
def generalised_average_precision(rankings: GradedRankings, *, cutoff: Cutoff = None) -> Value:
    """genAP is the sum of cg(r)/r over the relevant documents retrieved, divided by this sum for the ideal ranking."""
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(relevant.cumulative_gain / relevant.rank) / rankings.ideal.generalised_precision_sum


@metric(
    "genP",
    title="Generalised Precision at a document cut-off",
    reference="Kekalainen and Jarvelin, Using graded relevance assessments in IR evaluation, JASIST 53(13), 2002",
    span=lambda limits: limits.highest_gain,
)
def generalised_precision(rankings: GradedRankings, *, cutoff: Rank) -> Value:
    """genP@l is the mean gain of the first l ranks. Ranks without a relevant document have gain 0."""
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(relevant.gain) / cutoff
