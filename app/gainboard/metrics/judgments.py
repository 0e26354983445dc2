"""Judgments in the form that metrics use: their scale, the numbers of judged documents of each topic, and its intents.

Intents are the meanings of a topic, each with relevant documents of its own. The ranking of a topic is a ranking of
each of its intents, too. So a run that is split by intent is a run whose topics are the pairs of topic and intent, and
every metric can score it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.gains import GainSetting, TopicClasses
from gainboard.metrics.retrieval import Scores

UNJUDGED: Final = -128
"""The level code (int8) of a retrieved document that the qrels do not mention; real levels are -127 to 127."""


class Scale(NamedTuple):
    """The properties of a collection that metric expressions depend on: its levels and the depth of its runs.

    `highest_level` is h >= 1. `depth` >= 1 is the rank to which runs were truncated. `intents` tells that documents are
    judged for the intents of a topic.
    """

    highest_level: int
    depth: int = 1000
    intents: bool = False


class Judgments:
    """The numbers of judged documents in a qrels version, by topic.

    `level_counts` int64 [n, h+1] is the number of documents judged at level 0, 1, ..., h. `negative_counts` int64 [n]
    is the number of documents judged below 0. These count as judged and as nonrelevant. The object caches values that
    depend only on the qrels, so use one object for all runs of a version. Threads may share it. `intents` are those of
    the topics, if documents are judged by intent. The level of a document is then the highest one over its intents.
    """

    def __init__(
        self,
        level_counts: NDArray[np.int64],
        negative_counts: NDArray[np.int64],
        intents: Intents | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        self.level_counts = level_counts
        self.negative_counts = negative_counts
        self.intents = intents
        self.annotations = annotations

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes get the numbers without the values that are cached here.
        return Judgments, (self.level_counts, self.negative_counts, self.intents, self.annotations)

    @property
    def topics(self) -> int:
        """The number of topics, n."""
        return len(self.level_counts)

    def only(self, topics: NDArray[np.intp]) -> Judgments:
        """Return the numbers of these topics alone, in their order."""
        intents, annotations = self.intents, self.annotations
        return Judgments(
            self.level_counts[topics],
            self.negative_counts[topics],
            intents and intents.only(topics),
            annotations and annotations.only(topics),
        )

    @cached_property
    def by_intent(self) -> Judgments | None:
        """The judgments with each pair of topic and intent as a topic, in the order of the topics."""
        return Judgments(*self.intents.counts(self.level_counts, self.negative_counts)) if self.intents else None

    @cached_property
    def judged_count(self) -> NDArray[np.int64]:
        """The number of judged documents of each topic, int64 [n], whatever their level."""
        counts: NDArray[np.int64] = self.level_counts.sum(axis=1) + self.negative_counts
        return counts

    def ideal_levels(self, topic: int, depth: int) -> NDArray[np.int8]:
        """Return the levels of the first `depth` ranks of a topic's ideal ranking: int8 [min(depth, relevant)].

        The ideal ranking has all relevant documents of the topic with this number, the highest level first.
        """
        counts = self.level_counts[topic, :0:-1]
        return np.repeat(np.arange(len(counts), 0, -1, dtype=np.int8), counts)[:depth]

    @cached_property
    def has_negative(self) -> bool:
        """True if a document is judged below 0."""
        return bool(self.negative_counts.any())

    @cached_property
    def classes(self) -> TopicClasses:
        """The classes of topics with equal ideal rankings."""
        return TopicClasses(self.level_counts)


Integers = NDArray[np.int64]


class AttributeSet(NamedTuple):
    """The groups to which documents belong, such as ranges of an h-index, and how they should share attention.

    `target` float64 [groups] is the share that each group should have. `vectors` float64 [documents, groups] are the
    memberships of annotated documents, NaN where there are none. Both add up to 1. Groups may have an order (ordinal).
    """

    name: str
    is_ordinal: bool
    target: Scores
    vectors: Scores


class Annotations(NamedTuple):
    """The documents of n topics of which more is known than a level, judged or not.

    - `starts` int64 [n+1]: topic t has the documents from starts[t] to starts[t+1], without the last.
    - `level` int8 [documents]: the level, or UNJUDGED.
    - `stratum` int64 [documents]: the stratum of the sampled pool; -1 for a document that is in none.
    """

    starts: Integers
    level: NDArray[np.int8]
    stratum: Integers
    sets: tuple[AttributeSet, ...] = ()

    def only(self, topics: NDArray[np.intp]) -> Annotations:
        """Return the documents of these topics alone, in their order."""
        counts = self.starts[topics + 1] - self.starts[topics]
        rows = join_stretches(self.starts[topics], counts)
        sets = tuple(attributes._replace(vectors=attributes.vectors[rows]) for attributes in self.sets)
        return Annotations(_starts(counts), self.level[rows], self.stratum[rows], sets)

    def sum_by_topic(self, by_document: NDArray[Any]) -> NDArray[Any]:
        """Return the sums over the documents of each topic, [n, ...], from numbers [documents, ...]."""
        running = np.concatenate([np.zeros((1, *by_document.shape[1:])), np.cumsum(by_document, axis=0)])
        return np.asarray(running[self.starts[1:]] - running[self.starts[:-1]])


@dataclass(frozen=True, eq=False)
class Intents:
    """The intents of n topics, p in total, and the documents that are relevant to them.

    - `starts` int64 [n+1]: topic t has the intents from starts[t] to starts[t+1], without the last.
    - `probability` float64 [p]: how likely an intent is, given its topic. Those of a topic add up to 1.
    - `documents` int64 [n+1]: the starts of each topic's judged documents, if all of them stand in one row.
    - `intent` int64 [e], `document` int64 [e] and `level` int8 [e]: an intent, from 0 to p; a document that is relevant
      to it, from 0 within the topic; and its level for the intent, above 0. They are sorted by intent, then document.

    A smaller number of a document is a larger id, in byte order.
    """

    starts: Integers
    probability: Scores
    documents: Integers
    intent: Integers
    document: Integers
    level: NDArray[np.int8]

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes get the arrays without the values that are cached here.
        return Intents, (self.starts, self.probability, self.documents, self.intent, self.document, self.level)

    # Caches of this object, and not of the methods: the latter would keep every object alive.

    @cached_property
    def novelties(self) -> Callable[[float, int, int], Scores]:
        """The novelty gains of ideal rankings for `alpha`, `rel` and `upto`: float64 [n, `upto`], padded with 0."""
        return lru_cache(maxsize=32)(self._novelties)

    @cached_property
    def global_gains(self) -> Callable[[GainSetting, int], Scores]:
        """The global gains of ideal rankings for `gains` and `rel`, highest first: float64 [n, most], padded with 0."""
        return lru_cache(maxsize=32)(self._global_gains)

    @cached_property
    def topic(self) -> Integers:
        """The topic of each intent, int64 [p]."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def only(self, topics: NDArray[np.intp]) -> Intents:
        """Return the intents of these topics alone, in their order."""
        pairs = self.pairs_of(topics)
        new_number = np.full(len(self.probability), -1)
        new_number[pairs] = np.arange(len(pairs))
        by_intent = np.searchsorted(self.intent, np.arange(len(self.probability) + 1))
        rows = join_stretches(by_intent[pairs], by_intent[pairs + 1] - by_intent[pairs])
        return Intents(
            _starts((self.starts[1:] - self.starts[:-1])[topics]),
            self.probability[pairs],
            _starts((self.documents[1:] - self.documents[:-1])[topics]),
            new_number[self.intent[rows]],
            self.document[rows],
            self.level[rows],
        )

    def pairs_of(self, topics: NDArray[np.intp]) -> Integers:
        """Return the intents of these topics, in their order: int64."""
        return join_stretches(self.starts[topics], self.starts[topics + 1] - self.starts[topics])

    def counts(self, level_counts: Integers, negative_counts: Integers) -> tuple[Integers, Integers]:
        """Return the numbers of judged documents by intent: int64 [p, h+1], and of those below level 0, int64 [p].

        Every judged document of the topic is judged for each of its intents. `level_counts` int64 [n, h+1] and
        `negative_counts` int64 [n] are the numbers by topic.
        """
        counts = self._relevant_counts(level_counts.shape[1])
        counts[:, 0] = level_counts.sum(axis=1)[self.topic] - counts[:, 1:].sum(axis=1)
        return counts, negative_counts[self.topic]

    def levels_of(self, starts: Integers, document: NDArray[np.uint32], level: NDArray[np.int8]) -> NDArray[np.int8]:
        """Return the levels for each intent of documents of its topic: int8 [rows].

        Intent i has the rows from starts[i] to starts[i+1], without the last. `document` [rows] is the number of the
        document within the topic, and `level` int8 [rows] its level for the topic.
        """
        by_intent = self._levels.take(np.repeat(self._levels_from, np.diff(starts)) + document)
        # A document that is judged below 0 for its topic is so for each intent.
        return np.where(by_intent > 0, by_intent, np.minimum(level, 0)).astype(np.int8)

    @cached_property
    def _levels_from(self) -> Integers:
        return _starts(np.diff(self.documents)[self.topic])[:-1]

    @cached_property
    def _levels(self) -> NDArray[np.int8]:
        """The level of each judged document for each intent of its topic, 0 if it is not relevant."""
        levels = np.zeros(int(np.diff(self.documents)[self.topic].sum()), np.int8)
        levels[self._levels_from[self.intent] + self.document] = self.level
        return levels

    def extended(self, number: Integers, level: int) -> Intents:
        """Return the intents with `number` int64 [n] more judged documents of each topic, of `level` for each intent.

        Their numbers follow those of the others.
        """
        counts = self.documents[1:] - self.documents[:-1]
        by_intent = number[self.topic]
        more = np.repeat(np.arange(len(by_intent)), by_intent), join_stretches(counts[self.topic], by_intent)
        intent, document = (np.concatenate(both) for both in zip((self.intent, self.document), more, strict=True))
        levels = np.concatenate([self.level, np.full(len(more[0]), level, np.int8)])
        order = np.argsort(intent, kind="stable")
        return Intents(
            self.starts, self.probability, _starts(counts + number), intent[order], document[order], levels[order]
        )

    def relevant_intents(self, rel: int) -> Integers:
        """Return the number of intents of each topic that have a relevant document, int64 [n]."""
        return np.bincount(self.topic[self.have_relevant(rel)], minlength=len(self.starts) - 1).astype(np.int64)

    def have_relevant(self, rel: int) -> NDArray[np.bool_]:
        """Return whether each intent has a relevant document, bool [p]."""
        return np.bincount(self.intent[self.level >= rel], minlength=len(self.probability)) > 0

    def gain_by_level(self, gains: GainSetting, rel: int, highest_level: int) -> Scores:
        """Return the gain of each level for each intent, float64 [p, h+1]. Gains below level `rel` are 0."""
        counts = self._relevant_counts(highest_level + 1)
        return np.broadcast_to(gains.by_class(counts, rel), counts.shape)

    def _relevant_counts(self, width: int) -> Integers:
        """Return the number of documents of each intent at each level, int64 [p, width]. Level 0 has none."""
        flat = np.bincount(self.intent * width + self.level, minlength=len(self.probability) * width)
        return flat.reshape(len(self.probability), width).astype(np.int64)

    def _global_gains(self, gains: GainSetting, rel: int) -> Scores:
        worth = self.gain_by_level(gains, rel, len(gains.values))[self.intent, self.level]
        row = self.documents[self.topic[self.intent]] + self.document
        total = np.bincount(row, self.probability[self.intent] * worth, int(self.documents[-1]))
        relevant = np.flatnonzero(total > 0)
        topic = np.searchsorted(self.documents, relevant, side="right") - 1
        order = np.lexsort((-total[relevant], topic))
        number = np.bincount(topic, minlength=len(self.starts) - 1)
        table = np.zeros((len(number), int(number.max(initial=0))))
        table[topic[order], np.arange(len(order)) - np.repeat(_starts(number)[:-1], number)] = total[relevant[order]]
        return table

    def _novelties(self, alpha: float, rel: int, upto: int) -> Scores:
        """Return the novelty gains of each topic's ideal ranking by rank.

        The ideal ranking takes at each rank the document of the largest novelty gain, among all judged documents. Of
        documents with equal ones, it takes that of the largest id.
        """
        table = np.zeros((len(self.starts) - 1, upto))
        is_relevant = self.level >= rel
        intents, documents = self.intent[is_relevant], self.document[is_relevant]
        begin = np.searchsorted(intents, self.starts)
        for topic, (first, end) in enumerate(pairwise(begin.tolist())):
            topic_intents = intents[first:end] - self.starts[topic]
            gained = _greedy(topic_intents, documents[first:end], alpha, upto)
            table[topic, : len(gained)] = gained
        return table


