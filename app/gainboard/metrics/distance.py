"""Metrics that compare the run's own scores with relevance."""

from __future__ import annotations

import math

from gainboard.metrics.catalogue import ScoreLimits, metric
from gainboard.metrics.parameters import SystemScores, UserScores
from gainboard.metrics.values import Value
from gainboard.metrics.views import ScoredRankings


def _span(limits: ScoreLimits) -> float:
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
    span=_span,
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
