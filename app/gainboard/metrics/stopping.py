"""Metrics that model where users stop, and the utility that they find there (normalised cumulative utility)."""

from __future__ import annotations

from gainboard.metrics.catalogue import Namesake, metric
from gainboard.metrics.cumulative import blended_ratio
from gainboard.metrics.gains import NO_DISCOUNT, Geometric
from gainboard.metrics.parameters import (
    Beta,
    Continuation,
    Cutoff,
    Decay,
    Expected,
    LastRead,
    Persistence,
    RankGain,
    Stops,
    StopScale,
)
from gainboard.metrics.precision import recall_divisor
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings, Found, GradedFound, GradedRankings

_NTCIREVAL = "Sakai, NTCIREVAL, version of January 2023 (research.nii.ac.jp/ntcir/tools/ntcireval-en.html)"
_CHAPELLE = "Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009"


def stop_probability(rankings: GradedRankings, stop_scale: int | None = None) -> Value:
    """Return g/(H+1) for each level, where H is the gain of level `stop_scale`, or of the scale's highest level."""
    return rankings.gains / (rankings.highest_gain(stop_scale) + 1.0)


def stopping(relevant: GradedFound, stop: Value) -> Value:
    """Return the probability that a user stops at each document found. `stop` is by level."""
    return relevant.by_level(stop) * relevant.product_above(1.0 - stop)


@metric(
    "ERR",
    title="Expected Reciprocal Rank",
    reference=_CHAPELLE,
    namesake=Namesake("on the scale of this collection", "gdeval's and ir_measures'", "ERR(gains=exp,stop_scale=4)@l"),
)
def expected_reciprocal_rank(rankings: GradedRankings, *, stop_scale: StopScale, cutoff: Cutoff = None) -> Value:
    """ERR is the expected value of 1/r, where r is the rank at which a user stops.

    The user reads the ranking from the top. A document with gain g stops the user with probability g/(H+1). H is the
    gain of level h', which is set by `stop_scale` and is the highest level of the scale by default. If the user does
    not stop, the value is 0. gdeval uses gains 2^level - 1 and h' = 4 for every scale.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(stopping(relevant, stop_probability(rankings, stop_scale)) / relevant.rank)


@metric("nERR", title="Normalised Expected Reciprocal Rank", reference=_CHAPELLE)
def normalised_expected_reciprocal_rank(
    rankings: GradedRankings, *, stop_scale: StopScale, cutoff: Cutoff = None
) -> Value:
    """nERR@l is ERR@l divided by ERR@l of the ideal ranking."""
    relevant, stop = rankings.relevant(upto=cutoff), stop_probability(rankings, stop_scale)
    return relevant.sum(stopping(relevant, stop) / relevant.rank) / rankings.ideal.expected_reciprocal_rank(
        stop, cutoff
    )


@metric(
    "iRBU",
    title="Intentwise Rank-Biased Utility, for one intent",
    reference="Sakai and Zeng, Retrieval evaluation measures that agree with users' SERP preferences, ACM TOIS 2021",
)
def rank_biased_utility(rankings: GradedRankings, *, p: Persistence = 0.99, cutoff: Cutoff = None) -> Value:
    """iRBU is the expected value of p^r, where r is the rank at which a user stops.

    The user stops as in ERR. If the user does not stop, the value is 0.
    """
    relevant = rankings.relevant(upto=cutoff)
    # The weight of rank r is p^(r-1).
    return p * relevant.sum(stopping(relevant, stop_probability(rankings)) * relevant.discount(Geometric(p)))


@metric("niRBU", title="Normalised Intentwise Rank-Biased Utility, for one intent", reference=_NTCIREVAL)
def normalised_rank_biased_utility(rankings: GradedRankings, *, p: Persistence = 0.99, cutoff: Cutoff = None) -> Value:
    """niRBU@l is iRBU@l divided by iRBU@l of the ideal ranking."""
    relevant, stop = rankings.relevant(upto=cutoff), stop_probability(rankings)
    reached = relevant.sum(stopping(relevant, stop) * relevant.discount(Geometric(p)))
    return reached / rankings.ideal.stopping_weight(stop, Geometric(p), cutoff)


@metric(
    "EBR",
    title="Expected Blended Ratio",
    reference="Sakai, Metrics, statistics, tests, PROMISE Winter School 2013, LNCS 8173, 2014",
    sorted_is_best=False,
)
def expected_blended_ratio(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Value:
    """EBR is the expected value of the blended ratio at the rank at which a user stops.

    The user stops as in ERR. If the user does not stop, the value is 0. Q-measure defines the blended ratio.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(stopping(relevant, stop_probability(rankings)) * blended_ratio(relevant, beta))


@metric("nEBR", title="Normalised Expected Blended Ratio", reference=_NTCIREVAL, sorted_is_best=False)
def normalised_expected_blended_ratio(rankings: GradedRankings, *, beta: Beta = 1.0, cutoff: Cutoff = None) -> Value:
    """nEBR@l is EBR@l divided by EBR@l of the ideal ranking, whose blended ratio is 1 at each of its R ranks."""
    relevant, stop = rankings.relevant(upto=cutoff), stop_probability(rankings)
    reached = relevant.sum(stopping(relevant, stop) * blended_ratio(relevant, beta))
    return reached / rankings.ideal.stopping_weight(stop, NO_DISCOUNT, cutoff)


_SAKAI = "Sakai and Robertson, Modelling a user population for designing information retrieval metrics, EVIA 2008"


