"""Score matrices [runs, topics], from which every analysis starts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judgments.differences import Levels
from gainboard.evaluation.judgments.topic_groups import ChosenTopics
from gainboard.evaluation.judgments.versions import JudgedVersion, index_of
from gainboard.evaluation.runs.join import JudgedTopics, narrow
from gainboard.evaluation.scoring.binding import NO_CUSTOM, CustomMetrics, customs_of, scale_of, undefined
from gainboard.evaluation.scoring.scorer import Slice, judged_runs, judged_slices, score_runs
from gainboard.evaluation.scoring.selection import Means, Selection, systems_of
from gainboard.evaluation.workspace import LRUCache, Workspace
from gainboard.metrics import BoundMetric, CurvesOfRun, JudgedRun, JudgedRuns, Judgments, mean_of, score_all
from gainboard.statistics.judging import UNJUDGED
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
        self.workspace = workspace
        self.collection = collection
        self.qrels = version
        self.rows = candidates
        self.candidates, self.groups = systems_of(candidates)
        """The systems, and the system of each of the `rows`, which are their replicates; None if there are none."""
        self.left_out = left_out
        """Maps each run that is no candidate to the candidate to which it is identical, by name."""
        self.custom = custom
        self.chosen = chosen
        """The choice of topics, which are the only ones in `judged` and in `others`; None for all topics."""
        self.run_count = selection.count(self.candidates)
        self.topics = judged.topics
        self.judgments = judged.judgments
        self._judged = judged
        self._version = JudgedVersion(version, judged)
        self._selection = selection
        self._others = others
        self._under: dict[VersionName, Matrices] = {}
        self._tables: LRUCache[str, tuple[Floats | None, Floats]] = LRUCache(
            KEPT_BYTES, lambda tables: sum(table.nbytes for table in tables if table is not None)
        )

    def under(self, version: VersionName) -> Matrices:
        """Return the same runs, chosen under this version, over another one of the given versions."""
        if version == self.qrels.named:
            return self
        if version not in self._under:
            # Weak: if each referred to the other, their large arrays would wait for the collector once nobody needs
            # them.
            itself = ref(self)

            def places() -> list[int]:
                chosen = itself()
                assert chosen is not None, "whoever asked for another version keeps these matrices"
                return chosen._places

            other, same = self._others[version], _SameRuns(self.run_count, places)
            self._under[version] = Matrices(
                self.workspace, self.collection, other.qrels, other.topics, self.rows, same, custom=self.custom
            )
        return self._under[version]

    def metric(self, label: str) -> BoundMetric:
        """Return the metric with this label."""
        return self.custom.bind(label, scale_of(self.collection))

    def defined(self, label: str) -> NDArray[np.bool_]:
        """Return for which topics the metric has a score: [topics]."""
        return self.defined_for_all([label])

    def defined_for_all(self, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Return for which topics every one of the metrics has a score, of each selected run: [topics]."""
        missing = undefined([self.metric(label) for label in labels], self._judged).any(axis=0)
        for label in labels:
            # Whether a formula has a score depends on the topic alone, but of uploaded ones any may be missing.
            if any(metric.matrix.has_gaps for _, metric in customs_of([self.metric(label)])):
                missing |= np.isnan(self.scores(label)).any(axis=0)
        return np.logical_not(missing)

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

        With `upto`, only so many ranks count. It is 0 for a topic without a relevant document retrieved. That of a
        system is the sum over its replicates, modulo 2**64.
        """
        rows, groups = self._rows_of_chosen()
        table = np.zeros((self.run_count, len(self.topics)), np.uint64)
        for part in self._slices([self.rows[row] for row in rows]):
            np.add.at(table, groups[part.positions], part.runs.marks(upto)[part.places])
        return table

    def replicates(self, label: str) -> tuple[Floats, NDArray[np.intp]]:
        """Return the scores of all replicates of the selected systems, as `collapse` takes them: float64 [rows, topics]
        and intp [rows], the system of each row among `runs`. A system without replicates has one row.

        Scores are NaN where a replicate has none, or the metric is undefined, and are negated as in `scores`.
        """
        rows, groups = self._rows_of_chosen()
        of_rows, of_systems = self._scored(label)
        return (of_systems if of_rows is None else of_rows)[rows], groups

    @property
    def replicate_names(self) -> dict[str, list[str]]:
        """The names of the replicates of each selected system."""
        names: dict[str, list[str]] = {run.name: [] for run in self.runs}
        for row, system in zip(*self._rows_of_chosen(), strict=True):
            names[self.runs[system].name].append(self.rows[row].name)
        return names

    def _rows_of_chosen(self) -> tuple[list[int], NDArray[np.intp]]:
        """Return the rows of the selected systems in their order, and the system of each."""
        if self.groups is None:
            return self._places, np.arange(self.run_count)
        rows = [np.flatnonzero(self.groups == place).tolist() for place in self._places]
        return [row for some in rows for row in some], np.repeat(np.arange(len(rows)), [len(some) for some in rows])

    def judged_runs(self) -> Iterator[JudgedRun]:
        """Yield the selected runs, joined with the version."""
        return judged_runs(self.workspace, self.collection, self._version, self.runs, exact=False)

    def curves(self, run: int, rel: int, condensed: bool) -> CurvesOfRun:
        """Return the run with this index, in the form from which curves are drawn."""
        (part,) = self._slices([self.candidates[self._places[run]]])
        return CurvesOfRun(part.runs, part.places[0], rel, condensed)

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
        return self._scored(label)[1]

    def _scored(self, label: str) -> tuple[Floats | None, Floats]:
        """Return the scores of all replicates, None if there are none, and those of all systems."""

        def score() -> tuple[Floats | None, Floats]:
            metric = self.metric(label)
            of_rows = score_runs(self.workspace, self.collection, self._version, self.rows, [metric])
            arrays, sign = of_rows.collapsed([metric], self.groups), -1.0 if metric.is_reversed else 1.0
            table: Floats = -arrays.by_topic[0] if metric.is_reversed else arrays.by_topic[0]
            return None if arrays.rows is None else sign * arrays.rows[0], table

        return self._tables.get(label, score)

    def _slices(self, runs: Sequence[Run]) -> Iterator[Slice]:
        return judged_slices(self.workspace, self.collection, self._version, runs, exact=False)


@dataclass(frozen=True, slots=True)
class _SameRuns(Selection):
    """The runs that other matrices of the same candidates choose."""

    run_count: int
    places: Callable[[], list[int]]

    def count(self, candidates: Sequence[Run]) -> int:
        return self.run_count

    def choose(self, candidates: Sequence[Run], means: Means) -> list[int]:
        return self.places()


_RANKS = 32
"""The bits of a rank in a number that stands for a topic and a rank."""


@dataclass(frozen=True)
class JudgedPairs:
    """The documents of one topic that any of several sets judges.

    `levels` int8 [documents, sets] has the level of each document by each set, or `UNJUDGED`. Levels below 0 are 0.
    """

    topic: str
    levels: NDArray[np.int8]


def judged_pairs(sets: Sequence[Matrices]) -> Iterator[JudgedPairs]:
    """Yield the judged documents of each topic that any of the sets judges, by topic in byte order."""
    levels_by_set = [matrices.document_levels() for matrices in sets]
    for topic in sorted({topic for levels in levels_by_set for topic in levels}, key=str.encode):
        judged = [levels.get(topic, {}) for levels in levels_by_set]
        documents = sorted({document for level_of in judged for document in level_of})
        table = np.full((len(documents), len(sets)), UNJUDGED, np.int8)
        for column, level_of in enumerate(judged):
            table[:, column] = [
                max(level_of[document], 0) if document in level_of else UNJUDGED for document in documents
            ]
        yield JudgedPairs(topic, table)


@dataclass(frozen=True)
class CommonPairs:
    """The runs of `reference` and of `other`, which are the same, on the pairs that both of them judge.

    Documents that one of the sets does not judge count as unjudged under both.
    """

    reference: Matrices
    other: Matrices

    def scores(self, label: str, *, reranked: bool = False) -> tuple[Floats, Floats]:
        """Return the scores under the two sets: float64 [runs, topics], NaN where the metric is undefined.

        With `reranked`, they are those of each run in the order of the other set's levels.
        """
        pairs = [rerank(*pair) for pair in self.runs] if reranked else self.runs
        counts = np.array([self._counts[topic] for topic in self.topics], np.int64)
        counts = counts.reshape(-1, 2, self.reference.collection.highest_level + 1)
        judgments = [Judgments(counts[:, side], np.zeros(len(self.topics), np.int64)) for side in (0, 1)]
        first, second = (JudgedRuns.of([pair[side] for pair in pairs], judgments[side]) for side in (0, 1))
        metric = self.reference.metric(label)
        return score_all([metric], first)[0], score_all([metric], second)[0]

    @cached_property
    def topics(self) -> list[str]:
        """The topics with a common pair, in byte order of their names."""
        return sorted(self._counts, key=str.encode)

    @cached_property
    def _counts(self) -> Mapping[str, NDArray[np.int64]]:
        """The number of common pairs by level under the reference and under the other set: int64 [2, levels]."""
        counts, levels = {}, self.reference.collection.highest_level + 1
        for pairs in judged_pairs((self.reference, self.other)):
            common = pairs.levels[(pairs.levels != UNJUDGED).all(axis=1)]
            if len(common):
                counts[pairs.topic] = np.array([np.bincount(column, minlength=levels) for column in common.T])
        return counts

    @cached_property
    def runs(self) -> list[tuple[JudgedRun, JudgedRun]]:
        """Each run under the two sets, on `topics`: the same documents at the same ranks."""
        both = zip(self.reference.judged_runs(), self.other.judged_runs(), strict=True)
        return [_common_rows(*runs, *self._places) for runs in both]

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of each topic of the two versions among the common topics; -1 if it has no common pair."""
        number = {topic: place for place, topic in enumerate(self.topics)}
        first, second = (
            np.array([number.get(topic, -1) for topic in matrices.topics], np.int64)
            for matrices in (self.reference, self.other)
        )
        return first, second


