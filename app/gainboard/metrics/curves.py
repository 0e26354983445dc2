"""Curves of one judged run: gain by rank, and precision by recall, averaged over topics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.discounts import NO_DISCOUNT, Discount
from gainboard.metrics.found import GradedFound
from gainboard.metrics.views import BinaryRankings, GradedRankings, JudgedRankings, Reading

RECALL_STEPS: Final = 10
"""Precision is interpolated at recall 0/10, 1/10, ..., 10/10."""
_VALUES = 1 << 18
"""Topics are worked together while topics x ranks stays below it: 2 MB a table."""


def gain_curves(rankings: JudgedRankings, reading: Reading, base: float, upto: int) -> Mapping[str, Scores]:
    """The means of CG, DCG, nCG and nDCG, by name, at every cut-off from 1 to `upto` (>= 1): float64 [upto] each.

    Under one gain setting and logarithm base, and as the metrics have it: a topic that the run lacks counts 0, one
    whose ideal ranking is worth nothing not at all. NaN if none is worth anything.
    """
    view = rankings.view(GradedRankings, reading)
    return {
        "CG": _gained(view, NO_DISCOUNT, upto),
        "DCG": _gained(view, Discount(base), upto),
        "nCG": _normalised(view, NO_DISCOUNT, upto),
        "nDCG": _normalised(view, Discount(base), upto),
    }


def precision_recall(rankings: JudgedRankings, reading: Reading) -> Scores:
    """Interpolated precision at recall 0, 0.1, ..., 1, averaged over the topics with relevant documents: float64 [11].

    At recall x it is the highest precision at any rank where at least x of the relevant documents, and at least
    one, have been found; 0 where there is no such rank. Of `reading`, the gains do not matter.
    """
    view = rankings.view(BinaryRankings, reading)
    found = view.relevant()
    counted = view.relevant_count.astype(np.int64)
    steps = np.arange(RECALL_STEPS + 1)
    # Whole numbers: 0.3 times 10 documents would round up to 4 of them.
    needed = np.maximum(1, -(-counted[:, np.newaxis] * steps // RECALL_STEPS))
    end = np.cumsum(found.number).astype(np.intp)[:, np.newaxis]
    start = end - found.number.astype(np.intp)[:, np.newaxis] + needed - 1
    precision = np.zeros(start.shape)
    reached = start < end
    spans = np.stack(np.broadcast_arrays(start, end), axis=-1)[reached].ravel()
    # Between the relevant documents precision only falls; the zero lets the last span end where the rows do.
    at_rows = np.append(found.count / found.rank, 0.0)
    precision[reached] = np.maximum.reduceat(at_rows, spans)[::2]
    return np.asarray(precision.sum(axis=0) / _defined(view))


def _defined(view: BinaryRankings) -> float:
    """The number of topics that means are taken over; NaN without any."""
    return len(view.relevant_count) - len(view.undefined) or np.nan


def _gained(view: GradedRankings, discount: Discount, upto: int) -> Scores:
    found = view.relevant(upto=upto)
    return _by_rank(found, found.gain * found.discount(discount), upto) / _defined(view)


def _normalised(view: GradedRankings, discount: Discount, upto: int) -> Scores:
    found = view.relevant(upto=upto)
    gain = found.gain * found.discount(discount)
    shallow = min(upto, view.ideal.deepest)
    # From there on no ideal ranking gains any more: each document adds its share of the whole, and needs no table.
    curve = _by_rank(found, _share(gain, view.ideal.cumulative_gain(upto, discount)[found.topic]), upto)
    curve[:shallow] = 0.0
    for topics in _topic_blocks(len(view.relevant_count), shallow):
        ideal = view.ideal.gain_by_rank(topics, np.arange(1, shallow + 1), discount)
        curve[:shallow] += _share(_table(found, gain, topics, shallow), ideal).sum(axis=0)
    return curve / _defined(view)


def _by_rank(found: GradedFound, values: Scores, upto: int) -> Scores:
    """The sums over all topics and the first r ranks, for r = 1 to `upto`."""
    # Of nothing, bincount makes integers.
    sums = np.bincount(found.rank.astype(np.intp) - 1, values, upto).astype(np.float64, copy=False)
    return np.cumsum(sums, out=sums)


def _share(part: Scores, whole: Scores) -> Scores:
    """The quotient, 0 where there is nothing to share."""
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


def _topic_blocks(topics: int, ranks: int) -> Iterator[NDArray[np.intp]]:
    size = max(1, _VALUES // max(1, ranks))
    return (np.arange(start, min(start + size, topics)) for start in range(0, topics, size))


def _table(found: GradedFound, gain: Scores, topics: NDArray[np.intp], ranks: int) -> Scores:
    """The discounted gain of the first r ranks of successive `topics`, float64 [topics, ranks]."""
    first, last = np.searchsorted(found.topic, (topics[0], topics[-1] + 1))
    rows = np.arange(first, last)[found.rank[first:last] <= ranks]
    table = np.zeros((len(topics), ranks))
    table[found.topic[rows] - topics[0], found.rank[rows].astype(np.intp) - 1] = gain[rows]
    return np.cumsum(table, axis=1, out=table)
