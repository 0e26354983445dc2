"""How large tables over all pairs of runs are worked: piece by piece."""

from __future__ import annotations

from collections.abc import Iterator

from gainboard.statistics.pairs import pair_count, pieces

_VALUES = 1 << 15
"""Small enough for a core's cache and for memory that the allocator keeps: twice to four times as fast as megabytes."""


def pair_pieces(runs: int, width: int) -> Iterator[slice]:
    """Slices of the pairs of runs for which a float64 [pairs, width] takes about 256 kB."""
    return pieces(slice(0, pair_count(runs)), _VALUES // max(1, width))
