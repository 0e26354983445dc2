"""Metrics of cumulative gain, discounted or not, normalised or not."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.discounts import MICROSOFT, NO_DISCOUNT, Discount
from gainboard.metrics.parameters import Base
from gainboard.metrics.values import Value
from gainboard.metrics.views import GradedFound, GradedRankings

_TOIS = "Jarvelin and Kekalainen, Cumulated gain-based evaluation of IR techniques, ACM TOIS 20(4), 2002"


def discounted_gain(found: GradedFound, discount: Discount) -> Value:
    """Return g(r), discounted, of each document found."""
    return found.gain if discount is NO_DISCOUNT else found.gain * found.discount(discount)


def gain_to(rankings: GradedRankings, cutoff: int, discount: Discount) -> Value:
    """Return the discounted gain of the first `cutoff` ranks."""
    found = rankings.relevant(upto=cutoff)
    return found.sum(discounted_gain(found, discount))


def normalised_gain(rankings: GradedRankings, cutoff: int, discount: Discount) -> Value:
    """Return the discounted gain of the first `cutoff` ranks over that of the ideal ranking's."""
    return gain_to(rankings, cutoff, discount) / rankings.ideal.cumulative_gain(cutoff, discount)


def averaged_normalised_gain(rankings: GradedRankings, cutoff: int, discount: Discount) -> Value:
    """Return the mean over the ranks r <= `cutoff` of the normalised gain at r."""
    # A gain at rank i counts at every rank from i on, divided by the ideal gain there: sums of reciprocals suffice.
    found = rankings.relevant(upto=cutoff)
    return found.sum(discounted_gain(found, discount) * found.reciprocals(discount, cutoff)) / cutoff


@metric("CG", title="Cumulative Gain", reference=_TOIS, bounded=False)
def cumulative_gain(rankings: GradedRankings, *, cutoff: int) -> Value:
    """CG@l is the gain of the first l documents."""
    return gain_to(rankings, cutoff, NO_DISCOUNT)


@metric("DCG", title="Discounted Cumulative Gain", reference=_TOIS, bounded=False)
def discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: int) -> Value:
    """DCG@l is the gain of the first l documents, each divided by the logarithm of its rank beyond the rank `base`."""
    return gain_to(rankings, cutoff, Discount(base))


@metric("nCG", aliases=["WP"], title="Normalised Cumulative Gain (weighted precision, sliding ratio)", reference=_TOIS)
def normalised_cumulative_gain(rankings: GradedRankings, *, cutoff: int) -> Value:
    """nCG@l is the gain of the first l documents over the gain of the ideal ranking's first l."""
    return normalised_gain(rankings, cutoff, NO_DISCOUNT)


@metric("nDCG", title="Normalised Discounted Cumulative Gain", reference=_TOIS)
def normalised_discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: int) -> Value:
    """nDCG@l is the DCG of the first l documents over the DCG of the ideal ranking's first l.

    Ranks up to `base` are not discounted; tools that divide by log2(r+1) everywhere compute MSnDCG.
    """
    return normalised_gain(rankings, cutoff, Discount(base))


@metric("AnCG", title="Average Normalised Cumulative Gain", reference=_TOIS)
def average_normalised_cumulative_gain(rankings: GradedRankings, *, cutoff: int) -> Value:
    """AnCG@l is the mean of nCG over the ranks 1 to l."""
    return averaged_normalised_gain(rankings, cutoff, NO_DISCOUNT)


@metric("AnDCG", title="Average Normalised Discounted Cumulative Gain", reference=_TOIS)
def average_normalised_discounted_cumulative_gain(rankings: GradedRankings, *, base: Base = 2.0, cutoff: int) -> Value:
    """AnDCG@l is the mean of nDCG over the ranks 1 to l."""
    return averaged_normalised_gain(rankings, cutoff, Discount(base))


@metric(
    "MSnDCG",
    aliases=["ndcg_cut_l"],
    title="Normalised Discounted Cumulative Gain, Microsoft version",
    reference="Burges et al., Learning to rank using gradient descent, ICML 2005",
)
def microsoft_ndcg(rankings: GradedRankings, *, cutoff: int) -> Value:
    """MSnDCG@l is nDCG with the discount 1/log2(r+1) at every rank r; another base of the logarithm would cancel."""
    return normalised_gain(rankings, cutoff, MICROSOFT)
