"""Metrics that compare the run's own scores with relevance."""

from __future__ import annotations

import numpy as np

from app.metrics.arrays import Scores
from app.metrics.catalogue import metric
from app.metrics.found import Segments
from app.metrics.parameters import SystemScores, UserScores
from app.metrics.views import ScoredRankings


@metric(
    "ADM",
    title="Average Distance Measure",
    reference="Della Mea and Mizzaro, Measuring retrieval effectiveness: a new proposal, JASIST 55(6), 2004",
)
def average_distance(rankings: ScoredRankings, *, urs: UserScores = "scaled", srs: SystemScores = "minmax") -> Scores:
    """One minus the mean distance between user and system score over the documents judged or retrieved.

    A document not retrieved has system score 0, one that is not relevant user score 0. It looks at scores and
    not at ranks, so a run that ranks perfectly may lose to one that does not (Sakai, IPSJ, 2004, section 6).
    """
    found = rankings.relevant()
    unit = rankings.highest_gain if urs == "scaled" else 1.0
    scores = _system_scores(rankings, srs)
    distances = np.abs(scores)
    distances[found.row] = np.abs(scores.take(found.row) - found.gain / unit)
    missed = (rankings.ideal.total - found.sum_by_topic(found.gain)) / unit
    distance = rankings.judged.sum(distances) + missed
    documents = rankings.judgments.judged_count
    if not rankings.reading.condensed:
        of_run = rankings.retrieval_scores
        distance += of_run.unjudged_scaled if srs == "minmax" else of_run.unjudged_absolute
        documents = documents + rankings.run.retrieved - np.diff(rankings.run.starts)
    return 1.0 - distance / documents


def min_max(scores: Scores, lowest: Scores | float, highest: Scores | float) -> Scores:
    """`scores` scaled so that `lowest` becomes 0 and `highest` 1 (all float64 of one shape, or broadcast to it).

    Where those two are equal, all are 1.
    """
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        spread = np.subtract(highest, lowest)
        if np.all((spread > 0) & (spread < np.inf)):
            return (scores - lowest) / spread
        # Two finite scores may be further apart than the largest number; their halves are not.
        unit = np.where(np.isinf(spread), 0.5, 1.0)
        spread = highest * unit - lowest * unit
        return np.where(spread > 0, (scores * unit - lowest * unit) / spread, 1.0)


def _system_scores(rankings: ScoredRankings, srs: str) -> Scores:
    """The score of every judged document retrieved: as it is, or scaled to [0, 1] over its ranking."""
    scores = rankings.retrieval_scores
    if srs == "raw":
        return scores.judged
    lowest, highest = scores.lowest, scores.highest
    if rankings.reading.condensed:
        lowest, highest = _extremes(scores.judged, rankings.judged)
    return min_max(scores.judged, rankings.judged.spread(lowest), rankings.judged.spread(highest))


def _extremes(values: Scores, judged: Segments) -> tuple[Scores, Scores]:
    lowest, highest = np.zeros(judged.topics), np.zeros(judged.topics)
    if len(values):
        first = judged.starts[judged.filled]
        lowest[judged.filled] = np.minimum.reduceat(values, first)
        highest[judged.filled] = np.maximum.reduceat(values, first)
    return lowest, highest
