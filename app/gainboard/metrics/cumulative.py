"""Metrics of cumulative gain: discounted or not, normalised, blended with counts, or beside an ideal or own scores."""

from __future__ import annotations

import math
from typing import Final

from gainboard.metrics.catalogue import Namesake, ScoreLimits, metric
from gainboard.metrics.gains import MICROSOFT, NO_DISCOUNT, Discount
from gainboard.metrics.parameters import Base, Beta, Cutoff, Rank, RecallBase, SystemScores, UserScores
from gainboard.metrics.precision import recall_divisor
from gainboard.metrics.values import Value, logarithm, maximum, minimum
from gainboard.metrics.views import (
    WHOLE,
    BinaryRankings,
    GradedFound,
    GradedRankings,
    ScoredRankings,
    WholeGradedRankings,
)

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


def _span_of_distance(limits: ScoreLimits) -> float:
    """Return the largest user score: judgments move the distance of a document by as much.

    Raw system scores have no bound, and judgments decide by how many documents their sum is divided.
    """
    if limits.parameters["srs"] == "raw":
        return math.inf
    return limits.highest_gain if limits.parameters["urs"] == "raw" else 1.0


@metric(
    "ADM",
    title="Average Distance Measure",
    reference="Della Mea and Mizzaro, Measuring retrieval effectiveness: a new proposal, JASIST 55(6), 2004",
    span=_span_of_distance,
    bounded=True,
)
def average_distance(rankings: ScoredRankings, *, urs: UserScores = "scaled", srs: SystemScores = "minmax") -> Value:
    """ADM is one minus the mean distance between user score and system score over the documents judged or retrieved.

    A document that is not retrieved has system score 0. A document that is not relevant has user score 0. ADM uses
    scores and not ranks, so a run with a perfect ranking may have a lower ADM than another run (Sakai, IPSJ, 2004,
    section 6).
    """
    relevant, is_raw = rankings.relevant(), srs == "raw"
    unit = rankings.highest_gain() if urs == "scaled" else 1.0
    system_score = rankings.system_scores(raw=is_raw)
    # The sum over all documents retrieved is known as if none had a gain. A relevant one is nearer by this much.
    nearer = abs(system_score) - abs(system_score - relevant.gain / unit)
    missed = (rankings.ideal.total - relevant.sum(relevant.gain)) / unit
    distance = rankings.system_distance(raw=is_raw) - relevant.sum(nearer) + missed
    return 1.0 - distance / rankings.documents(raw=is_raw)
