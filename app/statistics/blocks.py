"""How large tables are worked: block by block."""

from __future__ import annotations

from collections.abc import Iterator

from app.statistics.pairs import pair_count

_VALUES = 1 << 15
"""Small enough for a core's cache and for memory that the allocator keeps: twice to four times as fast as megabytes."""


def blocks(length: int, size: int) -> Iterator[slice]:
    """Slices of 0 .. length - 1, in order, of `size` each but for the last."""
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def pair_blocks(runs: int, width: int) -> Iterator[slice]:
    """Slices of the pairs of runs for which a float64 [pairs, width] takes about 256 kB."""
    return blocks(pair_count(runs), max(1, _VALUES // max(1, width)))
