"""The judged documents that runs retrieve, by number: for pools, which need to know a document again in other runs.

Stored rankings have the levels of documents, but not the documents, so the files are read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.judging import narrow
from gainboard.evaluation.matrices import Matrices
from gainboard.evaluation.rereading import reread
from gainboard.evaluation.versions import index_of
from gainboard.metrics import JudgedRun, Judgments
from gainboard.store.records import Run
from gainboard.trec import PackedJudgments, Ranking

UNJUDGED = -1
Numbers = NDArray[np.int64]


class RetrievedDocuments(NamedTuple):
    """The judged documents that a run retrieves, by topic, then rank, as in `JudgedRun`, with their numbers."""

    starts: Numbers
    rank: Numbers
    document: Numbers
    retrieved: Numbers


class NumberedDocuments:
    """The judged documents of the version of some matrices, numbered from 0: topic by topic."""

    def __init__(self, matrices: Matrices) -> None:
        self._matrices = matrices
        self._topics = matrices.topics

    @cached_property
    def levels(self) -> NDArray[np.int8]:
        """The level of each document: int8 [documents]."""
        return np.concatenate([self._judgments.packed[topic].as_levels() for topic in self._topics])

    @cached_property
    def topic(self) -> Numbers:
        """The topic of each document: int64 [documents]."""
        counts = [len(self._judgments.packed[topic].levels) for topic in self._topics]
        return np.repeat(np.arange(len(counts)), counts)

    def read(self, run: Run) -> RetrievedDocuments:
        """Read the file of a run again, in the order of the version."""
        found: dict[str, tuple[Numbers, int]] = {}

        def collect(rankings: Iterable[Ranking]) -> None:
            for ranking in rankings:
                if (numbers := self._numbers.get(ranking.topic)) is not None:
                    count = len(ranking.documents)
                    known = np.fromiter(map(numbers.get, ranking.documents, repeat(UNJUDGED)), np.int64, count)
                    found[ranking.topic] = (known, count)

        reread(self._matrices.workspace, self._matrices.collection, run, self._matrices.qrels.order_by, collect)
        nothing = (np.zeros(0, np.int64), 0)
        rows = [found.get(topic, nothing) for topic in self._topics]
        places = [np.flatnonzero(known != UNJUDGED) for known, _ in rows]
        return RetrievedDocuments(
            np.cumsum([0, *map(len, places)]),
            np.concatenate([place + 1 for place in places]),
            np.concatenate([known[place] for (known, _), place in zip(rows, places, strict=True)]),
            np.array([count for _, count in rows]),
        )

    def without(self, run: RetrievedDocuments, removed: NDArray[np.bool_]) -> JudgedRun:
        """Return the run joined with the judgments without the removed documents: bool [documents]."""
        kept = ~removed[run.document]
        before = np.concatenate(([0], np.cumsum(kept)))
        level = self.levels[run.document[kept]]
        return JudgedRun(before[run.starts], narrow(run.rank[kept]), level, run.retrieved)

    def judgments_without(self, removed: NDArray[np.bool_]) -> Judgments:
        """Return the numbers of judged documents without the removed ones."""
        topics, levels = self._matrices.judgments.level_counts.shape
        topic, level = self.topic[~removed], self.levels[~removed]
        own = level >= 0
        counts = np.bincount(topic[own] * levels + level[own], minlength=topics * levels).reshape(topics, levels)
        return Judgments(counts, np.bincount(topic[~own], minlength=topics))

    @cached_property
    def _judgments(self) -> PackedJudgments:
        return index_of(self._matrices.workspace, self._matrices.collection, self._matrices.qrels).judgments

    @cached_property
    def _numbers(self) -> dict[str, dict[bytes, int]]:
        numbers, start = {}, 0
        for topic in self._topics:
            documents = self._judgments.packed[topic].documents.split(b"\n")[:-1]
            numbers[topic] = {document: start + place for place, document in enumerate(documents)}
            start += len(documents)
        return numbers
