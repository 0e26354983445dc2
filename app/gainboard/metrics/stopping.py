"""Metrics of a user who stops at a document with the probability that it satisfies."""

from __future__ import annotations

from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import Cutoff, StopScale
from gainboard.metrics.values import Value
from gainboard.metrics.views import GradedRankings


@metric(
    "ERR",
    title="Expected Reciprocal Rank",
    reference="Chapelle, Metzler, Zhang and Grinspan, Expected reciprocal rank for graded relevance, CIKM 2009",
)
def expected_reciprocal_rank(rankings: GradedRankings, *, stop_scale: StopScale, cutoff: Cutoff = None) -> Value:
    """ERR is the mean of one over the rank at which a user stops who goes down the ranking and may stop anywhere.

    A document of gain g stops the user with probability g/(H+1), where H is the gain of the scale's highest level, or
    of level h' where `stop_scale` is h'. gdeval takes gains 2^level - 1 and h' = 4, whatever the scale is.
    """
    found = rankings.relevant(upto=cutoff)
    stop = rankings.gains / (rankings.highest_gain(stop_scale) + 1.0)
    return found.sum(found.by_level(stop) * found.product_above(1.0 - stop) / found.rank)
