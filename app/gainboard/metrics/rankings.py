"""Qrels and runs as the metrics see them: arrays by topic, without any document.

Topics are rows. All arrays of one qrels version, and of the runs joined with it, have the same n topics in the same
order. Documents are gone: of each one that is both judged and retrieved, a rank and a level are left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.ideal import TopicClasses
from gainboard.metrics.retrieval import SystemColumns, condensed_scaling, ranked_scaling

UNJUDGED: Final = -128
"""The level code (int8) of a retrieved document that the qrels do not mention; real levels are -127 to 127."""


@dataclass(frozen=True, slots=True)
class Scale:
    """What a metric expression is resolved against: the levels of a collection and the depth of its runs.

    `highest_level` h >= 1; `depth` >= 1 is the rank to which runs were truncated.
    """

    highest_level: int
    depth: int = 1000


class Judgments:
    """What one qrels version says of its topics.

    `level_counts` int64 [n, h+1] holds the documents judged at level 0, 1, ..., h; `negative_counts` int64 [n] those
    judged below 0, which count as judged and as nonrelevant. It keeps what depends on the qrels alone, so share one
    object among all runs of a version; threads may share it too.
    """

    def __init__(self, level_counts: NDArray[np.int64], negative_counts: NDArray[np.int64]) -> None:
        self.level_counts = level_counts
        self.negative_counts = negative_counts

    @property
    def topics(self) -> int:
        """The number of topics, n."""
        return len(self.level_counts)

    @cached_property
    def judged_count(self) -> NDArray[np.int64]:
        """The number of judged documents of each topic, int64 [n], whatever their level."""
        counts: NDArray[np.int64] = self.level_counts.sum(axis=1) + self.negative_counts
        return counts

    @cached_property
    def classes(self) -> TopicClasses:
        """The topics by what is judged of them."""
        return TopicClasses(self.level_counts)


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalScores:
    """The run's own scores, as far as the Average Distance Measure needs them.

    `judged` float64 [rows] is parallel to the rows of the run. By topic, float64 [n]: `lowest` and `highest` over all
    retrieved documents; `unjudged_scaled`, the sum over retrieved unjudged documents of their score scaled to [0, 1]
    by those two (1 where the two are equal); `unjudged_absolute`, the sum of their |score|.
    """

    judged: Scores
    lowest: Scores
    highest: Scores
    unjudged_scaled: Scores
    unjudged_absolute: Scores


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run joined with one qrels version: a row for every judged document retrieved, by topic, then rank.

    `starts` int64 [n+1]: topic t owns rows starts[t] to starts[t+1]. `rank` uint16 or uint32 [rows] is 1-based and
    counts the unjudged too. `level` int8 [rows] may be negative, but is never UNJUDGED. `retrieved` int64 [n] is L,
    after truncation; 0 says that the run lacks the topic.
    """

    starts: NDArray[np.int64]
    rank: NDArray[np.uint16] | NDArray[np.uint32]
    level: NDArray[np.int8]
    retrieved: NDArray[np.int64]
    retrieval_scores: RetrievalScores | None = None

    def system_columns(self, judgments: Judgments, row: NDArray[np.intp], raw: bool, condensed: bool) -> SystemColumns:
        """Return the run's own scores on one scale; `row` intp [m] are the rows of relevant documents.

        Raises ValueError if the scores were not loaded.
        """
        scores = self.retrieval_scores
        if scores is None:
            raise ValueError("this metric needs the run's retrieval scores: see BoundMetric.needs_retrieval_scores")
        counts, documents = np.diff(self.starts), judgments.judged_count
        if raw:
            system, unjudged = scores.judged, scores.unjudged_absolute
        elif condensed:
            system, unjudged = condensed_scaling(scores.judged, counts), scores.unjudged_scaled
        else:
            system = ranked_scaling(scores.judged, counts, scores.lowest, scores.highest)
            unjudged = scores.unjudged_scaled
        if condensed:
            return SystemColumns.of(system, counts, row, 0.0, documents)
        return SystemColumns.of(system, counts, row, unjudged, documents + self.retrieved - counts)


