"""The scores that a run gave its documents, as far as metrics look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores


class SystemColumns(NamedTuple):
    """Retrieval scores on one scale: raw, or scaled to [0, 1] over the topic's ranking.

    `system` float64 [rows] has those of the relevant documents retrieved. By ranking, float64: `distance`, the sum of
    |score| over all documents retrieved (over the judged ones, where rankings are condensed), which is how far off
    scores are if no document is worth anything; and `documents`, how many are judged or retrieved.
    """

    system: Scores
    distance: Scores
    documents: Scores

    @classmethod
    def of(
        cls,
        scores: Scores,
        counts: NDArray[np.int64],
        row: NDArray[np.intp],
        unjudged: Scores | float,
        documents: NDArray[np.int64],
    ) -> SystemColumns:
        """Return the columns of `scores` float64 [judged] of one run, of which topics have `counts` int64 [n]."""
        with np.errstate(over="ignore"):
            distance = _by_topic(np.add, np.abs(scores), counts) + unjudged
        return cls(scores.take(row), distance, documents.astype(np.float64))

    @classmethod
    def joined(cls, columns: Sequence[SystemColumns], topics: int) -> SystemColumns:
        """Return the columns of several runs, one behind the other; those by ranking are float64 [runs, topics]."""
        system = np.concatenate([each.system for each in columns]) if columns else np.zeros(0)
        shape = (len(columns), topics)
        distance = np.array([each.distance for each in columns]).reshape(shape)
        return cls(system, distance, np.array([each.documents for each in columns]).reshape(shape))


def ranked_scaling(scores: Scores, counts: NDArray[np.int64], lowest: Scores, highest: Scores) -> Scores:
    """Return `scores` float64 [judged] scaled to [0, 1] by each topic's lowest and highest score, float64 [n]."""
    scaling = Scaling.between(lowest, highest)
    with np.errstate(over="ignore"):
        return scaled(scores, Scaling(*(np.repeat(each, counts) for each in scaling)))


def condensed_scaling(scores: Scores, counts: NDArray[np.int64]) -> Scores:
    """Return the scores scaled by each topic's extremes among them: those of a ranking of judged documents alone."""
    lowest, highest = _by_topic(np.minimum, scores, counts), _by_topic(np.maximum, scores, counts)
    return ranked_scaling(scores, counts, lowest, highest)


class Scaling(NamedTuple):
    """What scores are multiplied by, what is then taken off and what that is divided by."""

    unit: Scores
    shift: Scores
    spread: Scores

    @classmethod
    def between(cls, lowest: Scores | float, highest: Scores | float) -> Scaling:
        """Return the scaling from `lowest` to `highest`, finite both, to 0 and 1; where they are equal, all to 1."""
        with np.errstate(over="ignore"):
            # Two finite scores may be further apart than the largest number; their halves are not.
            unit = np.where(np.isinf(np.subtract(highest, lowest)), 0.5, 1.0)
        shift = lowest * unit
        spread = highest * unit - shift
        some = spread > 0
        return cls(np.where(some, unit, 0.0), np.where(some, shift, -1.0), np.where(some, spread, 1.0))


def scaled(scores: Scores, scaling: Scaling) -> Scores:
    """Return the scores, each by its scaling."""
    return (scores * scaling.unit - scaling.shift) / scaling.spread


def min_max(scores: Scores, lowest: float, highest: float) -> Scores:
    """Return `scores` float64 [m] scaled so that `lowest` becomes 0 and `highest` 1; all 1 where the two are equal."""
    return scaled(scores, Scaling.between(lowest, highest))


def _by_topic(operation: np.ufunc, values: Scores, counts: NDArray[np.int64]) -> Scores:
    """Return what the operation makes of the values of each topic, float64 [n]; 0 of none."""
    reduced = np.zeros(len(counts))
    filled = counts.nonzero()[0]
    if len(filled):
        starts = np.cumsum(counts) - counts
        reduced[filled] = operation.reduceat(values, starts[filled])
    return reduced
