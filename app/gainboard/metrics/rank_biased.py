"""Rank-biased precision, and the shares of judged and unjudged documents, which say how far scores can be trusted."""

from __future__ import annotations

from gainboard.errors import BadExpression
from gainboard.metrics.catalogue import metric
from gainboard.metrics.discounts import NO_DISCOUNT, Geometric
from gainboard.metrics.parameters import Cutoff, Persistence
from gainboard.metrics.values import Value, maximum, minimum
from gainboard.metrics.views import GradedRankings, WholeRankings

_MOFFAT = "Moffat and Zobel, Rank-biased precision for measurement of retrieval effectiveness, ACM TOIS 27(1), 2008"


@metric("RBP", title="Rank-Biased Precision", reference=_MOFFAT)
def rank_biased_precision(rankings: GradedRankings, *, p: Persistence = 0.95, cutoff: Cutoff = None) -> Value:
    """RBP is the rate at which a user gains, who goes on to the next document with probability p.

    It is (1-p) times the sum of g(r)/H * p^(r-1), where H is the highest gain of the scale. Tools differ in p. Ask for
    `RBPresidual` as well to see how much unjudged documents could add.
    """
    found = rankings.relevant(upto=cutoff)
    return (1.0 - p) * found.sum(found.gain * found.discount(Geometric(p))) / rankings.highest_gain()


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
