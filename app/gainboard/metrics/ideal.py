"""The ideal ranking of each topic: all its relevant documents, highest gain first, then nothing for ever."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.discounts import Discount


class LevelCounts:
    """How many documents of the topics are relevant, and where in the ideal rankings they stand.

    Topics of which equally many documents are relevant at each level are one of c classes, `topic_class` intp [n],
    for their ideal rankings are alike. `relevant` int64 [k, c] holds the documents of each of the k relevant levels,
    lowest first, and `last` int64 [k, c] the rank in the ideal ranking of the last one: the number of documents of
    that level or a higher one. No gain setting changes any of it.
    """

    def __init__(self, relevant: NDArray[np.int64], lowest: int) -> None:
        """`relevant` int64 [k, n] is by topic, from level `lowest` up."""
        self.lowest = lowest
        self.relevant, topic_class = np.unique(relevant, axis=1, return_inverse=True)
        self.topic_class = topic_class.ravel()
        self.last: NDArray[np.int64] = np.ascontiguousarray(self.relevant[::-1].cumsum(axis=0)[::-1])
        self.last_rank = self.last.astype(np.float64)
        self.relevant_count: NDArray[np.int64] = self.last[0]
        self.ranks = lru_cache(maxsize=4)(self._ranks)
        self.upto = lru_cache(maxsize=16)(self._upto)

    @cached_property
    def deepest(self) -> int:
        """The largest R, below which no ideal ranking gains anything."""
        return int(self.relevant_count.max(initial=0))

    @cached_property
    def precision_sums(self) -> Scores:
        """The sum over ranks r = 1..R of the share of documents of each level or a higher one, float64 [k, c].

        Of x such documents, the first x ranks count whole and each rank r beyond counts x/r.
        """
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, self.deepest + 1))))
        return np.asarray(self.last + self.last * (harmonic[self.relevant_count] - harmonic[self.last]))

    def _upto(self, upto: int) -> NDArray[np.int64]:
        """The documents of each level or a higher one among the first `upto` ranks, int64 [k, c]."""
        return np.minimum(self.last, upto)

    def _ranks(self, upto: int) -> IdealRanks:
        """The first `upto` ranks of the ideal rankings that hold a document there.

        Classes of like R share a table, so that padding at most doubles the work.
        """
        depth = np.minimum(self.relevant_count, upto)
        widths = np.ceil(np.log2(np.maximum(depth, 1))).astype(np.int64)
        starts, size, tables = np.zeros(len(depth), np.intp), 1, []
        for width in np.unique(widths[depth > 0]):
            classes = ((widths == width) & (depth > 0)).nonzero()[0]
            table = self._table(classes, int(depth[classes].max()), size)
            starts[classes] = size + np.arange(len(classes)) * (table.width + 1)
            size = table.stop
            tables.append(table)
        return IdealRanks(tuple(tables), starts, depth, size)

    def _table(self, classes: NDArray[np.intp], width: int, start: int) -> RankTable:
        ranks = np.arange(1, width + 1)
        beyond = ranks > self.last[:, classes, np.newaxis]
        return RankTable(classes, width, start, beyond[::-1].sum(axis=0, dtype=np.int8))


class RankTable(NamedTuple):
    """The ranks 1 to `width` of the ideal rankings of some `classes`.

    `steps_down` int8 [classes, width]: how many levels below the highest the document there is; k where there is none.
    `start` is where what is worked out of these ranks stands among that of all tables, each row after one 0.
    """

    classes: NDArray[np.intp]
    width: int
    start: int
    steps_down: NDArray[np.int8]

    @property
    def stop(self) -> int:
        """Where the next table starts."""
        return self.start + len(self.classes) * (self.width + 1)


class IdealRanks(NamedTuple):
    """Ranks of ideal rankings in several tables: where, among `size` values, those of each class start, and how many
    ranks it has there, int64 [c] both."""

    tables: tuple[RankTable, ...]
    starts: NDArray[np.intp]
    depth: NDArray[np.int64]
    size: int


class IdealRankings:
    """What the ideal rankings of n topics score under one gain setting, in closed form wherever there is one.

    `gains` float64 [k, 1] or [k, c] is what the k relevant levels are worth, to each class if it differs. `steps`, of
    the same shape, is what each is worth beyond the level below it, and never negative: a gain summed over ranks is the
    sum over levels of the step times as many of these ranks as hold a document of that level or a higher one. So no
    table by rank is needed, and nothing is taken off that was added before.
    """

    def __init__(self, counts: LevelCounts, gains: Scores) -> None:
        self.counts = counts
        self.gains = gains
        self.steps = gains.copy()
        self.steps[1:] -= gains[:-1]
        self.relevant_count = counts.relevant_count
        # Bounded: the object lives as long as the qrels version, and cut-offs and bases are the client's choice.
        self._cached_gain = lru_cache(maxsize=32)(self._cumulative_gain)
        self._cached_sums = lru_cache(maxsize=4)(self._reciprocal_sums)

    @property
    def deepest(self) -> int:
        """The largest R, below which no ideal ranking gains anything."""
        return self.counts.deepest

    @cached_property
    def total(self) -> Scores:
        """The gain of all relevant documents, float64 [n]."""
        return self._worth(self.counts.last_rank)

    @cached_property
    def generalised_precision_sum(self) -> Scores:
        """The sum over ranks r = 1..R of cg_I(r)/r, float64 [n] (the denominator of genAP)."""
        return self._worth(self.counts.precision_sums)

    def cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        """The discounted gain of the first `upto` ranks, float64 [n]."""
        return self._cached_gain(min(upto, self.deepest), discount)

    def _cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        return self._worth(discount.sums(self.counts.upto(upto)))

    def _worth(self, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
        """The gain of `counts` [k, c] ranks, discounted or not, that hold a document of each level or a higher one."""
        return worth(self.steps, counts).take(self.counts.topic_class)

    def gain_of(self, classes: NDArray[np.intp], steps_up: NDArray[np.int8]) -> Scores:
        """The gains of documents so many levels above the lowest relevant one, of topics of these classes."""
        if self.gains.shape[1] == 1:
            return self.gains[:, 0].take(steps_up)
        return np.asarray(self.gains[steps_up, classes])

    def worth_of(self, classes: NDArray[np.intp], counts: Scores) -> Scores:
        """What `counts` [k, m] documents of each level or a higher one are worth to these classes: float64 [m]."""
        return worth(self.steps if self.steps.shape[1] == 1 else self.steps[:, classes], counts)

    def reciprocal_sums(self, discount: Discount, upto: int) -> ReciprocalSums:
        """The sums of 1/cg_I(i) over ranks, which may be read off to rank `upto`."""
        # To the next power of 2, so that many cut-offs share a few tables.
        return self._cached_sums(discount, min(1 << (upto - 1).bit_length(), self.deepest))

    def _reciprocal_sums(self, discount: Discount, upto: int) -> ReciprocalSums:
        ranks = self.counts.ranks(upto)
        values = np.zeros(ranks.size)
        for table in ranks.tables:
            sums = values[table.start : table.stop].reshape(len(table.classes), -1)[:, 1:]
            np.cumsum(1.0 / self._gained(table, discount), axis=1, out=sums)
        step = 1.0 / worth(self.steps, discount.sums(self.counts.last))
        return ReciprocalSums(values, ranks.starts, ranks.depth, step)

    def _gained(self, table: RankTable, discount: Discount) -> Scores:
        """The discounted gain of the first r ranks, for each r: float64 [classes, width]."""
        if self.gains.shape[1] == 1:
            gain = self._descending.take(table.steps_down)
        else:
            gain = self._descending[table.steps_down, table.classes[:, np.newaxis]]
        gain *= discount.weights(table.width)[1:]
        return np.cumsum(gain, axis=1, out=gain)

    @cached_property
    def _descending(self) -> Scores:
        """The gains from the highest level down to nothing."""
        return np.concatenate((self.gains[::-1], np.zeros((1, self.gains.shape[1]))))

    def gain_by_rank(self, topics: NDArray[np.intp], ranks: NDArray[np.intp], discount: Discount) -> Scores:
        """The discounted gain of the first r ranks of some topics, for each r of `ranks`: float64 [topics, ranks]."""
        classes = self.counts.topic_class.take(topics)
        gained = np.zeros((len(topics), len(ranks)))
        steps = np.broadcast_to(self.steps, self.counts.last.shape)
        for step, last in zip(steps, self.counts.last, strict=True):
            gained += step[classes, np.newaxis] * discount.sums(np.minimum(ranks, last[classes, np.newaxis]))
        return gained


def worth(steps: Scores, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
    """The gain of `counts` [k, m] documents of each of k levels or a higher one, each of which is worth `steps`
    [k, 1 or m] more than the one below: float64 [m]."""
    if steps.shape[1] == 1:
        return np.asarray(steps[:, 0] @ counts)
    return np.asarray((steps * counts).sum(axis=0))


class ReciprocalSums(NamedTuple):
    """H(r), the sum of 1/cg_I(i) over ranks i = 1..r, for every class of topics and r >= 0.

    Tabulated to rank `depth` int64 [c]. Where that is R, cg_I stops growing, and it is linear from there on.
    """

    table: Scores
    starts: NDArray[np.intp]
    depth: NDArray[np.int64]
    step: Scores

    def at(self, classes: NDArray[np.intp], ranks: NDArray[np.intp] | int) -> Scores:
        """H at `ranks` (one for all, or one each) of `classes` [m], float64 [m]."""
        inside = np.minimum(ranks, self.depth.take(classes))
        return self.table.take(self.starts.take(classes) + inside) + (ranks - inside) * self.step.take(classes)

    def to(self, rank: int) -> Scores:
        """H at this rank, float64 [c]."""
        return self.at(np.arange(len(self.depth)), rank)