def rank_biased_mean(rankings: BinaryRankings, relevant: Found, utility: Value, gamma: Decay, cutoff: Cutoff) -> Value:
    """Return the mean utility at the relevant documents found, weighed by gamma^(count(r)-1).

    The divisor is the sum of the weights of all R. With a cut-off l, it is min(l, R), as NTCIREVAL has it.
    """
    if cutoff is None:
        return relevant.sum(
            relevant.discount_at(relevant.count, Geometric(gamma)) / rankings.geometric_sum(gamma) * utility
        )
    weighed = relevant.sum(relevant.discount_at(relevant.count, Geometric(gamma)) * utility)
    return weighed / recall_divisor(rankings, "cutoff", cutoff)


@metric("NCUguP", title="NCU, graded-uniform, with precision", reference=_SAKAI, sorted_is_best=False)
def graded_uniform_precision(rankings: GradedRankings, *, stops: Stops = None) -> Value:
    """NCUguP is the expected precision at the relevant document at which a user stops.

    The probability of a document is in proportion to the value of its level in `stops`, which are the gains by default.
    A user who stops at a document that is not retrieved finds 0.
    """
    relevant = rankings.relevant()
    return relevant.sum(relevant.stop_share * relevant.count / relevant.rank)


@metric("NCUguBR", title="NCU, graded-uniform, with the blended ratio", reference=_SAKAI, sorted_is_best=False)
def graded_uniform_blended_ratio(rankings: GradedRankings, *, beta: Beta = 1.0, stops: Stops = None) -> Value:
    """NCUguBR is the expected blended ratio at the relevant document at which a user stops.

    Users stop as in NCUguP. Q-measure defines the blended ratio.
    """
    relevant = rankings.relevant()
    return relevant.sum(relevant.stop_share * blended_ratio(relevant, beta))


@metric("NCUrbP", title="NCU, rank-biased, with precision", reference=_SAKAI)
def rank_biased_uniform_precision(rankings: BinaryRankings, *, gamma: Decay = 0.95, cutoff: Cutoff = None) -> Value:
    """NCUrbP is the expected precision at the relevant document at which a user stops.

    Each relevant document in the ranking has `gamma` times as many users who stop at it as the relevant document above.
    A user who stops at a document that is not retrieved finds 0. With a cut-off l, the sum ends at l, and its divisor
    is min(l, R) in place of the sum of all weights.
    """
    relevant = rankings.relevant(upto=cutoff)
    return rank_biased_mean(rankings, relevant, relevant.count / relevant.rank, gamma, cutoff)


@metric("NCUrbBR", title="NCU, rank-biased, with the blended ratio", reference=_SAKAI)
def rank_biased_blended_ratio(
    rankings: GradedRankings, *, beta: Beta = 1.0, gamma: Decay = 0.95, cutoff: Cutoff = None
) -> Value:
    """NCUrbBR is the expected blended ratio at the relevant document at which a user stops.

    Users stop as in NCUrbP. Q-measure defines the blended ratio.
    """
    relevant = rankings.relevant(upto=cutoff)
    return rank_biased_mean(rankings, relevant, blended_ratio(relevant, beta), gamma, cutoff)


@metric("NCUrbIE", title="NCU, rank-biased, with iRBU's utility", reference=_NTCIREVAL)
def rank_biased_persistence(
    rankings: BinaryRankings, *, p: Persistence = 0.99, gamma: Decay = 0.95, cutoff: Cutoff = None
) -> Value:
    """NCUrbIE is the expected value of p^r, where r is the rank of the relevant document at which a user stops.

    Users stop as in NCUrbP.
    """
    relevant = rankings.relevant(upto=cutoff)
    return rank_biased_mean(rankings, relevant, p * relevant.discount(Geometric(p)), gamma, cutoff)


_MOFFAT = "Moffat, Bailey, Scholer and Thomas, INST: an adaptive metric for information retrieval evaluation, ADCS 2015"


@metric("INST", title="INST, the utility for users who adapt", reference=_MOFFAT)
def adaptive_utility(rankings: GradedRankings, *, T: Expected = 2.0, n: LastRead = "1000") -> Value:
    """INST is the expected gain per document read, for users who expect a gain of T in all.

    A document is worth its gain divided by the highest gain of the scale. A user goes on from rank i with probability
    ((x-1)/x)^2, where x = i + 2T - total, and total is the gain down to this rank.
    """
    return rankings.expected_utility("((i+2*T-total-1)/(i+2*T-total))**2", "g", T, n == "inf" and "i+2*T-total")


@metric("INSQ", title="INSQ, the utility for users with a target", reference=_MOFFAT)
def squared_utility(rankings: GradedRankings, *, T: Expected = 2.0, n: LastRead = "1000") -> Value:
    """INSQ is INST for users who do not adapt to what they find: x = i + 2T."""
    return rankings.expected_utility("((i+2*T-1)/(i+2*T))**2", "g", T, n == "inf" and "i+2*T")


@metric("CWL", title="The utility for a user model of one's own", reference=_MOFFAT, sorted_is_best=False)
def custom_utility(rankings: GradedRankings, *, C: Continuation, gain: RankGain, T: Expected = 2.0) -> Value:
    """CWL is the expected gain per document read, for users who go on from rank i with probability C.

    C and gain are expressions over i (the rank), g (the gain of its document, divided by the highest gain of the
    scale), T, and total (the sum of g down to this rank): `CWL(C=0.8*(1-g),gain=g)`. Users read at most 1,000 ranks.
    """
    return rankings.expected_utility(C, gain, T)
