"""Weighted reciprocal ranks, which use the rank and the level of the first relevant document."""

from __future__ import annotations

from gainboard.metrics.catalogue import Limits, metric
from gainboard.metrics.parameters import Cutoff, Penalties
from gainboard.metrics.values import Value
from gainboard.metrics.views import BinaryRankings

_WEB = "Eguchi et al., Overview of the Web retrieval task at the third NTCIR workshop, 2003, in Sakai's form of 2004"


def _most(limits: Limits) -> float:
    """Return the score of a document with the smallest penalty at rank 1."""
    return 1.0 / (1.0 - 1.0 / float(min(limits.parameters["b"])))


@metric("WRR", title="Weighted Reciprocal Rank", reference=_WEB, span=_most)
def weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Value:
    """WRR is 1/(r - 1/b(X)) for the first relevant document, of level X at rank r, or 0 if none is retrieved.

    Higher levels have smaller penalties b(X), so more is subtracted from the rank.
    """
    found = rankings.relevant(upto=cutoff)
    return found.at_first(1.0 / (found.rank - found.by_level(1.0 / b)))


@metric("NWRR", title="Normalised Weighted Reciprocal Rank", reference=_WEB)
def normalised_weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Value:
    """NWRR is WRR divided by the highest possible WRR: that of a document of the topic's highest level at rank 1."""
    found = rankings.relevant(upto=cutoff)
    weighted = found.at_first(1.0 / (found.rank - found.by_level(1.0 / b)))
    return weighted * rankings.at_highest_level(1.0 - 1.0 / b)
