"""Metrics that model a user who stops at a document with a probability that depends on its gain."""

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
    """ERR is the expected value of 1/r, where r is the rank at which a user stops.

    The user reads the ranking from the top. A document with gain g stops the user with probability g/(H+1). H is the
    gain of level h', which is set by `stop_scale` and is the highest level of the scale by default. If the user does
    not stop, the value is 0. gdeval uses gains 2^level - 1 and h' = 4 for every scale.
    """
    found = rankings.relevant(upto=cutoff)
    stop = rankings.gains / (rankings.highest_gain(stop_scale) + 1.0)
    return found.sum(found.by_level(stop) * found.product_above(1.0 - stop) / found.rank)