def _common_rows(
    first: JudgedRun, second: JudgedRun, places: NDArray[np.int64], other_places: NDArray[np.int64]
) -> tuple[JudgedRun, JudgedRun]:
    """Return a run joined with two versions, with the rows of documents that both judge.

    A document is known by its topic and rank, because both joins read the same file in the same order.
    """
    one, other = _keys(first, places), _keys(second, other_places)
    _, rows, other_rows = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    # Rows of topics without a common pair have a negative key, and come first.
    is_common = one[rows] >= 0
    rows, other_rows = rows[is_common], other_rows[is_common]
    topics = one[rows] >> _RANKS
    count = int(places.max(initial=-1)) + 1
    retrieved = np.zeros(count, np.int64)
    retrieved[places[places >= 0]] = first.retrieved[places >= 0]
    starts = np.searchsorted(topics, np.arange(count + 1)).astype(np.int64)
    rank = narrow(first.rank[rows])
    return (
        JudgedRun(starts, rank, np.maximum(first.level[rows], 0), retrieved),
        JudgedRun(starts, rank, np.maximum(second.level[other_rows], 0), retrieved),
    )


def rerank(first: JudgedRun, second: JudgedRun) -> tuple[JudgedRun, JudgedRun]:
    """Return a run under two sets in the order of the levels of the second, equal ones in the run's own order.

    Documents that are not judged, whose rows are absent, stand among those of level 0.
    """
    starts, level = first.starts, second.level
    topic, rank = np.repeat(np.arange(len(starts) - 1), np.diff(starts)), first.rank.astype(np.int64)
    above = np.concatenate(([0], np.cumsum(level > 0)))
    # Whatever is at level 0 makes room for the documents above it that came later.
    moved = rank + above[starts[topic + 1]] - above[:-1]
    order = np.lexsort((rank, -level, topic))
    place = np.arange(len(rank)) - starts[topic] + 1
    ranks = narrow(np.where(level[order] > 0, place, moved[order]))
    one, other = (JudgedRun(starts, ranks, run.level[order], run.retrieved) for run in (first, second))
    return one, other


def _keys(run: JudgedRun, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each row, which grows with its common topic and rank; negative for other topics."""
    topics = np.repeat(places, np.diff(run.starts))
    ranks = run.rank.astype(np.int64)
    # Rows of topics without a common pair must differ as well: their numbers are all different and below 0.
    return np.where(topics >= 0, (topics << _RANKS) + ranks, -1 - np.arange(len(ranks)))
