"""Pairs of runs: all i < j, in the order (0, 1), (0, 2), ..., (1, 2), ..."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gainboard.statistics.draws import Floats, Indices

NUMBERS_AT_ONCE = 1 << 22
"""How many float64 a piece of work may have before it at once: 32 MB."""


def pair_count(runs: int) -> int:
    """How many pairs there are."""
    return runs * (runs - 1) // 2


def pair_indices(runs: int, block: slice = slice(None)) -> tuple[Indices, Indices]:
    """The first and the second run of each pair of `block`: two intp [pairs]."""
    start, stop, _ = block.indices(pair_count(runs))
    pairs, rows = np.arange(start, stop), np.arange(runs)
    # From where each first run's pairs begin: whoever works block after block does not list all pairs for each.
    begins = rows * (2 * runs - rows - 1) // 2
    first = np.searchsorted(begins, pairs, side="right") - 1
    return first, pairs - begins[first] + first + 1


def pair_differences(scores: Floats, block: slice = slice(None)) -> Floats:
    """The first run's scores less the second's, for each pair of `block`.

    `scores` has the runs on its first axis, and any others after it: float64 [runs, ...] becomes [pairs, ...].
    """
    first, second = pair_indices(len(scores), block)
    return scores[first] - scores[second]


def pieces(whole: slice, most: int) -> Iterator[slice]:
    """`whole` (with a start and a stop) cut into consecutive slices of at most `most`, which is taken as 1 if less."""
    step = max(most, 1)
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))
