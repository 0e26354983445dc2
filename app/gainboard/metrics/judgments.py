"""Judgments in the form that metrics use: their scale, and the numbers of judged documents of each topic."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.ideal import TopicClasses
from gainboard.metrics.intents import Intents

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
        self, level_counts: NDArray[np.int64], negative_counts: NDArray[np.int64], intents: Intents | None = None
    ) -> None:
        self.level_counts = level_counts
        self.negative_counts = negative_counts
        self.intents = intents

    def __reduce__(self) -> tuple[Any, ...]:
        # Other processes get the numbers without the values that are cached here.
        return Judgments, (self.level_counts, self.negative_counts, self.intents)

    @property
    def topics(self) -> int:
        """The number of topics, n."""
        return len(self.level_counts)

    def only(self, topics: NDArray[np.intp]) -> Judgments:
        """Return the numbers of these topics alone, in their order."""
        intents = self.intents and self.intents.only(topics)
        return Judgments(self.level_counts[topics], self.negative_counts[topics], intents)

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
