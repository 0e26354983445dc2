"""Weighted reciprocal ranks: how far down the first relevant document is, and how relevant it is."""

from __future__ import annotations

import numpy as np

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import metric
from gainboard.metrics.found import Found
from gainboard.metrics.parameters import Cutoff, Penalties
from gainboard.metrics.views import BinaryRankings

_WEB = "Eguchi et al., Overview of the Web retrieval task at the third NTCIR workshop, 2003, in Sakai's form of 2004"


def bonus(b: Penalties) -> Scores:
    """What each level, from 1 up, takes off the rank: 1/b(X)."""
    return 1.0 / np.array(b[::-1])


def weighted_reciprocal_of(found: Found, b: Penalties) -> Scores:
    """1/(r - 1/b(X)) of each document found, of level X."""
    return 1.0 / (found.rank - bonus(b).take(found.level - 1))


@metric("WRR", title="Weighted Reciprocal Rank", reference=_WEB, bounded=False)
def weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Scores:
    """1/(r - 1/b(X)) for the first relevant document, of level X at rank r; 0 if none is retrieved.

    The higher the level, the smaller its penalty b(X), and the more is taken off the rank.
    """
    return rankings.at_first(weighted_reciprocal_of, b, upto=cutoff)


@metric("NWRR", title="Normalised Weighted Reciprocal Rank", reference=_WEB)
def normalised_weighted_reciprocal_rank(rankings: BinaryRankings, *, b: Penalties, cutoff: Cutoff = None) -> Scores:
    """WRR over that of a document of the topic's highest level at rank 1."""
    weighted = rankings.at_first(weighted_reciprocal_of, b, upto=cutoff)
    return weighted * (1.0 - bonus(b)[rankings.judgments.highest_level - 1])
