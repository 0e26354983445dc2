"""Pairs of runs: all i < j, in the order (0, 1), (0, 2), ..., (1, 2), ..., and their division into pieces."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from gainboard.statistics.draws import Floats, Indices

NUMBERS_AT_ONCE = 1 << 22
"""The most float64 in one piece of work: 32 MB."""


def pair_count(runs: int) -> int:
    return runs * (runs - 1) // 2


def pair_indices(runs: int, which: slice | Indices = slice(None)) -> tuple[Indices, Indices]:
    """Return the first and the second run of some pairs: two intp [pairs].

    `which` is a slice of all pairs, or their numbers, intp [pairs].
    """
    pairs = np.arange(*which.indices(pair_count(runs))) if isinstance(which, slice) else which
    # Only the pairs of the slice are built: work in blocks would otherwise list all pairs for each block.
    begins = _begins(np.arange(runs), runs)
    first = np.searchsorted(begins, pairs, side="right") - 1
    return first, pairs - begins[first] + first + 1


def pair_number(runs: int, first: Indices, second: Indices) -> Indices:
    """Return the numbers of pairs with these `first` and `second` runs: intp [pairs] each, first < second."""
    return _begins(first, runs) + second - first - 1


def _begins(first: Indices, runs: int) -> Indices:
    """Return the number of the first pair of each first run."""
    return first * (2 * runs - first - 1) // 2


def pair_differences(scores: Floats, which: slice | Indices = slice(None)) -> Floats:
    """Return the first run's scores minus the second's, for the pairs that `which` selects as in `pair_indices`.

    `scores` has the runs on its first axis, and any others after it: float64 [runs, ...] becomes [pairs, ...].
    """
    first, second = pair_indices(len(scores), which)
    return scores[first] - scores[second]


def pieces(whole: slice, most: int) -> Iterator[slice]:
    """Cut `whole` (with a start and a stop) into consecutive slices of at most `most`, which is taken as 1 if less."""
    step = max(most, 1)
    for start in range(whole.start, whole.stop, step):
        yield slice(start, min(start + step, whole.stop))


_VALUES = 1 << 15
"""Small enough for a core's cache and for memory that the allocator keeps: two to four times as fast as megabytes."""


def pair_pieces(runs: int, width: int, which: slice = slice(None)) -> Iterator[slice]:
    """Return slices of some pairs of runs, for which a float64 [pairs, width] takes about 256 kB.

    They are places among the pairs that `which` selects, by default all.
    """
    return pieces(slice(0, len(range(*which.indices(pair_count(runs))))), _VALUES // max(1, width))


def pair_blocks(runs: int, cost: float, most: float) -> list[slice]:
    """Cut the pairs of runs into blocks of nearly equal size that cost at most `most` each, all of them `cost`.

    A block has at least one pair.
    """
    pairs = pair_count(runs)
    blocks = max(1, min(pairs, math.ceil(cost / most)))
    parts = (numbers_of_block(pairs, block, blocks) for block in range(blocks))
    return [slice(part.start, part.stop) for part in parts]


def numbers_of_block(whole: int, block: int, blocks: int) -> range:
    """Return the numbers 0 .. whole - 1 that are in a block, counted from 0, of `blocks` of nearly equal size."""
    return range(whole * block // blocks, whole * (block + 1) // blocks)
