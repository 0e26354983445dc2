"""Everything random, from PCG64's raw output with a few lines of our own.

NumPy promises stable streams of `SeedSequence` and of the bit generators, but not of `Generator`'s methods. All steps
use integers, except the last one: the same seed draws the same on every machine and under every version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
Words = NDArray[np.uint64]
BlockResult = Mapping[str, NDArray[Any]]
"""The result of one block of a test: arrays by name."""
HALF = np.uint64(32)


class Draws:
    """A separate random stream for each seed (0 .. 2**64 - 1), purpose and block (0 .. 2**32 - 1).

    Each method continues where the last one stopped, so draws depend on the earlier calls. Streams of other purposes or
    blocks are not affected: work can be split in any way that keeps its blocks.
    """

    def __init__(self, seed: int, purpose: str, block: int = 0) -> None:
        # Not `hash`, which differs from one process to the next.
        key = (crc32(purpose.encode()), block)
        self._source = np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key))

    def resamples(self, count: int, size: int) -> Indices:
        """Draw indices with replacement: intp [count, size], each in 0 .. size - 1.

        The high halves of the words are scaled down. An index's probability is within 2**-32 of 1 / size.
        """
        words = self._words(count * size)
        words >>= HALF
        words *= np.uint64(size)
        words >>= HALF
        return words.astype(np.intp).reshape(count, size)

    def permutations(self, count: int, rows: int, size: int) -> Indices:
        """Draw independent permutations of 0 .. size - 1: intp [count, rows, size]."""
        return self._shuffle(count * rows, size).reshape(count, rows, size)

    def subsets(self, count: int, size: int, chosen: int) -> Indices:
        """Draw indices without replacement: intp [count, chosen], each row distinct values of 0 .. size - 1.

        A row's order is random too, so its first and its last part are disjoint random subsets.
        """
        return np.ascontiguousarray(self._shuffle(count, size)[:, :chosen])

    def signs(self, count: int, size: int) -> Floats:
        """Draw fair signs: float64 [count, size] of -1 and 1, one bit each."""
        words = self._words(count * -(-size // 64)).reshape(count, -1)
        # Little-endian, so that the bits come in the same order on every machine.
        bits = np.unpackbits(words.astype("<u8").view(np.uint8), axis=1, count=size, bitorder="little")
        return 2 * bits.astype(np.float64) - 1

    def _shuffle(self, count: int, size: int) -> Indices:
        # Keys with their index in the low bits are distinct, so every sorting algorithm gives the same order. Sorting
        # the numbers is several times as fast as sorting their indexes.
        low_bits = np.uint64((1 << (size - 1).bit_length()) - 1)
        keys = self._words(count * size).reshape(count, size)
        keys &= ~low_bits
        keys |= np.arange(size, dtype=np.uint64)
        keys.sort(axis=-1)
        keys &= low_bits
        return keys.view(np.int64).astype(np.intp, copy=False)

    def _words(self, count: int) -> Words:
        words: Words = self._source.random_raw(count)
        return words


def successive_seeds(seed: int, count: int) -> list[int]:
    """Return `count` seeds, from `seed` on; 0 follows the largest seed."""
    return [(seed + step) % 2**64 for step in range(count)]


def resample_counts(resamples: Indices, size: int) -> Floats:
    """Return how often each index is in each resample: float64 [resamples, size] from indices [resamples, any]."""
    cells = resamples + np.arange(len(resamples))[:, np.newaxis] * size
    return np.bincount(cells.ravel(), minlength=len(resamples) * size).reshape(-1, size).astype(np.float64)
