"""Metrics of binary relevance: at a rank, of the first relevant document, at points of recall, and of whole sets."""

from __future__ import annotations

from typing import Final

from gainboard.metrics.catalogue import ScoreLimits, metric
from gainboard.metrics.parameters import (
    Cutoff,
    Multiple,
    Penalties,
    Rank,
    RecallBase,
    RecallPoint,
    RecallWeight,
    Rounding,
)
from gainboard.metrics.values import Number, Space, Value, ceiling, floor, maximum, minimum, spread
from gainboard.metrics.views import BinaryRankings, WholeRankings


def recall_divisor(rankings: BinaryRankings, recall_base: str, cutoff: Cutoff) -> Value:
    """Return the divisor of a sum over relevant documents: R, or min(l, R) for recall base "cutoff" and a cut-off l."""
    if recall_base == "cutoff" and cutoff is not None:
        return minimum(rankings.relevant_count, cutoff)
    return rankings.relevant_count


@metric(
    "AP",
    aliases=["AveP", "map", "map_cut_l", "gm_map(mean=geometric)"],
    title="Average Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def average_precision(
    rankings: BinaryRankings, *, recall_base: RecallBase = "relevant", cutoff: Cutoff = None
) -> Value:
    """Average Precision is the precision at each relevant document retrieved, averaged over all relevant documents."""
    relevant = rankings.relevant(upto=cutoff)
    return relevant.sum(relevant.count / relevant.rank) / recall_divisor(rankings, recall_base, cutoff)


@metric(
    "Rprec",
    aliases=["R-Prec"],
    title="R-Precision",
    reference="Buckley and Voorhees, Evaluating evaluation measure stability, SIGIR 2000",
)
def r_precision(rankings: BinaryRankings) -> Value:
    """R-Precision is the precision at rank R, where R is the number of relevant documents of the topic."""
    return rankings.relevant(upto=rankings.relevant_count).number / rankings.relevant_count