class JudgedRuns:
    """The judged rankings of m runs, one behind the other: what all of them are scored from in one call.

    Rows are the relevant documents retrieved (level >= 1), by run, topic, then rank. `first` int64 [m, n+1]: topic t
    of run i owns rows first[i, t] to first[i, t+1]. `rank` uint16 [2, rows] is the rank, and the rank among the judged
    documents (uint32 if a rank does not fit). `level` int8 [rows]. `missing` bool [m, n]: the run lacks the topic.
    """

    def __init__(
        self,
        judgments: Judgments,
        first: NDArray[np.int64],
        rank: NDArray[np.uint16] | NDArray[np.uint32],
        level: NDArray[np.int8],
        missing: NDArray[np.bool_],
        scored: Sequence[tuple[JudgedRun, NDArray[np.intp]]] = (),
    ) -> None:
        """`scored` are the runs with their retrieval scores, and which of their rows are relevant; none if they lack
        scores."""
        self.judgments = judgments
        self.first = first
        self.rank = rank
        self.level = level
        self.missing = missing
        self._scored = scored
        self._columns: dict[tuple[bool, bool], SystemColumns] = {}

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], judgments: Judgments) -> JudgedRuns:
        """Return the runs, all of which are joined with these judgments."""
        parts = [_of_one(run, judgments) for run in runs]
        return cls.joined(parts, judgments)

    @classmethod
    def joined(cls, parts: Sequence[JudgedRuns], judgments: Judgments) -> JudgedRuns:
        """Return the runs of all parts, in their order."""
        n = judgments.topics
        nothing = JudgedRuns(
            *(judgments, np.zeros((0, n + 1), np.int64), np.zeros((2, 0), np.uint16), np.zeros(0, np.int8)),
            np.zeros((0, n), np.bool_),
        )
        every = [nothing, *parts]
        before = np.cumsum([0, *(len(part.level) for part in every)])
        are_scored = all(len(part._scored) == len(part) for part in every)
        return cls(
            judgments,
            np.concatenate([part.first + shift for part, shift in zip(every, before, strict=False)]),
            np.concatenate([part.rank for part in every], axis=1),
            np.concatenate([part.level for part in every]),
            np.concatenate([part.missing for part in every]),
            [each for part in every for each in part._scored] if are_scored else (),
        )

    def __len__(self) -> int:
        return len(self.first)

    @property
    def nbytes(self) -> int:
        """What they take in memory, their retrieval scores left out."""
        return self.first.nbytes + self.rank.nbytes + self.level.nbytes + self.missing.nbytes

    @cached_property
    def deepest(self) -> int:
        """The lowest place in a ranking at which a relevant document was retrieved; 0 without any."""
        return int(self.rank[0].max(initial=0))

    def spans(self, places: NDArray[np.intp] | None) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return of each ranking of the runs at these places, or of all, its first row, how many it has, and if it is
        missing."""
        if places is None:
            return self._spans
        first = self.first[places]
        return first[:, :-1].ravel(), np.diff(first).ravel(), self.missing[places].ravel()

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        return self.first[:, :-1].ravel(), np.diff(self.first).ravel(), self.missing.ravel()

    def system_columns(self, raw: bool, condensed: bool) -> SystemColumns:
        """Return the runs' own scores on one scale. Raises ValueError if the scores of one were not loaded."""
        if len(self._scored) < len(self):
            raise ValueError("this metric needs the run's retrieval scores: see BoundMetric.needs_retrieval_scores")
        if (found := self._columns.get((raw, condensed))) is None:
            columns = [run.system_columns(self.judgments, row, raw, condensed) for run, row in self._scored]
            found = self._columns[raw, condensed] = SystemColumns.joined(columns, self.judgments.topics)
        return found


def _of_one(run: JudgedRun, judgments: Judgments) -> JudgedRuns:
    row = np.flatnonzero(run.level > 0)
    first = np.searchsorted(row, run.starts)
    rank = np.empty((2, len(row)), run.rank.dtype)
    rank[0] = run.rank.take(row)
    rank[1] = row - np.repeat(run.starts[:-1], np.diff(first)) + 1
    # Retrieval scores are kept only where they are there: they take more memory than all else.
    scored = [(run, row)] if run.retrieval_scores is not None else ()
    return JudgedRuns(
        *(judgments, first[np.newaxis].astype(np.int64), rank, run.level.take(row)),
        (run.retrieved == 0)[np.newaxis],
        scored,
    )
