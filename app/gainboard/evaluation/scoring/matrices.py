"""Score matrices [runs, topics], from which every analysis starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judgments.differences import Levels
from gainboard.evaluation.judgments.topic_groups import ChosenTopics
from gainboard.evaluation.judgments.versions import JudgedVersion, index_of
from gainboard.evaluation.runs.join import JudgedTopics
from gainboard.evaluation.scoring.binding import NO_CUSTOM, CustomMetrics, bind_one, scale_of, undefined
from gainboard.evaluation.scoring.judged_runs import judged_runs
from gainboard.evaluation.scoring.scorer import Scorer
from gainboard.evaluation.scoring.selection import Means, Selection
from gainboard.evaluation.workspace import LRUCache, Workspace
from gainboard.metrics import BoundMetric, CurvesOfRun, JudgedRun, mean_of
from gainboard.store.records import Collection, Qrels, Run, VersionName

Floats = NDArray[np.float64]
KEPT_BYTES = 256 << 20
"""The memory for score matrices in one process: 100 of 45 runs on 6,980 topics."""


class Matrices:
    """The scores of selected runs under any metric, over one qrels version.

    Scores are computed when they are asked for, so the sizes cost nothing: `run_count`, `topics` and `defined`. A
    metric is named by its label, which contains all its parameters.
    """

    def __init__(
        self,
        workspace: Workspace,
        collection: Collection,
        version: Qrels,
        judged: JudgedTopics,
        candidates: Sequence[Run],
        selection: Selection,
        others: Mapping[VersionName, JudgedVersion] = {},
        left_out: Mapping[str, str] = {},
        chosen: ChosenTopics | None = None,
        custom: CustomMetrics = NO_CUSTOM,
    ) -> None:
        self.collection = collection
        self.qrels = version
        self.candidates = candidates
        self.left_out = left_out
        """Maps each run that is no candidate to the candidate to which it is identical, by name."""
        self.custom = custom
        self.chosen = chosen
        """The choice of topics, which are the only ones in `judged` and in `others`; None for all topics."""
        self.run_count = selection.count(candidates)
        self.topics = judged.topics
        self.judgments = judged.judgments
        self._judged = judged
        self._scorer = Scorer(workspace, collection, JudgedVersion(version, judged), candidates)
        self._selection = selection
        self._others = others
        self._under: dict[VersionName, Matrices] = {}
        self._tables: LRUCache[str, Floats] = LRUCache(KEPT_BYTES, lambda table: table.nbytes)

    @property
    def workspace(self) -> Workspace:
        """Return the workspace that stores the collection."""
        return self._scorer.workspace

    def under(self, version: VersionName) -> Matrices:
        """Return the same runs, chosen under this version, over another one of the given versions."""
        if version == self.qrels.named:
            return self
        if version not in self._under:
            self._under[version] = self._over(version)
        return self._under[version]

    def metric(self, label: str) -> BoundMetric:
        """Return the metric with this label."""
        return bind_one(label, scale_of(self.collection), self.custom)

    def defined(self, label: str) -> NDArray[np.bool_]:
        """Return for which topics the metric has a score: [topics]."""
        return self.defined_for_all([label])

    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Return for which topics every one of the metrics has a score: [topics]."""
        missing = undefined([self.metric(label) for label in labels], self._judged)
        return np.logical_not(missing.any(axis=0))

    @property
    def runs(self) -> list[Run]:
        """The selected runs, in the order of every matrix."""
        return [self.candidates[place] for place in self._places]

    def scores(self, label: str) -> Floats:
        """Return the scores, NaN if the metric is undefined for the topic: float64 [runs, topics].

        Those of a metric that is better if lower are negated, so that every analysis may take higher for better.
        """
        return self._all_scores(label)[self._places]

    def means(self, label: str) -> Floats:
        """Return each run's mean score over the topics for which the metric is defined: float64 [runs]."""
        return self._all_means(label)[self._places]

    def marks(self, upto: int | None = None) -> NDArray[np.uint64]:
        """Return a number for each ranking, equal if all metrics score the rankings alike: uint64 [runs, topics].

        With `upto`, only so many ranks count. It is 0 for a topic without a relevant document retrieved.
        """
        table = np.empty((self.run_count, len(self.topics)), np.uint64)
        for part in self._scorer_of(self.runs).slices():
            table[part.positions] = part.runs.marks(upto)[part.places]
        return table

    def judged_runs(self) -> Iterator[JudgedRun]:
        """Yield the selected runs, joined with the version."""
        return judged_runs(self.workspace, self.collection, self._scorer.version, self.runs, exact=False)

    def curves(self, run: int, rel: int, condensed: bool) -> CurvesOfRun:
        """Return the run with this index, in the form from which curves are drawn."""
        return self._curves(self._places[run], rel, condensed)

    def _over(self, version: VersionName) -> Matrices:
        # Weak: if each referred to the other, their large arrays would wait for the collector once nobody needs them.
        own = ref(self)

        def places() -> list[int]:
            chosen = own()
            assert chosen is not None, "whoever asked for another version keeps these matrices"
            return chosen._places

        other, same = self._others[version], _SameRuns(self.run_count, places)
        return Matrices(
            self.workspace, self.collection, other.qrels, other.topics, self.candidates, same, custom=self.custom
        )

    def document_levels(self) -> Levels:
        """Return the judgments of the topics."""
        levels = index_of(self.workspace, self.collection, self.qrels).levels
        return levels if self._judged.whole is None else {topic: levels[topic] for topic in self.topics}

    @cached_property
    def _places(self) -> list[int]:
        return self._selection.choose(self.candidates, self._all_means)

    def _all_means(self, label: str) -> Floats:
        return mean_of(self.metric(label), self._all_scores(label))

    def _all_scores(self, label: str) -> Floats:
        return self._tables.get(label, lambda: self._score(self.metric(label)))

    def _score(self, metric: BoundMetric) -> Floats:
        table: Floats = self._scorer.scores([metric])[0]
        return -table if metric.is_reversed else table

    def _curves(self, run: int, rel: int, condensed: bool) -> CurvesOfRun:
        (part,) = self._scorer_of([self.candidates[run]]).slices()
        return CurvesOfRun(part.runs, part.places[0], rel, condensed)

    def _scorer_of(self, chosen: Sequence[Run]) -> Scorer:
        return replace(self._scorer, runs=chosen)


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
