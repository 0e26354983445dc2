"""Score matrices [runs, topics]: what every analysis starts from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.binding import undefined
from gainboard.evaluation.corrections import Levels
from gainboard.evaluation.judging import JudgedTopics
from gainboard.evaluation.scoring import judged_runs
from gainboard.evaluation.selection import Means, Selection
from gainboard.evaluation.versions import JudgedVersion, index_of
from gainboard.evaluation.workspace import Recent, Workspace
from gainboard.metrics import BoundMetric, JudgedRankings, Scale, resolve
from gainboard.store.records import Collection, Qrels, Run

Floats = NDArray[np.float64]
KEPT_BYTES = 256 << 20
"""Of score matrices in one process: 100 of 45 runs on 6,980 topics."""


class Matrices:
    """The scores of selected runs under any metric, over one qrels version.

    Nothing is scored before it is asked for, so that the sizes can be had for nothing: `run_count`, `topics`
    and `defined`. A metric is named by its label, which says all of its parameters.
    """

    def __init__(
        self,
        workspace: Workspace,
        collection: Collection,
        version: Qrels,
        judged: JudgedTopics,
        candidates: Sequence[Run],
        selection: Selection,
        others: Mapping[int, JudgedVersion] = {},
        left_out: Mapping[str, str] = {},
    ) -> None:
        self.collection = collection
        self.qrels = version
        self.candidates = candidates
        self.left_out = left_out
        """By name of a run that is no candidate: that of the candidate to which it is identical."""
        self.run_count = selection.count(candidates)
        self.topics = judged.topics
        self.judgments = judged.judgments
        self._judged = judged
        self._workspace = workspace
        self._selection = selection
        self._others = others
        self._under = lru_cache(maxsize=None)(self._over)
        self._rankings = lru_cache(maxsize=2)(self._load_rankings)
        self._tables: Recent[str, Floats] = Recent(KEPT_BYTES, lambda table: table.nbytes)

    def under(self, version: int) -> Matrices:
        """The same runs, chosen under this version, over one of the others that were given."""
        if version == self.qrels.version:
            return self
        return self._under(version)

    def metric(self, label: str) -> BoundMetric:
        """The metric of this label."""
        return resolve(label, Scale(self.collection.highest_level, self.collection.depth))

    def defined(self, label: str) -> NDArray[np.bool_]:
        """[topics]: for which topics the metric has a score."""
        return self.defined_for_all([label])

    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """[topics]: for which topics every one of the metrics has a score."""
        missing = undefined([self.metric(label) for label in labels], self._judged)
        return np.logical_not(missing.any(axis=0))

    @property
    def runs(self) -> list[Run]:
        """The selected runs, in the order of every matrix."""
        return [self.candidates[place] for place in self._places]

    def scores(self, label: str) -> Floats:
        """float64 [runs, topics]: NaN where the metric is undefined for the topic."""
        return self._all_scores(label)[self._places]

    def means(self, label: str) -> Floats:
        """float64 [runs]: each run's mean score over the topics for which the metric is defined."""
        return self._all_means(label)[self._places]

    def rankings(self, run: int) -> JudgedRankings:
        """The judged rankings of the run at this place, for what is not a metric's score."""
        return self._rankings(False)[self._places[run]]

    def _over(self, version: int) -> Matrices:
        other, same = self._others[version], _SameRuns(self.run_count, lambda: self._places)
        return Matrices(self._workspace, self.collection, other.qrels, other.topics, self.candidates, same)

    def document_levels(self) -> Levels:
        """The judgments themselves."""
        return index_of(self._workspace, self.collection, self.qrels).levels

    @cached_property
    def _places(self) -> list[int]:
        return self._selection.choose(self.candidates, self._all_means)

    def _all_means(self, label: str) -> Floats:
        return self.metric(label).means(self._all_scores(label))

    def _all_scores(self, label: str) -> Floats:
        def make() -> Floats:
            metric = self.metric(label)
            rows = [metric.score(rankings) for rankings in self._rankings(metric.needs_retrieval_scores)]
            return np.array(rows).reshape(len(rows), len(self.topics))

        return self._tables.get(label, make)

    def _load_rankings(self, exact: bool) -> list[JudgedRankings]:
        # Kept, for what one metric has computed of a run the next one need not.
        found = judged_runs(self._workspace, self.collection, self.qrels, self.candidates, exact)
        return [JudgedRankings(run, self.judgments) for run in found]


@dataclass(frozen=True, slots=True)
class _SameRuns:
    """The runs that other matrices of the same candidates choose."""

    run_count: int
    places: Callable[[], list[int]]

    def candidates(self, stored: Sequence[Run], collection: str) -> list[Run]:
        return list(stored)

    def count(self, candidates: Sequence[Run]) -> int:
        return self.run_count

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return self.places()
