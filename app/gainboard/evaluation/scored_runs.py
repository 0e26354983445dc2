"""Scores of stored runs: judged rankings in, one score for each metric, run and topic out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.custom_metrics import CustomMetric, customs_of
from gainboard.evaluation.judged_runs import judged_slices
from gainboard.evaluation.turns import spend
from gainboard.evaluation.versions import JudgedVersion
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.metrics import BoundMetric, mean_all, score_all
from gainboard.statistics import mean_intervals
from gainboard.store.records import Collection, Run

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ScoredRuns:
    """The scores of runs under some metrics.

    - `scores` float64 [metrics, runs, topics]: NaN where a metric is undefined.
    - `means` float64 [metrics, runs]: the means of the scores over topics.
    - `topics_missing` int64 [runs]: the number of topics that each run lacks.
    """

    scores: Floats
    means: Floats
    topics_missing: NDArray[np.int64]

    @cached_property
    def intervals(self) -> tuple[Floats, Floats]:
        """The lower and the upper ends of the confidence intervals of the means, float64 [metrics, runs] both."""
        return mean_intervals(self.scores)


MOST_SCORED_BYTES = 10 << 20
SCORE_SECONDS = 1.5e-6
"""The approximate time for one score of one run on one topic, in the middle of the catalogue."""
SCORED_RUNS: WorkspaceCache[tuple[int, bytes], ScoredRuns] = WorkspaceCache(
    MOST_SCORED_BYTES, lambda scored: scored.scores.nbytes + (1 << 10)
)
"""Scores by the id of the qrels version, and by runs and metrics (`_key`).

There is room for 1,000 runs with five metrics on 250 topics, or for 13 requests with 43 metrics of 45 runs on 50.
"""


def score_stored(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
    *,
    is_chosen: bool = True,
) -> ScoredRuns:
    """Return the scores of the runs. LRUCache requests are answered from memory.

    `is_chosen` says whether the request names the metrics or their parameters (see `spend`). Kept scores stay valid,
    because runs, qrels versions and the meaning of labels never change.
    """
    kept, key = SCORED_RUNS.of(workspace), (version.qrels.id, _key(chosen, bound, version.topics.places))
    if (found := kept.find(key)) is None:
        spend(len(bound) * len(chosen) * len(version.topics.topics) * SCORE_SECONDS, is_chosen=is_chosen)
        found = _score(workspace, collection, version, chosen, bound)
        if found.scores.nbytes <= MOST_SCORED_BYTES:
            kept.keep(key, found)
    return found


def _key(chosen: Sequence[Run], bound: Sequence[BoundMetric], topics: NDArray[np.intp] | None = None) -> bytes:
    """Return a key for runs, metrics and topics: a hash, because clients choose the labels, which may be long."""
    ids = np.array([len(chosen), *(run.id for run in chosen)], np.int64)
    places = b"all" if topics is None else topics.tobytes()
    labels = "\n".join(metric.label for metric in bound).encode()
    return sha256(ids.tobytes() + b"%d " % len(places) + places + labels).digest()


def _score(
    workspace: Workspace,
    collection: Collection,
    version: JudgedVersion,
    chosen: Sequence[Run],
    bound: Sequence[BoundMetric],
) -> ScoredRuns:
    exact = any(metric.needs_retrieval_scores for metric in bound)
    scores = np.empty((len(bound), len(chosen), len(version.topics.topics)))
    missing = np.empty(len(chosen), np.int64)
    uploaded = customs_of(bound)
    for row, metric in uploaded:
        scores[row] = metric.scores(workspace, chosen, version.topics.topics)
    rows = [row for row, metric in enumerate(bound) if not isinstance(metric, CustomMetric)]
    own = [bound[row] for row in rows]
    for part in judged_slices(workspace, collection, version, chosen, exact):
        if not uploaded:
            scores[:, part.positions] = score_all(bound, part.runs, part.places)
        else:
            scores[np.ix_(rows, part.positions)] = score_all(own, part.runs, part.places)
        missing[part.positions] = part.runs.missing[part.places].sum(axis=1)
    return ScoredRuns(scores, mean_all(bound, scores), missing)
