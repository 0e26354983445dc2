"""Scores of runs under two judgment sets, on the pairs of topic and document that both sets judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.runs.join import narrow
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Judgments, score_all
from gainboard.statistics.judging import UNJUDGED

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
    every = [each.document_levels() for each in sets]
    for topic in sorted({topic for each in every for topic in each}, key=str.encode):
        judged = [each.get(topic, {}) for each in every]
        documents = sorted({document for each in judged for document in each})
        levels = np.full((len(documents), len(sets)), UNJUDGED, np.int8)
        for column, each in enumerate(judged):
            found = (each.get(document) for document in documents)
            levels[:, column] = [UNJUDGED if level is None else max(level, 0) for level in found]
        yield JudgedPairs(topic, levels)


@dataclass(frozen=True)
class CommonPairs:
    """The runs of `reference` and of `other`, which are the same, on the pairs that both of them judge.

    Documents that one of the sets does not judge count as unjudged under both.
    """

    reference: Matrices
    other: Matrices

    def scores(self, label: str) -> tuple[Floats, Floats]:
        """Return the scores under the two sets: float64 [runs, topics], NaN where the metric is undefined."""
        metric = self.reference.metric(label)
        first, second = (_scored(metric, runs) for runs in self._runs)
        return first, second

    @cached_property
    def topics(self) -> list[str]:
        """The topics with a common pair, in byte order of their names."""
        return sorted(self._counts, key=str.encode)

    @cached_property
    def _counts(self) -> Mapping[str, NDArray[np.int64]]:
        """The number of common pairs by level under the reference and under the other set: int64 [2, levels]."""
        found, levels = {}, self.reference.collection.highest_level + 1
        for each in judged_pairs((self.reference, self.other)):
            common = each.levels[(each.levels != UNJUDGED).all(axis=1)]
            if len(common):
                found[each.topic] = np.array([np.bincount(column, minlength=levels) for column in common.T])
        return found

    @cached_property
    def _runs(self) -> tuple[JudgedRuns, JudgedRuns]:
        pairs = [_common_rows(*both, *self._places) for both in self._judged()]
        first, second = (
            Judgments(
                np.array([self._counts[topic][side] for topic in self.topics]), np.zeros(len(self.topics), np.int64)
            )
            for side in (0, 1)
        )
        return JudgedRuns.of([one for one, _ in pairs], first), JudgedRuns.of([other for _, other in pairs], second)

    def _judged(self) -> Iterator[tuple[JudgedRun, JudgedRun]]:
        yield from zip(self.reference.judged_runs(), self.other.judged_runs(), strict=True)

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of each topic of the two versions among the common topics; -1 if it has no common pair."""
        number = {topic: place for place, topic in enumerate(self.topics)}
        first, second = (
            np.array([number.get(topic, -1) for topic in each.topics], np.int64)
            for each in (self.reference, self.other)
        )
        return first, second


def _scored(metric: BoundMetric, runs: JudgedRuns) -> Floats:
    table: Floats = score_all([metric], runs)[0]
    return table


def _common_rows(
    first: JudgedRun, second: JudgedRun, places: NDArray[np.int64], other_places: NDArray[np.int64]
) -> tuple[JudgedRun, JudgedRun]:
    """Return a run joined with two versions, with the rows of documents that both judge.

    A document is known by its topic and rank, because both joins read the same file in the same order.
    """
    one, other = _keys(first, places), _keys(second, other_places)
    _, rows, other_rows = np.intersect1d(one, other, assume_unique=True, return_indices=True)
    # Rows of topics without a common pair have a negative key, and come first.
    known = one[rows] >= 0
    rows, other_rows = rows[known], other_rows[known]
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


def _keys(run: JudgedRun, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a number for each row, which grows with its common topic and rank; negative for other topics."""
    topics = np.repeat(places, np.diff(run.starts))
    ranks = run.rank.astype(np.int64)
    # Rows of topics without a common pair must differ as well: their numbers are all different and below 0.
    return np.where(topics >= 0, (topics << _RANKS) + ranks, -1 - np.arange(len(ranks)))
