"""Views of judged runs for metrics that compute their scores themselves, and not by a formula.

The metrics of diversified rankings read a run by intent. The type of the first parameter of such a metric's function is
`IntentRankings` (relevant or not) or `GradedIntentRankings` (with gains). Values are arrays: by ranking, that is, by
run and topic; by intent of a ranking; or by document that is relevant to an intent. The metrics of fairness and of
sampled pools read `AnnotatedRankings`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression
from gainboard.metrics.columns import Rankings
from gainboard.metrics.gains import FLAT, Discount, GainSetting
from gainboard.metrics.judgments import Annotations, Intents
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores

ScoresByIntent = Callable[[Any, GainSetting, int | None], Scores]
"""Returns the scores of each intent, float64 [m, p], under a graded metric with its default parameters.

The arguments are the metric of the catalogue, its gains and its cut-off. Annotated rankings have topics as intents.
"""


def _no_scores(metric: Any, gains: GainSetting, cutoff: int | None) -> Scores:
    raise ValueError("other metrics are computed for each intent only where they are given")


class IntentRankings:
    """The rankings of some runs by intent: m runs, n topics and p intents of all topics together."""

    def __init__(
        self,
        runs: JudgedRuns,
        positions: NDArray[np.intp],
        rel: int,
        condensed: bool,
        gains: GainSetting = FLAT,
        score: ScoresByIntent = _no_scores,
    ) -> None:
        """Choose the runs at the positions `positions`, intp [m]. Raises ValueError without judgments by intent.

        `score` computes other metrics for each intent, which this module cannot.
        """
        intents = runs.judgments.intents
        if intents is None or runs.by_intent is None:
            raise ValueError("this metric needs judgments by intent: see BoundMetric.needs_intents")
        self.intents: Intents = intents
        self.runs = runs.by_intent
        self.positions = positions
        self.rel, self.condensed, self.gains, self.score = rel, condensed, gains, score
        self.highest_level = runs.judgments.classes.highest_level
        self.missing: NDArray[np.bool_] = runs.missing[positions]
        self.topics = runs.judgments.topics
        self._columns = Rankings(runs.by_intent, positions)

    @cached_property
    def undefined(self) -> NDArray[np.bool_]:
        """True if no document is relevant to an intent of the topic, bool [n]."""
        return np.equal(self.intents.relevant_intents(self.rel), 0)

    def relevant(self, upto: int) -> FoundByIntent:
        """Return the documents that are relevant to an intent, retrieved at ranks <= `upto`."""
        return FoundByIntent(self, self._columns, upto)

    def total(self, by_intent: Scores) -> Scores:
        """Return the sums over the intents of each topic: float64 [m, n]."""
        starts, table = self.intents.starts, np.zeros((len(by_intent), self.topics))
        # For a topic without intents, `reduceat` gives the first number of the next one. So such topics are left out.
        if len(filled := np.flatnonzero(np.diff(starts))):
            table[:, filled] = np.add.reduceat(by_intent, starts[filled], axis=1)
        return table

    def expected(self, by_intent: Scores) -> Scores:
        """Return the expected values over the intents of each topic, by their probabilities: float64 [m, n]."""
        return self.total(by_intent * self.intents.probability)

    def average(self, scores: Scores, *, equal: bool = False) -> Scores:
        """Return the expected scores over the intents of each topic: float64 [m, n], from scores [m, p].

        If `equal`, intents with a relevant document are equally likely, and others do not count. An intent for which
        the metric is undefined (NaN) counts as 0. If it is so for all intents that count, the score is NaN.
        """
        is_defined = ~np.isnan(scores)
        if equal:
            is_defined &= self.intents.have_relevant(self.rel)
        counted = np.where(is_defined, scores, 0.0)
        intents_counted = np.maximum(self.intents.relevant_intents(self.rel), 1)
        expected = self.total(counted) / intents_counted if equal else self.expected(counted)
        expected[self.total(is_defined.astype(np.float64)) == 0] = np.nan
        return expected

    def deepest(self, cutoff: int) -> int:
        """Return the deepest rank up to the cut-off at which these or the ideal rankings have a relevant document."""
        return min(cutoff, max(self.runs.deepest, self._longest, 1))

    @cached_property
    def _longest(self) -> int:
        return int(np.bincount(self.intents.topic[self.intents.intent]).max(initial=0))

    def ideal_novelty(self, alpha: float, weights: Scores) -> Scores:
        """Return the novelty gain of the ideal ranking, float64 [n]. `weights` are those of the ranks 1, 2, ..., l."""
        novelties = self.intents.novelties(alpha, self.rel, min(len(weights), self._longest))
        return _dot(novelties, weights[: novelties.shape[1]])


class GradedIntentRankings(IntentRankings):
    """The rankings of some runs by intent, with the global gains of documents: expected gains over the intents."""

    @cached_property
    def undefined(self) -> NDArray[np.bool_]:
        """True if no document of the topic has a global gain, bool [n]."""
        return np.asarray(self.ideal_gains[:, :1].sum(axis=1) == 0)

    @cached_property
    def ideal_gains(self) -> Scores:
        """The global gains of each topic's documents, highest first: float64 [n, most], padded with 0."""
        return self.intents.global_gains(self.gains, self.rel)

    def ideal_gain(self, upto: int, discount: Discount) -> Scores:
        """Return the discounted global gain of the first `upto` ranks of the ideal ranking, float64 [n]."""
        ideal_gains = self.ideal_gains[:, :upto]
        return _dot(ideal_gains, discount.weights(ideal_gains.shape[1])[1:])

    def documents(self, upto: int) -> FoundDocuments:
        """Return the documents with a global gain, retrieved at ranks <= `upto`."""
        relevant = self.relevant(upto)
        columns = self._columns
        pair = columns.ranking % len(self.intents.probability) if len(self.intents.probability) else columns.ranking
        ranking = columns.ranking // max(1, len(self.intents.probability)) * self.topics + self.intents.topic[pair]
        rank = columns.ranks[self.condensed]
        is_found = relevant.is_found & (rank <= upto)
        spacing = int(rank.max(initial=0)) + 1
        # A rank holds one document, so the rows of a document for several intents have the same key.
        keys, document = np.unique((ranking * spacing + rank)[is_found], return_inverse=True)
        worth = (relevant.gain * self.intents.probability[pair])[is_found]
        gain: Scores = np.bincount(document.ravel(), worth, len(keys)).astype(np.float64)
        keys, gain = keys[gain > 0], gain[gain > 0]
        return FoundDocuments(keys // spacing, keys % spacing, gain, (len(self.positions), self.topics))


class FoundByIntent:
    """The documents that are relevant to an intent, retrieved at rank `upto` or above. A row is a document for one."""

    def __init__(self, rankings: IntentRankings, columns: Rankings, upto: int) -> None:
        self._rankings, self._columns = rankings, columns
        self._rows = columns.upto(upto, int(rankings.condensed))
        self.is_found: NDArray[np.bool_] = columns.level >= rankings.rel

    @property
    def rank(self) -> NDArray[np.intp]:
        """The rank of each row, intp. In a condensed ranking, it is the rank among the judged documents."""
        return self._columns.ranks[self._rankings.condensed]

    def novelty(self, alpha: float) -> Scores:
        """Return what each row is worth if earlier documents have met the intent: (1-alpha)^c, with c of them above."""
        count = self._columns.counts[self._rankings.rel].astype(np.intp)
        # As products, because NumPy's powers differ between processors.
        powers = np.ones(int(count.max(initial=0)) + 1)
        powers[1:] = np.cumprod(np.full(len(powers) - 1, 1.0 - alpha))
        return powers[np.maximum(count - 1, 0)]

    @property
    def gain(self) -> Scores:
        """The gain of each row, for its intent."""
        rankings = self._rankings
        worth = rankings.intents.gain_by_level(rankings.gains, rankings.rel, rankings.highest_level)
        return worth[self._columns.ranking % max(1, len(worth)), np.maximum(self._columns.level, 0)]

    def sum(self, by_row: Any) -> Scores:
        """Return the sums over the documents of each intent: float64 [m, p]."""
        values = np.where(self.is_found, by_row, 0.0)
        sums = self._rows.reduce(np.add, values)
        return sums.reshape(len(self._rankings.positions), -1)

    @property
    def number(self) -> Scores:
        """The number of documents found for each intent: float64 [m, p]."""
        return self.sum(1.0)


@dataclass(frozen=True, slots=True, eq=False)
class FoundDocuments:
    """Documents with a global gain, by ranking, then rank: the ranking (run after run), the rank and the gain."""

    ranking: NDArray[np.int64]
    rank: NDArray[np.int64]
    gain: Scores
    shape: tuple[int, int]

    @property
    def count(self) -> NDArray[np.int64]:
        """The number of documents found in the ranking down to this one."""
        return np.arange(1, len(self.ranking) + 1) - np.searchsorted(self.ranking, self.ranking)

    @property
    def cumulative_gain(self) -> Scores:
        """The global gain of this document and of those above it."""
        count = self.count
        rankings, row = np.unique(self.ranking, return_inverse=True)
        # In a table, so that the sums of a ranking do not depend on the rankings before it.
        table = np.zeros((len(rankings), int(count.max(initial=0))))
        table[row.ravel(), count - 1] = self.gain
        return np.cumsum(table, axis=1)[row.ravel(), count - 1]

    def sum(self, by_document: Scores) -> Scores:
        """Return the sums over the documents of each ranking: float64 [m, n]."""
        sums = np.zeros(self.shape[0] * self.shape[1])
        filled, first = np.unique(self.ranking, return_index=True)
        if len(filled):
            sums[filled] = np.add.reduceat(by_document, first)
        return sums.reshape(self.shape)


class RankedTable(NamedTuple):
    """The annotated documents of a run on some topics, best first, by topic and place: int64 ranks and numbers, [t, k].

    `where` is the place of the run and of the topics in a table of scores. `is_there` is false behind the last one.
    """

    where: tuple[int, NDArray[np.intp]]
    rank: NDArray[np.int64]
    document: NDArray[np.int64]
    is_there: NDArray[np.bool_]


_TOPICS_AT_ONCE: Final = 64
"""So many topics of a run are in memory at once, each with all of its annotated documents."""


class AnnotatedRankings:
    """The rankings of some runs, m runs on n topics, with what is known of their documents, judged or not."""

    def __init__(
        self,
        runs: JudgedRuns,
        positions: NDArray[np.intp],
        rel: int,
        gains: GainSetting = FLAT,
        score: ScoresByIntent = _no_scores,
    ) -> None:
        """Choose the runs at the positions `positions`, intp [m]. Raises BadExpression if levels alone are known."""
        if runs.judgments.annotations is None:
            raise BadExpression(
                "The metric needs memberships of documents in groups, or the strata of a sampled pool. These judgments "
                "have neither. Upload qrels that have them, or choose another metric"
            )
        self.annotations: Annotations = runs.judgments.annotations
        self.runs, self.positions, self.rel, self.gains, self.score = runs, positions, rel, gains, score
        self.shape, self._counts = (len(positions), runs.judgments.topics), runs.judgments.level_counts
        self.is_relevant: NDArray[np.bool_] = self.annotations.level >= rel

    @cached_property
    def undefined(self) -> NDArray[np.bool_]:
        """True if no document of the topic is relevant, or has a gain if the metric has gains: bool [n]."""
        return np.asarray(self._counts[:, self.rel :].sum(axis=1) == 0)

    @cached_property
    def worth(self) -> Scores:
        """The gain of each level, float64 [n, h+1]."""
        return np.broadcast_to(self.gains.by_class(self._counts, self.rel), self._counts.shape)

    @cached_property
    def gain(self) -> Scores:
        """The gain of each annotated document, float64 [documents]; 0 for one that is not relevant."""
        topic = np.repeat(np.arange(self.shape[1]), np.diff(self.annotations.starts))
        return np.asarray(self.worth[topic, np.maximum(self.annotations.level, 0)])

    def tables(self, cutoff: int | None = None) -> Iterator[RankedTable]:
        """Yield the annotated documents of each run at ranks up to the cut-off, some topics at a time."""
        starts = self.annotations.starts
        rows = [(place, self.runs.whole[position][0].annotated) for place, position in enumerate(self.positions)]
        for place, run in ((place, run) for place, run in rows if run is not None and len(self.is_relevant)):
            for at in range(0, self.shape[1], _TOPICS_AT_ONCE):
                topics = np.arange(at, min(at + _TOPICS_AT_ONCE, self.shape[1]))
                some = run.only(topics)
                counts = some.judged_count
                is_there = np.arange(max(1, counts.max(initial=0))) < counts[:, np.newaxis]
                rank, document = np.ones(is_there.shape, np.int64), np.zeros(is_there.shape, np.int64)
                rank[is_there], document[is_there] = some.rank, some.document + np.repeat(starts[topics], counts)
                if cutoff is not None:
                    is_there &= rank <= cutoff
                width = max(1, int(is_there.sum(axis=1).max(initial=0)))
                yield RankedTable((place, topics), *(column[:, :width] for column in (rank, document, is_there)))


class GradedAnnotatedRankings(AnnotatedRankings):
    """The same rankings for metrics that use gains."""

    @cached_property
    def undefined(self) -> NDArray[np.bool_]:
        return np.asarray((self._counts * self.worth).sum(axis=1) == 0)


def last_sum(by_rank: Scores) -> Scores:
    """Return the sums along the ranks, axis 1, in their order, so that ranks without documents change no bit."""
    return np.cumsum(by_rank, axis=1)[:, -1] if by_rank.shape[1] else np.zeros_like(by_rank.sum(axis=1))


def _dot(table: Scores, weights: Scores) -> Scores:
    # One after the other, so that zeros at the end, which depend on the other topics, change no bit.
    return last_sum(table * weights)
