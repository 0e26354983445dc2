"""The scorer: a choice of runs over one qrels version in, one score for each metric, run and topic out.

Boards, scores, comparisons, sweeps and analyses all score here. Scores come from formulas over judged rankings, or were
uploaded: to the callers, both are bound metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judgments.versions import JudgedVersion
from gainboard.evaluation.scoring.binding import CustomMetric, customs_of, undefined
from gainboard.evaluation.scoring.judged_runs import Slice, judged_slices
from gainboard.evaluation.scoring.turns import spend
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.metrics import BoundMetric, mean_all, score_all
from gainboard.statistics import mean_intervals
from gainboard.store.database import may_take_long
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
_RUNS_AT_ONCE = 8
"""The runs whose scores are made at once where only means are wanted: 2,000 metrics on 6,980 topics are 900 MB."""


@dataclass(frozen=True, slots=True)
class Scorer:
    """Some runs of a collection over one qrels version, or over some of its topics."""

    workspace: Workspace
    collection: Collection
    version: JudgedVersion
    runs: Sequence[Run]

    def scored(self, bound: Sequence[BoundMetric], *, is_chosen: bool = True) -> ScoredRuns:
        """Return scores, means and missing topics. Recent requests are answered from memory.

        `is_chosen` says whether the request names the metrics or their parameters (see `spend`). Kept scores stay
        valid, because runs, qrels versions and the meaning of labels never change.
        """
        topics = self.version.topics
        kept, key = SCORED_RUNS.of(self.workspace), (self.version.qrels.id, _key(self.runs, bound, topics.places))
        if (found := kept.find(key)) is None:
            spend(len(bound) * len(self.runs) * len(topics.topics) * SCORE_SECONDS, is_chosen=is_chosen)
            found = self._score(bound)
            # The cache keeps the last value whatever its size, and would remove all others for this one.
            if found.scores.nbytes <= MOST_SCORED_BYTES:
                kept.keep(key, found)
        return found

    def scores(self, bound: Sequence[BoundMetric]) -> Floats:
        """Return the scores, which are not kept: float64 [metrics, runs, topics], NaN where a metric is undefined."""
        return self._score(bound).scores

    def means(self, bound: Sequence[BoundMetric]) -> Floats:
        """Return the means over topics, of more metrics than there is memory for scores: float64 [metrics, runs].

        None of the metrics was uploaded.
        """
        means = np.empty((len(bound), len(self.runs)))
        for part in self.slices(bound):
            for start in range(0, len(part.places), _RUNS_AT_ONCE):
                some = slice(start, start + _RUNS_AT_ONCE)
                means[:, part.positions[some]] = mean_all(bound, score_all(bound, part.runs, part.places[some]))
        return means

    def undefined(self, bound: Sequence[BoundMetric], scored: ScoredRuns) -> NDArray[np.bool_]:
        """Return where no run has a score: [metrics, topics]. `scored` are the scores of these metrics."""
        topics = self.version.topics
        if not self.runs:
            return undefined(bound, topics)
        # Whether a formula is undefined depends on the topic and not on the run, so the first run tells it for all.
        nowhere = np.isnan(scored.scores[:, 0])
        for row, metric in customs_of(bound):
            nowhere[row] = metric.undefined(topics.topics)  # some runs may have no score at all
        return nowhere

    def slices(self, bound: Sequence[BoundMetric] = ()) -> Iterator[Slice]:
        """Yield the runs in slices, joined with the version, with retrieval scores if one of the metrics needs them."""
        exact = any(metric.needs_retrieval_scores for metric in bound)
        return judged_slices(self.workspace, self.collection, self.version, self.runs, exact)

    def _score(self, bound: Sequence[BoundMetric]) -> ScoredRuns:
        scores = np.empty((len(bound), len(self.runs), len(self.version.topics.topics)))
        missing = np.zeros(len(self.runs), np.int64)
        rows = [row for row, metric in enumerate(bound) if not isinstance(metric, CustomMetric)]
        own = [bound[row] for row in rows]
        for row, metric in customs_of(bound):
            may_take_long()
            scores[row] = metric.scores(self.workspace, self.runs, self.version.topics.topics)
        for part in self.slices(bound):
            if len(own) == len(bound):
                scores[:, part.positions] = score_all(bound, part.runs, part.places)
            else:
                scores[np.ix_(rows, part.positions)] = score_all(own, part.runs, part.places)
            missing[part.positions] = part.runs.missing[part.places].sum(axis=1)
        return ScoredRuns(scores, mean_all(bound, scores), missing)


def _key(chosen: Sequence[Run], bound: Sequence[BoundMetric], topics: NDArray[np.intp] | None = None) -> bytes:
    """Return a key for runs, metrics and topics: a hash, because clients choose the labels, which may be long."""
    # Lengths come before what varies, so that no two requests have the same bytes.
    ids = np.array([len(chosen), *(run.id for run in chosen)], np.int64)
    places = b"all" if topics is None else topics.tobytes()
    labels = "\n".join(metric.label for metric in bound).encode()
    return sha256(ids.tobytes() + b"%d " % len(places) + places + labels).digest()
