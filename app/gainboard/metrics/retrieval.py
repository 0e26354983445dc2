"""The scores that a run gave its documents, in the form that metrics use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Scores = NDArray[np.float64]
"""A float64 array. Each docstring gives its shape: by topic, by document found, or by run and topic."""


class SystemColumns(NamedTuple):
    """Retrieval scores on one scale: raw, or scaled to [0, 1] over the topic's ranking.

    - `system` float64 [rows]: the scores of the relevant documents retrieved.
    - `distance` float64, by ranking: the sum of |score| over all documents retrieved. In condensed rankings, it is over
      the judged documents retrieved. This is the distance to the user scores if no document has a gain.
    - `documents` float64, by ranking: the number of documents judged or retrieved. In condensed rankings, it is the
      number of judged documents.
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
        """Return the columns of one run.

        `scores` float64 [judged] are those of the judged documents retrieved, `counts` int64 [n] of them in each topic.
        `row` intp [m] are the indexes of the relevant ones. `unjudged` is the sum of |score| over unjudged documents,
        on the same scale. `documents` int64 [n] are those judged or retrieved.
        """
        # Scores may be as large as a float64 can be, and then their sum is infinite.
        with np.errstate(over="ignore"):
            distance = by_topic(np.add, np.abs(scores), counts) + unjudged
        return cls(scores.take(row), distance, documents.astype(np.float64))

    @classmethod
    def joined(cls, columns: Sequence[SystemColumns], topics: int) -> SystemColumns:
        """Return the columns of runs, one run after the other. Columns by ranking are float64 [runs, topics]."""
        system = np.concatenate([part.system for part in columns]) if columns else np.zeros(0)
        shape = len(columns), topics
        distance, documents = [part.distance for part in columns], [part.documents for part in columns]
        return cls(system, np.array(distance).reshape(shape), np.array(documents).reshape(shape))


def scale_ranked(scores: Scores, counts: NDArray[np.int64], lowest: Scores, highest: Scores) -> Scores:
    """Return `scores` float64 [judged] scaled to [0, 1] by each topic's lowest and highest score, float64 [n]."""
    scaling = Scaling.between(lowest, highest)
    with np.errstate(over="ignore"):
        return scale_scores(scores, Scaling(*(np.repeat(number, counts) for number in scaling)))


def scale_condensed(scores: Scores, counts: NDArray[np.int64]) -> Scores:
    """Return `scores` float64 [judged] scaled to [0, 1] by the lowest and highest judged score of each topic."""
    lowest, highest = by_topic(np.minimum, scores, counts), by_topic(np.maximum, scores, counts)
    return scale_ranked(scores, counts, lowest, highest)


class Scaling(NamedTuple):
    """The numbers of the scaling (score * unit - shift) / spread."""

    unit: Scores
    shift: Scores
    spread: Scores

    @classmethod
    def between(cls, lowest: Scores | float, highest: Scores | float) -> Scaling:
        """Return the scaling of `lowest` to 0 and `highest` to 1. If they are equal, all scores become 1.

        Both must be finite.
        """
        with np.errstate(over="ignore"):
            # The difference of two finite scores may be infinite. The difference of their halves is finite.
            unit = 1.0 - 0.5 * np.isinf(np.subtract(highest, lowest))
        shift = lowest * unit
        spread = highest * unit - shift
        some = spread > 0
        none = ~some
        # If all scores are equal, each becomes (score * 0 + 1) / 1. The plain reader asks for one topic at a time,
        # where choosing three numbers by `np.where` takes longer than scaling all scores.
        return cls(unit * some, shift * some - none, spread * some + none)


def scale_scores(scores: Scores, scaling: Scaling) -> Scores:
    return (scores * scaling.unit - scaling.shift) / scaling.spread


def min_max(scores: Scores, lowest: float, highest: float) -> Scores:
    """Return `scores` float64 [m] scaled so that `lowest` becomes 0 and `highest` 1; all 1 if the two are equal."""
    return scale_scores(scores, Scaling.between(lowest, highest))


def by_topic(operation: np.ufunc, values: Scores, counts: NDArray[np.int64]) -> Scores:
    """Reduce the values of each topic with the operation: float64 [n], 0 for a topic without values."""
    # For a topic without values, `reduceat` gives the first value of the next one. So such topics are left out.
    reduced = np.zeros(len(counts))
    filled = counts.nonzero()[0]
    if len(filled):
        starts = np.cumsum(counts) - counts
        reduced[filled] = operation.reduceat(values, starts[filled])
    return reduced
