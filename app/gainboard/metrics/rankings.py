"""Qrels and runs as the metrics see them: arrays by topic, without any document.

Topics are rows. All arrays of one qrels version, and of the runs joined with it, have the same n topics in the
same order. Documents are gone: of each one that is both judged and retrieved, a rank and a level are left.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.gains import GainSetting
from gainboard.metrics.ideal import IdealRankings, LevelCounts
from gainboard.metrics.retrieval import SystemScores

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

    `level_counts` int64 [n, h+1] holds the documents judged at level 0, 1, ..., h; `negative_counts` int64 [n]
    those judged below 0, which count as judged and as nonrelevant. It keeps what depends on the qrels alone,
    so share one object among all runs of a version; threads may share it too.
    """

    def __init__(self, level_counts: NDArray[np.int64], negative_counts: NDArray[np.int64]) -> None:
        self.level_counts = level_counts
        self.negative_counts = negative_counts
        self.ideal = lru_cache(maxsize=8)(self._ideal)
        self.relevant_count = lru_cache(maxsize=8)(self._relevant_count)
        self.counts = lru_cache(maxsize=8)(self._counts)

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
    def highest_level(self) -> NDArray[np.intp]:
        """The highest level at which a document of the topic is judged, int64 [n]; 0 if none is above 0."""
        levels = np.arange(self.level_counts.shape[1])
        highest: NDArray[np.intp] = np.where(self.level_counts > 0, levels, 0).max(axis=1)
        return highest

    @cached_property
    def counted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """`level_counts` and `judged_count` as compiled code takes them."""
        return self.level_counts.copy(), self.judged_count

    def relevant_levels(self, rel: int) -> NDArray[np.int64]:
        """R(X) for each level X >= `rel`, lowest first: int64 [k, n]."""
        return np.ascontiguousarray(self.level_counts[:, rel:].T)

    def _relevant_count(self, rel: int) -> Scores:
        return np.asarray(self.level_counts[:, rel:].sum(axis=1), dtype=np.float64)

    def _counts(self, rel: int) -> LevelCounts:
        return LevelCounts(self.relevant_levels(rel), rel)

    def _ideal(self, gains: GainSetting, rel: int) -> IdealRankings:
        counts = self.counts(rel)
        return IdealRankings(counts, gains.by_topic(counts.relevant))


@dataclass(frozen=True, slots=True, eq=False)
class RetrievalScores:
    """The run's own scores, as far as the Average Distance Measure needs them.

    `judged` float64 [rows] is parallel to the rows of the run. By topic, float64 [n]: `lowest` and `highest`
    over all retrieved documents; `unjudged_scaled`, the sum over retrieved unjudged documents of their score
    scaled to [0, 1] by those two (1 where the two are equal); `unjudged_absolute`, the sum of their |score|.
    """

    judged: Scores
    lowest: Scores
    highest: Scores
    unjudged_scaled: Scores
    unjudged_absolute: Scores

    @property
    def nbytes(self) -> int:
        """What they take in memory, with all that may be remembered of them."""
        by_topic = (self.lowest, self.highest, self.unjudged_scaled, self.unjudged_absolute)
        return self.judged.nbytes + sum(each.nbytes for each in by_topic) + SystemScores.remembered(len(self.lowest))


@dataclass(frozen=True, eq=False)
class JudgedRun:
    """One run joined with one qrels version: a row for every judged document retrieved, by topic, then rank.

    `starts` int64 [n+1]: topic t owns rows starts[t] to starts[t+1]. `rank` uint16 or uint32 [rows] is 1-based
    and counts the unjudged too. `level` int8 [rows] may be negative, but is never UNJUDGED. `retrieved`
    int64 [n] is L, after truncation; 0 says that the run lacks the topic.
    """

    starts: NDArray[np.int64]
    rank: NDArray[np.uint16] | NDArray[np.uint32]
    level: NDArray[np.int8]
    retrieved: NDArray[np.int64]
    retrieval_scores: RetrievalScores | None = None

    @property
    def nbytes(self) -> int:
        """What it takes in memory, with all that it may remember."""
        scores = self.retrieval_scores.nbytes if self.retrieval_scores is not None else 0
        return self.starts.nbytes + self.rank.nbytes + self.level.nbytes + self.retrieved.nbytes + scores

    @property
    def loaded_scores(self) -> RetrievalScores:
        """`retrieval_scores`; ValueError if they were not loaded."""
        if self.retrieval_scores is None:
            raise ValueError("this metric needs the run's retrieval scores: see BoundMetric.needs_retrieval_scores")
        return self.retrieval_scores

    @cached_property
    def system_scores(self) -> SystemScores:
        """The same as metrics read them, and what is remembered of them; ValueError if they were not loaded."""
        scores = self.loaded_scores
        return SystemScores(scores.judged, scores.lowest, scores.highest, np.diff(self.starts))

    def system_distance(self, raw: bool, condensed: bool) -> Scores:
        """The sum of |system score| over the judged documents retrieved, float64 [n], as `SystemScores` has them.

        It is found once and remembered. Raises ValueError if the scores were not loaded.
        """
        return self.system_scores.distance(raw, condensed)
