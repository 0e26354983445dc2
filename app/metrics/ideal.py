"""The ideal ranking of each topic: all its relevant documents, highest gain first, then nothing for ever."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.metrics.arrays import Scores
from app.metrics.discounts import Discount


def worth(gains: Scores, counts: NDArray[np.float64] | NDArray[np.int64]) -> Scores:
    """The gain of `counts` [k, m] documents of each of k levels, at `gains` float64 [k, 1 or m]: float64 [m]."""
    return np.asarray((gains * counts).sum(axis=0))


class IdealRankings:
    """What the ideal rankings of n topics score, in closed form wherever there is one.

    `relevant` int64 [k, n] counts the relevant documents of the k relevant levels, lowest first; `gains`
    float64 [k, 1] or [k, n] is what they are worth. Within a level all gains are equal, so a sum over ranks is
    the gain times a difference of prefix sums of the discount, and no table by rank is needed.
    """

    def __init__(self, relevant: NDArray[np.int64], gains: Scores) -> None:
        self.gains = gains
        self.last = relevant[::-1].cumsum(axis=0)[::-1]
        self.above = self.last - relevant
        self.relevant_count: NDArray[np.int64] = self.last[0]
        # Bounded: the object lives as long as the qrels version, and cut-offs and bases are the client's choice.
        self._cached_gain = lru_cache(maxsize=32)(self._cumulative_gain)
        self.reciprocal_sums = lru_cache(maxsize=4)(self._reciprocal_sums)

    @cached_property
    def total(self) -> Scores:
        """The gain of all relevant documents, float64 [n]."""
        return worth(self.gains, self.last - self.above)

    @cached_property
    def generalised_precision_sum(self) -> Scores:
        """The sum over ranks r = 1..R of cg_I(r)/r, float64 [n] (the denominator of genAP).

        A level of x documents below a others adds (r-a)/r at its own ranks and x/r at those below it.
        """
        harmonic = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1.0, self.deepest + 1))))
        own = harmonic[self.last] - harmonic[self.above]
        below = harmonic[self.relevant_count] - harmonic[self.last]
        size = self.last - self.above
        return worth(self.gains, size - self.above * own + size * below)

    @cached_property
    def deepest(self) -> int:
        """The largest R, below which no ideal ranking gains anything."""
        return int(self.relevant_count.max(initial=0))

    def cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        """The discounted gain of the first `upto` ranks, float64 [n]."""
        return self._cached_gain(min(upto, self.deepest), discount)

    def _cumulative_gain(self, upto: int, discount: Discount) -> Scores:
        last, above = np.minimum(self.last, upto), np.minimum(self.above, upto)
        return worth(self.gains, discount.sums(last) - discount.sums(above))

    def _reciprocal_sums(self, discount: Discount) -> ReciprocalSums:
        starts = np.concatenate(([0], np.cumsum(self.relevant_count + 1)))
        sums = np.zeros(starts[-1])
        # Topics of like R share a block, so that padding at most doubles the work; each row has its own
        # cumsum, because differences of one long cumsum would lose digits.
        widths = np.ceil(np.log2(self.relevant_count + 1)).astype(np.int64)
        for width in np.unique(widths[widths > 0]):
            topics = np.flatnonzero(widths == width)
            ranks = np.arange(1, self.relevant_count[topics].max() + 1)
            inside = ranks <= self.relevant_count[topics, np.newaxis]
            places = starts[topics, np.newaxis] + ranks
            sums[places[inside]] = np.cumsum(1.0 / self.gain_by_rank(topics, ranks, discount), axis=1)[inside]
        whole = self.cumulative_gain(self.deepest, discount)
        return ReciprocalSums(sums, starts[:-1], self.relevant_count, 1.0 / whole)

    def gain_by_rank(self, topics: NDArray[np.intp], ranks: NDArray[np.intp], discount: Discount) -> Scores:
        """The discounted gain of the first r ranks of some topics, for each r of `ranks`: float64 [topics, ranks]."""
        gained = np.zeros((len(topics), len(ranks)))
        gains = np.broadcast_to(self.gains, self.last.shape)
        for gain, last, above in zip(gains, self.last, self.above, strict=True):
            documents = discount.sums(np.minimum(ranks, last[topics, np.newaxis]))
            documents -= discount.sums(np.minimum(ranks, above[topics, np.newaxis]))
            gained += gain[topics, np.newaxis] * documents
        return gained


class ReciprocalSums(NamedTuple):
    """H(r), the sum of 1/cg_I(i) over ranks i = 1..r, for every topic and r >= 0.

    Tabulated to rank R, where cg_I stops growing, and linear from there on.
    """

    table: Scores
    starts: NDArray[np.int64]
    relevant_count: NDArray[np.int64]
    step: Scores

    def at(self, topics: NDArray[np.intp] | slice, ranks: NDArray[np.intp] | int) -> Scores:
        """H at `ranks` of `topics` (of equal shape, or one of them a scalar or slice), float64."""
        inside = np.minimum(ranks, self.relevant_count[topics])
        return self.table[self.starts[topics] + inside] + (ranks - inside) * self.step[topics]
