"""Tie groups: documents with equal retrieval scores, which a run could as well have ranked in another order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations, product
from math import factorial, prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.judgments import UNJUDGED, Judgments
from gainboard.metrics.rankings import JudgedRun, JudgedRuns

Integers = NDArray[np.int64]
LARGEST_ENUMERATED: Final = 6
"""The most documents of a group of which all orders are tried."""
MOST_ORDERS: Final = 20_000
"""The most orders of a topic that are tried."""


@dataclass(frozen=True, eq=False)
class TiedRun:
    """A judged run with the tie group of each row, that is, of each judged document retrieved.

    - `first` int64 [rows]: the first rank of the group. A document without a tie is a group of its own.
    - `size` int64 [rows]: the number of documents of the group, which also counts unjudged ones.
    """

    run: JudgedRun
    first: Integers
    size: Integers

    @cached_property
    def topic(self) -> Integers:
        """The number of each row's topic, int64 [rows]."""
        return np.repeat(np.arange(len(self.run.retrieved)), np.diff(self.run.starts))

    @cached_property
    def group(self) -> Integers:
        """The number of each row's group, int64 [rows], counted over all topics."""
        changes = (np.diff(self.topic, prepend=-1) != 0) | (np.diff(self.first, prepend=-1) != 0)
        return np.cumsum(changes) - 1

    @cached_property
    def begin(self) -> Integers:
        """The first row of each group, int64 [groups]."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def judged(self) -> Integers:
        """The number of rows of each group, int64 [groups]."""
        return np.diff(np.append(self.begin, len(self.group)))

    @cached_property
    def is_mixed(self) -> NDArray[np.bool_]:
        """True where the order of a group matters, bool [groups]: a document is relevant, and not all are alike."""
        if not len(self.begin):
            return np.zeros(0, np.bool_)
        lowest, highest = (extreme.reduceat(self.run.level, self.begin) for extreme in (np.minimum, np.maximum))
        alike = (lowest == highest) & (self.judged == self.size[self.begin])
        mixed: NDArray[np.bool_] = (highest > 0) & ~alike
        return mixed

    def order_ties(self, *, best_first: bool) -> JudgedRun:
        """Return the run with each group in descending order of level, unjudged documents last; or reversed.

        A gain never decreases with the level, so this is also the order of gains, for every gain setting.
        """
        level = self.run.level.astype(np.int64)
        order = np.lexsort((-level if best_first else level, self.group))
        within = np.arange(len(order)) - self.begin.take(self.group)
        skipped = 0 if best_first else self.size - self.judged.take(self.group)
        scores = self.run.retrieval_scores
        return replace(
            self.run,
            rank=(self.first + skipped + within).astype(self.run.rank.dtype),
            level=self.run.level.take(order),
            retrieval_scores=scores and replace(scores, judged=scores.judged.take(order)),
        )

    def mixed_groups(self, topic: int) -> list[slice]:
        """Return the rows of each group of the topic whose order matters."""
        groups = np.unique(self.group[self.run.starts[topic] : self.run.starts[topic + 1]])
        mixed = groups[self.is_mixed[groups]]
        return [slice(int(self.begin[group]), int(self.begin[group] + self.judged[group])) for group in mixed]

    @cached_property
    def mixed_topics(self) -> list[int]:
        """The topics with a group whose order matters."""
        return np.unique(self.topic[self.begin[self.is_mixed]]).tolist()  # type: ignore[no-any-return]

    def count_orders(self, topic: int) -> int | None:
        """Return the number of orders of a topic that differ in levels. Return None where `every_order` does."""
        groups = self.mixed_groups(topic)
        if any(self.size[rows.start] > LARGEST_ENUMERATED for rows in groups):
            return None
        orders = 1
        for rows in groups:
            codes = self._codes(rows)
            orders *= factorial(len(codes)) // prod(factorial(codes.count(code)) for code in set(codes))
        return orders if orders <= MOST_ORDERS else None

    def every_order(self, topic: int, judgments: Judgments) -> JudgedRuns | None:
        """Return all orders of a topic that differ in levels, as runs on this topic alone.

        Return None if a mixed group has more than LARGEST_ENUMERATED documents, or if there would be more than
        MOST_ORDERS orders.
        """
        groups = self.mixed_groups(topic)
        if self.count_orders(topic) is None:
            return None
        every = list(product(*(self._arrangements(rows) for rows in groups)))
        rank, level = self._repeat_topic(topic, len(every))
        base = int(self.run.starts[topic])
        for number, rows in enumerate(groups):
            columns = slice(rows.start - base, rows.stop - base)
            rank[:, columns] = [order[number][0] for order in every]
            level[:, columns] = [order[number][1] for order in every]
        return self.on_topic(topic, judgments, rank, level)

    def arrange_topic(self, topic: int, judgments: Judgments, slots: Iterator[Integers], orders: int) -> JudgedRuns:
        """Return orders of a topic as runs on this topic alone.

        `slots` yields for each mixed group of the topic the positions of its judged documents, counted from 0: int64
        [orders, judged], distinct in each row.
        """
        rank, level = self._repeat_topic(topic, orders)
        base = int(self.run.starts[topic])
        for rows, positions in zip(self.mixed_groups(topic), slots, strict=True):
            rank[:, rows.start - base : rows.stop - base] = self.first[rows.start] + positions
        order = np.argsort(rank, axis=1)
        return self.on_topic(
            topic, judgments, np.take_along_axis(rank, order, axis=1), np.take_along_axis(level, order, axis=1)
        )

    def on_topic(self, topic: int, judgments: Judgments, rank: Integers, level: NDArray[np.int8]) -> JudgedRuns:
        """Return rankings of one topic, [orders, rows] each in the order of ranks, as runs on this topic alone."""
        orders, rows = rank.shape
        is_relevant = level > 0
        first = np.zeros((orders, 2), np.int64)
        first[:, 1] = np.cumsum(is_relevant.sum(axis=1))
        first[1:, 0] = first[:-1, 1]
        among_judged = np.broadcast_to(np.arange(1, rows + 1), rank.shape)
        kinds = np.stack([rank, among_judged, among_judged - np.cumsum(level < 0, axis=1)])
        rows_of_topic = slice(topic, topic + 1)
        alone = Judgments(judgments.level_counts[rows_of_topic], judgments.negative_counts[rows_of_topic])
        # Compiled code scores ranks of two bytes.
        is_narrow = self.run.rank.dtype == np.uint16
        ranks = kinds[:, is_relevant]
        narrow = ranks.astype(np.uint16) if is_narrow else ranks.astype(np.uint32)
        return JudgedRuns(alone, first, narrow, level[is_relevant], np.zeros((orders, 1), np.bool_))

    def _repeat_topic(self, topic: int, orders: int) -> tuple[Integers, NDArray[np.int8]]:
        """Return the ranks and levels of a topic, [orders, rows], the same in each order."""
        rows = slice(*self.run.starts[topic : topic + 2])
        rank, level = self.run.rank[rows].astype(np.int64), self.run.level[rows]
        return np.tile(rank, (orders, 1)), np.tile(level, (orders, 1))

    def _arrangements(self, rows: slice) -> list[tuple[list[int], list[int]]]:
        """Return the ranks and the levels of the judged documents, for each order of a group that differs in levels."""
        first = int(self.first[rows.start])
        arrangements: list[tuple[list[int], list[int]]] = []
        # Documents of one level are alike, so orders that only exchange them are one: 6 documents have 720 orders, but
        # of two levels at most 20.
        for order in sorted(set(permutations(self._codes(rows)))):
            indexes = [index for index, code in enumerate(order) if code != UNJUDGED]
            arrangements.append(([first + index for index in indexes], [order[index] for index in indexes]))
        return arrangements

    def _codes(self, rows: slice) -> list[int]:
        levels: list[Any] = self.run.level[rows].tolist()
        return levels + [UNJUDGED] * (int(self.size[rows.start]) - len(levels))