@metric(
    "P",
    aliases=["PDoc", "P_l"],
    title="Precision at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def precision(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """P@l is the share of the first l ranks with a relevant document.

    If the ranking has fewer than l documents, the missing ranks count as nonrelevant.
    """
    return rankings.relevant(upto=cutoff).number / cutoff


@metric(
    "Recall",
    aliases=["recall_l"],
    title="Recall at a document cut-off",
    reference="van Rijsbergen, Information Retrieval, 1979",
)
def recall(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """Recall@l is the share of the relevant documents that are among the first l documents retrieved."""
    return rankings.relevant(upto=cutoff).number / rankings.relevant_count


@metric(
    "Success",
    aliases=["success_l"],
    title="Success at a document cut-off",
    reference="Craswell and Hawking, Overview of the TREC 2004 Web track, 2004 (S@l)",
)
def success(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """Success@l is 1 if a relevant document is among the first l documents retrieved, else 0."""
    return rankings.relevant(upto=cutoff).at_first(spread(1.0, Space.ROW))


@metric(
    "RR",
    aliases=["recip_rank", "MRR"],
    title="Reciprocal Rank",
    reference="Voorhees, The TREC-8 question answering track report, TREC-8, 1999",
)
def reciprocal_rank(rankings: BinaryRankings, *, cutoff: Cutoff = None) -> Value:
    """Reciprocal Rank is one over the rank of the first relevant document, or 0 if none is retrieved."""
    relevant = rankings.relevant(upto=cutoff)
    return relevant.at_first(1.0 / relevant.rank)


_WEB = "Eguchi et al., Overview of the Web retrieval task at the third NTCIR workshop, 2003, in Sakai's form of 2004"


def _most(limits: ScoreLimits) -> float:
    """Return the score of a document with the smallest penalty at rank 1."""
    return 1.0 / (1.0 - 1.0 / float(min(limits.parameters["b"])))


@metric("WRR", title="Weighted Reciprocal Rank", reference=_WEB, span=_most)
def weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Value:
    """WRR is 1/(r - 1/b(X)) for the first relevant document, of level X at rank r, or 0 if none is retrieved.

    Higher levels have smaller penalties b(X), so more is subtracted from the rank.
    """
    relevant = rankings.relevant(upto=cutoff)
    return relevant.at_first(1.0 / (relevant.rank - relevant.by_level(1.0 / b)))


@metric("NWRR", title="Normalised Weighted Reciprocal Rank", reference=_WEB)
def normalised_weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Value:
    """NWRR is WRR divided by the highest possible WRR: that of a document of the topic's highest level at rank 1."""
    relevant = rankings.relevant(upto=cutoff)
    weighted = relevant.at_first(1.0 / (relevant.rank - relevant.by_level(1.0 / b)))
    return weighted * rankings.at_highest_level(1.0 - 1.0 / b)


_TREC: Final = "Buckley and Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_TREC_EVAL: Final = "trec_eval, https://github.com/usnistgov/trec_eval, its measure `{}`"
# Quotients, because three times 0.1 is not 0.3.
_TENTHS: Final = tuple(tenth / 10 for tenth in range(11))


def highest_precision_from(rankings: BinaryRankings, recall: Number, rounding: str) -> Value:
    """Return the highest precision at a recall >= `recall`, as definitions.md, item 10 has it."""
    relevant, exact = rankings.relevant(), recall * rankings.relevant_count
    # Rounding errors may put `recall` * R a little above a whole number.
    needed = ceiling(exact - 1e-9) if rounding == "up" else floor(exact + (0.5 if rounding == "nearest" else 0.9))
    # The second number is at least 1 where enough documents are found, and 0 elsewhere. Precision is at most 1.
    return relevant.largest(
        minimum(relevant.count / relevant.rank, maximum(relevant.count - maximum(needed, 1) + 1, 0))
    )


@metric(
    "IPrec",
    aliases=["iprec_at_recall_x(rounding=nearest)"],
    title="Interpolated precision at a recall point",
    reference=_TREC,
)
def interpolated_precision(rankings: BinaryRankings, *, recall: RecallPoint = 0.1, rounding: Rounding = "up") -> Value:
    """IPrec is the highest precision at any rank where the recall is at least `recall`.

    The run must have retrieved `recall` * R relevant documents, rounded up, and at least one. If it never does, IPrec
    is 0. Versions of trec_eval round in other ways, so their scores differ where `recall` * R is not whole.
    """
    return highest_precision_from(rankings, recall, rounding)


@metric("AP11pt", aliases=["11pt_avg(rounding=nearest)"], title="Eleven-point average precision", reference=_TREC)
def eleven_point_average_precision(rankings: BinaryRankings, *, rounding: Rounding = "up") -> Value:
    """AP11pt is the mean of IPrec at the recall points 0, 0.1, 0.2, ..., 1."""
    total = highest_precision_from(rankings, _TENTHS[0], rounding)
    for recall in _TENTHS[1:]:
        total = total + highest_precision_from(rankings, recall, rounding)
    return total / len(_TENTHS)


@metric(
    "RprecMult",
    aliases=["Rprec_mult_x"],
    title="Precision at a multiple of R",
    reference=_TREC_EVAL.format("Rprec_mult"),
)
def r_precision_at_multiple(rankings: BinaryRankings, *, multiple: Multiple = 2.0) -> Value:
    """RprecMult is the precision at rank `multiple` * R. With multiple 1, it is Rprec.

    0.9 is added to the rank, and then its decimals are cut off, as in trec_eval. Precision at rank 0 is 0.
    """
    rank = floor(multiple * rankings.relevant_count + 0.9)
    return rankings.relevant(upto=rank).number / maximum(rank, 1)


@metric(
    "relP",
    aliases=["relative_P_l", "R_cap", "recall_cap"],
    title="Relative precision at a document cut-off",
    reference=_TREC_EVAL.format("relative_P"),
)
def relative_precision(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """relP@l is P@l divided by the highest P@l that a ranking can have: count(l) / min(l, R).

    BEIR calls it capped recall, `R_cap@l`.
    """
    return rankings.relevant(upto=cutoff).number / minimum(rankings.relevant_count, cutoff)


_RIJSBERGEN: Final = "van Rijsbergen, Information Retrieval, 1979, as in trec_eval"


def _size(rankings: WholeRankings) -> Value:
    """Return L, the number of documents retrieved; 1 for a condensed ranking without a judged document."""
    return maximum(rankings.retrieved_count, 1)


@metric("setP", aliases=["set_P"], title="Precision of the set", reference=_RIJSBERGEN)
def set_precision(rankings: WholeRankings) -> Value:
    """setP is the share of relevant documents among all documents retrieved."""
    return rankings.found_count / _size(rankings)


@metric("setRecall", aliases=["setR", "set_recall"], title="Recall of the set", reference=_RIJSBERGEN)
def set_recall(rankings: BinaryRankings) -> Value:
    """setRecall is the share of the relevant documents that are retrieved at any rank."""
    return rankings.found_count / rankings.relevant_count


@metric("setF", aliases=["set_F", "set_F_x"], title="F-measure of the set", reference=_RIJSBERGEN)
def set_f(rankings: WholeRankings, *, weight: RecallWeight = 1.0) -> Value:
    """setF is the weighted harmonic mean of setP and setRecall.

    It is (w+1) * setP * setRecall / (w * setP + setRecall), where w is `weight`. This is (w+1) times the number of
    relevant documents retrieved, divided by w*R + L. L is the number of documents retrieved.
    """
    return (weight + 1.0) * rankings.found_count / (weight * rankings.relevant_count + _size(rankings))


@metric("setAP", aliases=["set_map"], title="Average precision of the set", reference=_TREC_EVAL.format("set_map"))
def set_average_precision(rankings: WholeRankings) -> Value:
    """setAP is setP times setRecall.

    This is the Average Precision of a ranking with the same precision at each relevant document retrieved.
    """
    count = rankings.found_count
    return count * count / (_size(rankings) * rankings.relevant_count)


@metric(
    "setRelP",
    aliases=["set_relative_P"],
    title="Relative precision of the set",
    reference=_TREC_EVAL.format("set_relative_P"),
)
def set_relative_precision(rankings: WholeRankings) -> Value:
    """setRelP is setP divided by the highest precision that a set of this size can have.

    If more documents are retrieved than are relevant, it is setRecall.
    """
    return rankings.found_count / minimum(_size(rankings), rankings.relevant_count)
