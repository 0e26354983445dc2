"""Metrics that say how far scores can be trusted where many documents may not be judged, and rank-biased precision."""

from __future__ import annotations

from typing import Final

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import Namesake, metric
from gainboard.metrics.gains import NO_DISCOUNT, Geometric
from gainboard.metrics.parameters import Cutoff, Persistence
from gainboard.metrics.values import Value, maximum, minimum
from gainboard.metrics.views import BinaryRankings, GradedRankings, WholeRankings

_MOFFAT = "Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2008"


@metric(
    "RBP",
    title="Rank-Biased Precision",
    reference=_MOFFAT,
    namesake=Namesake("of graded gains", "the binary one of ir_measures", "RBP(gains=flat,p=0.8)@l"),
)
def rank_biased_precision(rankings: GradedRankings, *, p: Persistence = 0.95, cutoff: Cutoff = None) -> Value:
    """RBP is the rate at which a user gains, who goes on to the next document with probability p.

    It is (1-p) times the sum of g(r)/H * p^(r-1), where H is the highest gain of the scale. Tools differ in p. Ask for
    `RBPresidual` as well to see how much unjudged documents could add.
    """
    relevant = rankings.relevant(upto=cutoff)
    return (1.0 - p) * relevant.sum(relevant.gain * relevant.discount(Geometric(p))) / rankings.highest_gain()


@metric("nRBP", title="Normalised Rank-Biased Precision", reference=f"{_MOFFAT}; normalised as in NTCIREVAL")
def normalised_rank_biased_precision(
    rankings: GradedRankings, *, p: Persistence = 0.95, cutoff: Cutoff = None
) -> Value:
    """nRBP@l is RBP@l divided by RBP@l of the ideal ranking. Clarke's NRBP is another metric."""
    relevant, discount = rankings.relevant(upto=cutoff), Geometric(p)
    return relevant.sum(relevant.gain * relevant.discount(discount)) / rankings.ideal.cumulative_gain(cutoff, discount)


@metric("RBPresidual", title="Residual of Rank-Biased Precision", reference=_MOFFAT, score_of_missing=1)
def rank_biased_residual(rankings: WholeRankings, *, p: Persistence = 0.95, cutoff: int | None = None) -> Value:
    """RBPresidual is what RBP would add if all unjudged documents had the highest gain.

    It is 1 minus (1-p) times the sum of p^(r-1) over the ranks r with a judged document. Ranks beyond the end of the
    ranking, or beyond a cut-off, count as unjudged. So the residual of a topic that the run lacks is 1. It is not a
    measure of quality: a low residual means that RBP is nearly certain. It has no condensed form.
    """
    if rankings.condensed:
        raise BadExpression(
            "RBPresidual(condensed=true): a condensed ranking has no unjudged documents. Ask for condensed=false"
        )
    return 1.0 - (1.0 - p) * rankings.judged_weight(Geometric(p), upto=cutoff)


@metric(
    "Judged",
    title="Share of judged documents at a document cut-off",
    reference="MacAvaney, Macdonald and Ounis, Streamlining evaluation with ir-measures, ECIR 2022",
    on_every_topic=True,
)
def judged_share(rankings: WholeRankings, *, cutoff: int) -> Value:
    """Judged@l is the share of the first l documents retrieved that are judged, whatever their level.

    If fewer than l documents are retrieved, it is the share of these, and 0 if there are none. It is defined for topics
    without relevant documents, too.
    """
    judged = rankings.judged_weight(NO_DISCOUNT, upto=cutoff)
    return judged / maximum(minimum(rankings.retrieved_count, cutoff), 1)


@metric(
    "Unjudged",
    aliases=["unj_l"],
    title="Share of ranks with an unjudged document, to a document cut-off",
    reference="trec_eval 10, https://github.com/usnistgov/trec_eval, its measure `unj`",
)
def unjudged_share(rankings: WholeRankings, *, cutoff: int) -> Value:
    """Unjudged@l is the share of the first l ranks with a document that is not judged.

    Ranks after the end of the ranking hold nothing, so Unjudged and Judged need not add up to 1. It is not a measure of
    quality. In condensed rankings, it is 0.
    """
    return (minimum(rankings.retrieved_count, cutoff) - rankings.judged_weight(NO_DISCOUNT, upto=cutoff)) / cutoff


_EPSILON: Final = 1e-5
"""The number that infAP adds to counts, as trec_eval does, so that nothing is divided by 0."""


@metric(
    "bpref",
    aliases=["gm_bpref(mean=geometric)"],
    title="Binary preference",
    reference="Buckley and Voorhees, Retrieval evaluation with incomplete information, SIGIR 2004, as in trec_eval",
)
def binary_preference(rankings: BinaryRankings) -> Value:
    """bpref is how seldom judged nonrelevant documents are ranked above relevant documents.

    It is the sum of 1 - min(n, R)/min(N, R) over the relevant documents retrieved, divided by R. n is the number of
    judged nonrelevant documents above the document, N that of the topic. Documents of a negative level count as
    unjudged.
    """
    relevant, total = rankings.relevant(), rankings.relevant_count
    above = relevant.pooled_rank - relevant.count
    most = maximum(minimum(rankings.nonrelevant_count, total), 1)  # where N is 0, so is n
    return relevant.sum(1.0 - minimum(above, total) / most) / total


@metric(
    "infAP",
    title="Inferred Average Precision",
    reference="Yilmaz and Aslam, Estimating average precision with incomplete and imperfect judgments, CIKM 2006, as "
    "in trec_eval",
    sorted_is_best=False,
)
def inferred_average_precision(rankings: BinaryRankings) -> Value:
    """infAP is Average Precision as estimated from a sample of the pool.

    Documents of a negative level are in the pool but not judged. Documents that the qrels lack are not in the pool, and
    they are not relevant. The precision at rank k is 1/k + (d/k) * (a+e)/(a+b+2e). Above rank k, d documents are in the
    pool, a are relevant and b are judged nonrelevant. e is 0.00001.
    """
    relevant = rankings.relevant()
    in_pool, judged, relevant_above = relevant.judged_rank - 1.0, relevant.pooled_rank - 1.0, relevant.count - 1.0
    share = (relevant_above + _EPSILON) / (judged + 2.0 * _EPSILON)
    return relevant.sum(1.0 / relevant.rank + in_pool / relevant.rank * share) / rankings.relevant_count