def _greedy(intent: Integers, document: Integers, alpha: float, upto: int) -> list[float]:
    """Return the novelty gain at each rank of a topic's ideal ranking. It has relevant documents only."""
    if not len(intent):
        return []
    numbers, row = np.unique(document, return_inverse=True)
    covers = np.zeros((len(numbers), int(intent.max()) + 1), np.bool_)
    covers[row, intent] = True
    # Documents that are relevant to the same intents always have the same gain, so the first that is left stands for
    # all of them. Smaller numbers come first: these are the larger ids.
    kinds, first, kind, left = np.unique(covers, axis=0, return_index=True, return_inverse=True, return_counts=True)
    members = [np.flatnonzero(kind.ravel() == number) for number in range(len(kinds))]
    heads, taken, worth = first.copy(), np.zeros(len(kinds), np.int64), np.ones(covers.shape[1])
    gained: list[float] = []
    for _ in range(min(upto, len(numbers))):
        # Added intent by intent, so that the order of additions is always the same.
        gains = np.zeros(len(kinds))
        for column in range(len(worth)):
            gains += kinds[:, column] * worth[column]
        gains[taken == left] = -1.0
        best = np.flatnonzero(gains == gains.max())
        chosen = best[heads[best].argmin()]
        gained.append(float(gains[chosen]))
        worth *= np.where(kinds[chosen], 1.0 - alpha, 1.0)
        taken[chosen] += 1
        if taken[chosen] < left[chosen]:
            heads[chosen] = members[chosen][taken[chosen]]
    return gained


def _starts(counts: Integers) -> Integers:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def join_stretches(begin: Integers, counts: Integers) -> Integers:
    """Return the numbers of stretches, one after the other: each from its first number, and with its length."""
    ends = np.cumsum(counts)
    numbers: Integers = np.arange(ends[-1] if len(ends) else 0) + np.repeat(begin - (ends - counts), counts)
    return numbers
