"""Runs joined with qrels in the form that metrics use: arrays by topic, without document ids.

All arrays of a qrels version, and of the runs joined with it, have the same n topics in the same order. For each
document that is both judged and retrieved, only its rank and its level are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.judgments import Judgments, join_stretches
from gainboard.metrics.retrieval import Scores, SystemColumns, scale_condensed, scale_ranked


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalScores:
    """The run's own scores, in the form that the Average Distance Measure needs.

    - `judged` float64 [rows]: the score of each row of the run, that is, of each judged document retrieved.
    - `lowest` and `highest` float64 [n]: the lowest and the highest score of the topic, over all retrieved documents.
    - `unjudged_scaled` float64 [n]: the sum of the scores of retrieved unjudged documents, scaled to [0, 1] by `lowest`
      and `highest`. A scaled score is 1 if these two are equal.
    - `unjudged_absolute` float64 [n]: the sum of |score| over the same documents.
    """

    judged: Scores
    lowest: Scores
    highest: Scores
    unjudged_scaled: Scores
    unjudged_absolute: Scores

    @property
    def nbytes(self) -> int:
        return self.judged.nbytes + 4 * self.lowest.nbytes

    def only(self, row: NDArray[np.int64], topics: NDArray[np.intp]) -> RetrievalScores:
        """Return the scores of these topics alone, which have the rows `row`."""
        by_topic = (self.lowest, self.highest, self.unjudged_scaled, self.unjudged_absolute)
        return RetrievalScores(self.judged[row], *(column[topics] for column in by_topic))


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """A run joined with a qrels version. It has a row for each judged document retrieved, by topic, then rank.

    - `starts` int64 [n+1]: topic t has the rows from starts[t] to starts[t+1], without the last.
    - `rank` uint16 or uint32 [rows]: the rank from 1, which also counts unjudged documents.
    - `level` int8 [rows]: the level, which may be negative but is never UNJUDGED.
    - `retrieved` int64 [n]: L, the number of documents retrieved, after truncation. It is 0 if the run lacks the topic.
    - `document` uint32 [rows]: the number of the document within its topic, as in `Intents`, if it is judged by intent.
    - `annotated`: the same run with a row for each annotated document, if there are any and scores were loaded.
    """

    starts: NDArray[np.int64]
    rank: NDArray[np.uint16] | NDArray[np.uint32]
    level: NDArray[np.int8]
    retrieved: NDArray[np.int64]
    retrieval_scores: RetrievalScores | None = None
    document: NDArray[np.uint32] | None = None
    annotated: JudgedRun | None = None

    @property
    def nbytes(self) -> int:
        arrays = self.starts.nbytes + self.rank.nbytes + self.level.nbytes + self.retrieved.nbytes
        documents = self.document.nbytes if self.document is not None else 0
        documents += self.annotated.nbytes if self.annotated is not None else 0
        return arrays + documents + (self.retrieval_scores.nbytes if self.retrieval_scores is not None else 0)

    @property
    def judged_count(self) -> NDArray[np.int64]:
        """The number of judged documents retrieved for each topic, int64 [n]."""
        # `np.diff` takes three times as long for fifty topics.
        return self.starts[1:] - self.starts[:-1]

    def only(self, topics: NDArray[np.intp]) -> JudgedRun:
        """Return the run with these topics alone, in their order."""
        counts = self.starts[topics + 1] - self.starts[topics]
        row = join_stretches(self.starts[topics], counts)
        scores = self.retrieval_scores
        return JudgedRun(
            np.concatenate(([0], np.cumsum(counts))),
            self.rank[row],
            self.level[row],
            self.retrieved[topics],
            scores and scores.only(row, topics),
            None if self.document is None else self.document[row],
            self.annotated and self.annotated.only(topics),
        )

    def levels_by_rank(self, topic: int, depth: int) -> tuple[NDArray[np.int64], NDArray[np.int8]]:
        """Return the ranks up to `depth` of the judged documents of a topic, and their levels: int64 and int8 [found].

        Ranks that are missing in between have documents that are not judged.
        """
        first, end = self.starts[topic : topic + 2]
        ranks = self.rank[first:end].astype(np.int64)
        count = int(np.searchsorted(ranks, depth, side="right"))
        return ranks[:count], self.level[first : first + count]

    def system_columns(
        self, row: NDArray[np.intp], judged: NDArray[np.int64], raw: bool, condensed: bool
    ) -> SystemColumns:
        """Return the run's own scores on one scale. `row` intp [m] are the rows of relevant documents.

        `judged` int64 [n] is the number of judged documents of each topic.

        Raises ValueError if the scores were not loaded.
        """
        scores = self.retrieval_scores
        if scores is None:
            raise ValueError("this metric needs the run's retrieval scores: see BoundMetric.needs_retrieval_scores")
        counts = self.judged_count
        if raw:
            system, unjudged = scores.judged, scores.unjudged_absolute
        elif condensed:
            system, unjudged = scale_condensed(scores.judged, counts), scores.unjudged_scaled
        else:
            system = scale_ranked(scores.judged, counts, scores.lowest, scores.highest)
            unjudged = scores.unjudged_scaled
        if condensed:  # every document retrieved is judged
            return SystemColumns.of(system, counts, row, 0.0, judged)
        return SystemColumns.of(system, counts, row, unjudged, judged + self.retrieved - counts)


def assume_relevant(run: JudgedRun, judgments: Judgments) -> tuple[JudgedRun, Judgments]:
    """Return both as if each unjudged document retrieved were judged at the highest level, for each intent, too.

    Of unjudged documents, only the sum of the retrieval scores is kept, so each has the mean of its topic.
    """
    retrieved, unjudged = run.retrieved, run.retrieved - run.judged_count
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(retrieved)])
    row = np.repeat(starts[:-1], run.judged_count) + run.rank - 1
    level_counts = judgments.level_counts.copy()
    level_counts[:, -1] += unjudged
    highest = level_counts.shape[1] - 1
    level = np.full(starts[-1], highest, np.int8)
    level[row] = run.level
    scores, document, intents = run.retrieval_scores, None, judgments.intents
    if scores is not None:
        share = scores.unjudged_scaled / np.maximum(unjudged, 1)
        own = np.repeat(scores.lowest * (1.0 - share) + scores.highest * share, retrieved)
        own[row] = scores.judged
        nothing = np.zeros(len(retrieved))
        scores = RetrievalScores(own, scores.lowest, scores.highest, nothing, nothing)
    if intents is not None and run.document is not None:
        document = np.zeros(len(level), np.uint32)
        document[np.delete(np.arange(len(level)), row)] = join_stretches(np.diff(intents.documents), unjudged)
        document[row] = run.document
        intents = intents.extended(unjudged, highest)
    rank: NDArray[np.uint32] = join_stretches(np.ones_like(retrieved), retrieved).astype(run.rank.dtype)
    extended = JudgedRun(starts, rank, level, retrieved, scores, document)
    return extended, Judgments(level_counts, judgments.negative_counts, intents)


class JudgedRuns:
    """The judged rankings of m runs, one run after the other, so that one call can score all of them.

    Rows are the relevant documents retrieved (level >= 1), by run, topic, then rank.

    - `first` int64 [m, n+1]: topic t of run i has the rows from first[i, t] to first[i, t+1], without the last.
    - `rank` uint16 [2 or 3, rows]: the rank, and the rank among the judged documents (uint32 if a rank does not fit).
      If documents are judged below 0, there is a third: the rank among the documents judged at level 0 or higher.
    - `level` int8 [rows]: the level.
    - `missing` bool [m, n]: true if the run lacks the topic.
    - `by_intent`: the same runs with each pair of topic and intent as a topic, if documents are judged by intent.
    """

    def __init__(
        self,
        judgments: Judgments,
        first: NDArray[np.int64],
        rank: NDArray[np.uint16] | NDArray[np.uint32],
        level: NDArray[np.int8],
        missing: NDArray[np.bool_],
        scored: Sequence[tuple[JudgedRun, NDArray[np.intp]]] = (),
        by_intent: JudgedRuns | None = None,
    ) -> None:
        """Create the object. `scored` has each run and the indexes of its relevant rows; empty without scores."""
        self.judgments = judgments
        self.first = first
        self.rank = rank
        self.level = level
        self.missing = missing
        self.by_intent = by_intent
        self._scored = scored
        self._columns: dict[tuple[bool, bool], SystemColumns] = {}

    @classmethod
    def of(cls, runs: Sequence[JudgedRun], judgments: Judgments) -> JudgedRuns:
        """Return the judged rankings of runs that are joined with these judgments."""
        parts = [_of_one(run, judgments) for run in runs]
        return cls.joined(parts, judgments)

    @classmethod
    def joined(cls, parts: Sequence[JudgedRuns], judgments: Judgments) -> JudgedRuns:
        """Return the runs of all parts, in their order."""
        n = judgments.topics
        # NumPy joins no empty list of arrays, and this part also gives the types.
        nothing = JudgedRuns(
            *(judgments, np.zeros((0, n + 1), np.int64), np.zeros((2, 0), np.uint16), np.zeros(0, np.int8)),
            np.zeros((0, n), np.bool_),
        )
        every = [nothing, *parts]
        before = np.cumsum([0, *(len(part.level) for part in every)])
        kinds = max(len(part.rank) for part in every)
        # Without negative levels, the third kind of ranks is the second.
        ranks = [
            part.rank if len(part.rank) == kinds else np.concatenate((part.rank, part.rank[-1:])) for part in every
        ]
        by_intent = [part.by_intent for part in parts if part.by_intent is not None]
        if judgments.by_intent is not None and len(by_intent) == len(parts):
            joined_by_intent = cls.joined(by_intent, judgments.by_intent)
        else:
            joined_by_intent = None
        are_scored = all(len(part._scored) == len(part) for part in every)
        return cls(
            judgments,
            np.concatenate([part.first + shift for part, shift in zip(every, before, strict=False)]),
            np.concatenate(ranks, axis=1),
            np.concatenate([part.level for part in every]),
            np.concatenate([part.missing for part in every]),
            [scored for part in every for scored in part._scored] if are_scored else (),
            joined_by_intent,
        )

    def only(self, topics: NDArray[np.intp], judgments: Judgments) -> JudgedRuns:
        """Return the same runs with these topics alone, in their order. `judgments` are those of the topics."""
        begin = self.first[:, topics]
        counts = self.first[:, topics + 1] - begin
        row = join_stretches(begin.ravel(), counts.ravel())
        ends = np.cumsum(counts.ravel()).reshape(counts.shape)
        before = np.concatenate(([0], ends[:-1, -1])) if len(ends) else np.zeros(0, np.int64)
        parts = [run.only(topics) for run, _ in self._scored]
        by_intent, intents = self.by_intent, self.judgments.intents
        if by_intent is not None and intents is not None and judgments.by_intent is not None:
            by_intent = by_intent.only(intents.pairs_of(topics), judgments.by_intent)
        else:
            by_intent = None
        return JudgedRuns(
            judgments,
            np.column_stack((before, ends)),
            self.rank.take(row, axis=1),
            self.level[row],
            self.missing[:, topics],
            [(part, np.flatnonzero(part.level > 0)) for part in parts],
            by_intent,
        )

    def __len__(self) -> int:
        return len(self.first)

    @cached_property
    def nbytes(self) -> int:
        """The number of bytes in memory, with the retrieval scores on one scale if they were loaded."""
        arrays = self.first.nbytes + self.rank.nbytes + self.level.nbytes + self.missing.nbytes
        scored = sum(run.nbytes + row.nbytes for run, row in self._scored)
        columns = 8 * (len(self.level) + 2 * self.missing.size) if self._scored else 0
        return arrays + scored + columns + (self.by_intent.nbytes if self.by_intent is not None else 0)

    @cached_property
    def deepest(self) -> int:
        """The largest rank of a relevant document retrieved, or 0 if there is none."""
        return int(self.rank[0].max(initial=0))

    def spans(
        self, positions: NDArray[np.intp] | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return three arrays by ranking: its first row, its number of rows, and whether it is missing.

        The rankings are those of the runs at these places, or of all runs if `positions` is None.
        """
        if positions is None:
            return self._spans
        first = self.first[positions]
        return first[:, :-1].ravel(), np.diff(first).ravel(), self.missing[positions].ravel()

    @cached_property
    def _spans(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        return self.first[:, :-1].ravel(), np.diff(self.first).ravel(), self.missing.ravel()

    def marks(self, upto: int | None = None) -> NDArray[np.uint64]:
        """Return a number for each ranking, uint64 [m, n]: equal for rankings that all metrics score alike.

        It is made of the levels and ranks of the relevant documents, at ranks of at most `upto` if that is not None,
        and 0 if there are none. Other rankings have other
        numbers, except for one in 2**64 by chance. Metrics that need the whole run, such as ADM and Judged, may tell
        equal ones apart.
        """
        # No collection is deeper than 1,000,000, so 24 bits are enough for a rank.
        row = self.rank[0].astype(np.uint64) | self.rank[1].astype(np.uint64) << np.uint64(24)
        # Mixed, because sums of plain numbers would be equal for rankings that exchange ranks: 1 and 4, or 2 and 3.
        mixed = _mix(row | self.level.astype(np.uint64) << np.uint64(48))
        if upto is not None:
            mixed[self.rank[0] > upto] = 0
        # Sums of whole numbers wrap around, so a difference of two of them is exact.
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
        numbers: NDArray[np.uint64] = sums[self.first[:, 1:]] - sums[self.first[:, :-1]]
        if self.by_intent is not None and self.judgments.intents is not None:
            # The mark of an intent counts at its place, so that two intents cannot exchange their documents.
            starts = self.judgments.intents.starts
            position = np.arange(starts[-1]) - np.repeat(starts[:-1], np.diff(starts))
            # Factors are odd: modulo 2**64, such a product loses nothing.
            of_intents = self.by_intent.marks(upto) * (2 * position.astype(np.uint64) + np.uint64(1))
            sums = np.zeros((len(of_intents), of_intents.shape[1] + 1), np.uint64)
            np.cumsum(of_intents, axis=1, out=sums[:, 1:])
            numbers = numbers + (sums[:, starts[1:]] - sums[:, starts[:-1]])
        return numbers

    @property
    def whole(self) -> Sequence[tuple[JudgedRun, NDArray[np.intp]]]:
        """The runs with all judged documents. Raises ValueError if the scores of a run were not loaded."""
        if len(self._scored) < len(self):
            raise ValueError("this metric needs the run's retrieval scores: see BoundMetric.needs_retrieval_scores")
        return self._scored

    def system_columns(self, raw: bool, condensed: bool) -> SystemColumns:
        """Return the runs' own scores on one scale. Raises ValueError if the scores of a run were not loaded."""
        whole = self.whole
        if (joined := self._columns.get((raw, condensed))) is None:
            judged = self.judgments.judged_count
            columns = [run.system_columns(row, judged, raw, condensed) for run, row in whole]
            joined = self._columns[raw, condensed] = SystemColumns.joined(columns, self.judgments.topics)
        return joined


def _mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return numbers that look random, one for each number (the finaliser of SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return mixed ^ mixed >> np.uint64(31)


def _of_one(run: JudgedRun, judgments: Judgments) -> JudgedRuns:
    row = np.flatnonzero(run.level > 0)
    first = np.searchsorted(row, run.starts)
    rank = np.empty((3 if judgments.has_negative else 2, len(row)), run.rank.dtype)
    rank[0] = run.rank.take(row)
    rank[1] = row - np.repeat(run.starts[:-1], np.diff(first)) + 1
    if judgments.has_negative:  # the rank among the documents judged at level 0 or higher
        running = np.zeros(len(run.level) + 1, np.int32)
        np.cumsum(run.level >= 0, dtype=np.int32, out=running[1:])
        above: NDArray[np.int32] = running.take(row) - np.repeat(running.take(run.starts[:-1]), np.diff(first))
        rank[2] = above + np.int32(1)
    # Scores are loaded only for metrics that need them, because they take more memory than everything else.
    scored = [(run, row)] if run.retrieval_scores is not None else ()
    return JudgedRuns(
        *(judgments, first[np.newaxis].astype(np.int64), rank, run.level.take(row)),
        (run.retrieved == 0)[np.newaxis],
        scored,
        _split_by_intent(run, judgments),
    )


def _split_by_intent(run: JudgedRun, judgments: Judgments) -> JudgedRuns | None:
    """Return the run by intent: the ranking of each topic once for each of its intents, with the intent's levels."""
    intents, by_intent = judgments.intents, judgments.by_intent
    if intents is None or by_intent is None or (run.document is None and len(run.rank)):
        return None
    whole = run.only(intents.topic)
    if whole.document is not None:
        whole = replace(whole, level=intents.levels_of(whole.starts, whole.document, whole.level))
    return _of_one(whole, by_intent)
