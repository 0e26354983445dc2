"""The ideal ranking of each topic: all its relevant documents, highest gain first, then nothing for ever."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.metrics.arrays import Scores
from app.metrics.discounts import Discount


class LevelCounts:
    """How many documents of n topics are relevant, and where in the ideal rankings they stand.

    `last` int64 [k, n] is the rank in the ideal ranking of the last document of each of the k relevant levels, lowest
    level first: the number of documents of that level or a higher one. No gain setting changes any of it.
    """

    def __init__(self, relevant: NDArray[np.int64]) -> None:
        self.relevant = relevant
        self.last = relevant[::-1].cumsum(axis=0)[::-1]
        self.relevant_count: NDArray[np.int64] = self.last[0]
        self.ranks = lru_cache(maxsize=4)(self._ranks)

    @cached_property
    def deepest(self) -> int:
        """The largest R, below which no ideal ranking gains anything."""
        return int(self.relevant_count.max(initial=0))

    def _ranks(self, upto: int) -> tuple[IdealRanks, ...]:
        """The first `upto` ranks of the ideal rankings that hold a document there.

        Topics of like R share a table, so that padding at most doubles the work.
        """
        depth = np.minimum(self.relevant_count, upto)
        widths = np.ceil(np.log2(np.maximum(depth, 1))).astype(np.int64)
        alike = (np.flatnonzero((widths == width) & (depth > 0)) for width in np.unique(widths[depth > 0]))
        return tuple(self._table(topics, int(depth[topics].max())) for topics in alike)

    def _table(self, topics: NDArray[np.intp], width: int) -> IdealRanks:
        ranks = np.arange(1, width + 1)
        beyond = ranks > self.last[:, topics, np.newaxis]
        return IdealRanks(topics, width, beyond[::-1].sum(axis=0, dtype=np.int8))


class IdealRanks(NamedTuple):
    """The ranks 1 to `width` of the ideal rankings of some `topics`.

    `steps_down` int8 [topics, width]: how many levels below the highest the document there is; k where there is none.
    """

    topics: NDArray[np.intp]
    width: int
    steps_down: NDArray[np.int8]


class IdealRankings:
    """What the ideal rankings of n topics score under one gain setting, in closed form wherever there is one.

    `gains` float64 [k, 1] or [k, n] is what the k relevant levels are worth. `steps`, of the same shape, is what each
    is worth beyond the level below it, and never negative: a gain summed over ranks is the sum over levels of the step
    times as many of these ranks as hold a document of that level or a higher one. So no table by rank is needed, and
    nothing is taken off that was added before.
    """

    def __init__(self, counts: LevelCounts, gains: Scores) -> None:
        self.counts = counts
        self.gains = gains
        self.steps: Scores = np.diff(gains, axis=0, prepend=0.0)
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
        return self._worth(self.counts.last)

    @cached_property
    def generalised_precision_sum(self) -> Scores:
        """The sum over ranks r = 1..R of cg_I(r)/r, float64 [n] (the denominator of genAP).

        Of a level of x documents, itself or higher, the first x ranks count whole and each rank r beyond counts x/r.
        """
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, self.deepest + 1))))
        last = self.counts.last
        return self._worth(last + last * (harmonic[self.relevant_count] - harmonic[last]))

    def cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        """The discounted gain of the first `upto` ranks, float64 [n]."""
        return self._cached_gain(min(upto, self.deepest), discount)

    def _cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        return self._worth(discount.sums(np.minimum(self.counts.last, upto)))

    def steps_at(self, topic: NDArray[np.intp]) -> Scores:
        """The steps of these topics, float64 [k, 1] or [k, m]."""
        return self.steps if self.steps.shape[1] == 1 else self.steps[:, topic]

    def gain_at(self, topic: NDArray[np.intp], rank: Scores) -> Scores:
        """The gain of the first ranks of these topics, to one `rank` each: float64 [m]."""
        return worth(self.steps_at(topic), np.minimum(rank, self.counts.last.take(topic, axis=1)))

    def _worth(self, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
        """The gain of `counts` [k, n] ranks, discounted or not, that hold a document of each level or a higher one."""
        return worth(self.steps, counts)

    def reciprocal_sums(self, discount: Discount, upto: int) -> ReciprocalSums:
        """The sums of 1/cg_I(i) over ranks, which may be read off to rank `upto`."""
        # To the next power of 2, so that many cut-offs share a few tables.
        return self._cached_sums(discount, min(1 << (upto - 1).bit_length(), self.deepest))

    def _reciprocal_sums(self, discount: Discount, upto: int) -> ReciprocalSums:
        depth = np.minimum(self.relevant_count, upto)
        starts = np.zeros(len(depth), dtype=np.intp)
        tables = [np.zeros(1)]
        for topics, width, _ in (ideal := self.counts.ranks(upto)):
            starts[topics] = sum(map(len, tables)) + np.arange(len(topics)) * (width + 1)
            tables.append(np.zeros(len(topics) * (width + 1)))
        for ranks, table in zip(ideal, tables[1:], strict=True):
            sums = table.reshape(len(ranks.topics), -1)[:, 1:]
            np.cumsum(1.0 / self._gained(ranks, discount), axis=1, out=sums)
        return ReciprocalSums(np.concatenate(tables), starts, depth, 1.0 / self.cumulative_gain(self.deepest, discount))

    def _gained(self, ideal: IdealRanks, discount: Discount) -> Scores:
        """The discounted gain of the first r ranks, for each r: float64 [topics, width]."""
        below = np.zeros((1, self.gains.shape[1]))
        descending = np.concatenate((self.gains[::-1], below))
        if descending.shape[1] == 1:
            gain = descending[:, 0].take(ideal.steps_down)
        else:
            gain = descending[ideal.steps_down, ideal.topics[:, np.newaxis]]
        gain *= discount.weights(ideal.width)[1:]
        return np.cumsum(gain, axis=1, out=gain)

    def gain_by_rank(self, topics: NDArray[np.intp], ranks: NDArray[np.intp], discount: Discount) -> Scores:
        """The discounted gain of the first r ranks of some topics, for each r of `ranks`: float64 [topics, ranks]."""
        gained = np.zeros((len(topics), len(ranks)))
        steps = np.broadcast_to(self.steps, self.counts.last.shape)
        for step, last in zip(steps, self.counts.last, strict=True):
            gained += step[topics, np.newaxis] * discount.sums(np.minimum(ranks, last[topics, np.newaxis]))
        return gained


def worth(steps: Scores, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
    """The gain of `counts` [k, m] documents of each of k levels or a higher one, each of which is worth `steps`
    [k, 1 or m] more than the one below: float64 [m]."""
    return np.asarray((steps * counts).sum(axis=0))


class ReciprocalSums(NamedTuple):
    """H(r), the sum of 1/cg_I(i) over ranks i = 1..r, for every topic and r >= 0.

    Tabulated to rank `depth` int64 [n]. Where that is R, cg_I stops growing, and it is linear from there on.
    """

    table: Scores
    starts: NDArray[np.intp]
    depth: NDArray[np.int64]
    step: Scores

    def at(self, topics: NDArray[np.intp] | slice, ranks: NDArray[np.intp] | int) -> Scores:
        """H at `ranks` of `topics` (of equal shape, or one of them a scalar or slice), float64."""
        inside = np.minimum(ranks, self.depth[topics])
        return self.table[self.starts[topics] + inside] + (ranks - inside) * self.step[topics]
