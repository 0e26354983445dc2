"""Metrics that compare the run's own scores with relevance."""

from __future__ import annotations

import numpy as np

from gainboard.metrics.arrays import Scores
from gainboard.metrics.catalogue import metric
from gainboard.metrics.parameters import SystemScores, UserScores
from gainboard.metrics.views import ScoredRankings


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
    is_raw = srs == "raw"
    scores = rankings.system_scores(found, raw=is_raw)
    nearer = np.abs(scores) - np.abs(scores - found.gain / unit)
    missed = (rankings.ideal.total - found.sum_by_topic(found.gain)) / unit
    distance = rankings.system_distance(raw=is_raw) - found.sum_by_topic(nearer) + missed
    documents = rankings.judgments.judged_count
    if not rankings.reading.condensed:
        of_run = rankings.retrieval_scores
        distance += of_run.unjudged_absolute if is_raw else of_run.unjudged_scaled
        documents = documents + rankings.run.retrieved - np.diff(rankings.run.starts)
    return 1.0 - distance / documents
