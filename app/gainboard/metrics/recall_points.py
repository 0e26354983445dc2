"""Metrics whose points or divisors follow from R, the number of relevant documents, as trec_eval has them."""

from __future__ import annotations

from typing import Final

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Multiple, Rank, RecallPoint, Rounding
from gainboard.metrics.values import Number, Value, ceiling, floor, maximum, minimum
from gainboard.metrics.views import BinaryRankings

_TREC: Final = "Buckley and Voorhees, Retrieval system evaluation, in TREC: Experiment and Evaluation, 2005"
_TREC_EVAL: Final = "trec_eval, https://github.com/usnistgov/trec_eval, its measure `{}`"
_TENTHS: Final = tuple(tenth / 10 for tenth in range(11))


def interpolated(rankings: BinaryRankings, recall: Number, rounding: str) -> Value:
    """Return the highest precision at a recall >= `recall`, as definitions.md, item 10 has it."""
    found, exact = rankings.relevant(), recall * rankings.relevant_count
    needed = ceiling(exact - 1e-9) if rounding == "up" else floor(exact + (0.5 if rounding == "nearest" else 0.9))
    # The second number is at least 1 where enough documents are found, and 0 elsewhere. Precision is at most 1.
    return found.largest(minimum(found.count / found.rank, maximum(found.count - maximum(needed, 1) + 1, 0)))


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
    return interpolated(rankings, recall, rounding)


@metric("AP11pt", aliases=["11pt_avg(rounding=nearest)"], title="Eleven-point average precision", reference=_TREC)
def eleven_point_average_precision(rankings: BinaryRankings, *, rounding: Rounding = "up") -> Value:
    """AP11pt is the mean of IPrec at the recall points 0, 0.1, 0.2, ..., 1."""
    total = interpolated(rankings, _TENTHS[0], rounding)
    for recall in _TENTHS[1:]:
        total = total + interpolated(rankings, recall, rounding)
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
    aliases=["relative_P_l"],
    title="Relative precision at a document cut-off",
    reference=_TREC_EVAL.format("relative_P"),
)
def relative_precision(rankings: BinaryRankings, *, cutoff: Rank) -> Value:
    """relP@l is P@l divided by the highest P@l that a ranking can have: count(l) / min(l, R)."""
    return rankings.relevant(upto=cutoff).number / minimum(rankings.relevant_count, cutoff)
