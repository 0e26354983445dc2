"""Pairs of runs: all i < j, in the order (0, 1), (0, 2), ..., (1, 2), ..."""

from __future__ import annotations

import numpy as np

from app.statistics.draws import Floats, Indices


def pair_count(runs: int) -> int:
    """How many pairs there are."""
    return runs * (runs - 1) // 2


def pair_indices(runs: int, block: slice = slice(None)) -> tuple[Indices, Indices]:
    """The first and the second run of each pair of `block`: two intp [pairs]."""
    first, second = np.triu_indices(runs, 1)
    return first[block], second[block]


def pair_differences(scores: Floats, block: slice = slice(None)) -> Floats:
    """The first run's scores less the second's, for each pair of `block`.

    `scores` has the runs on its first axis, and any others after it: float64 [runs, ...] becomes [pairs, ...].
    """
    first, second = pair_indices(len(scores), block)
    return scores[first] - scores[second]
