"""What a gain is worth at the rank where it is found."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores

_SHALLOW: Final = 1 << 16
"""Ranks that are looked up rather than computed: half a megabyte for a discount."""


class Discount(NamedTuple):
    """The weight `1 / max(1, log_base(rank + shift))` of a rank >= 1.

    One formula carries all three habits: base a with shift 0 is Jarvelin and Kekalainen's (TOIS 2002), which
    leaves ranks up to a alone; base 2 with shift 1 is the "Microsoft" discount (Burges et al., ICML 2005);
    an infinite base discounts nothing.
    """

    base: float
    shift: int = 0

    def at(self, ranks: NDArray[np.intp]) -> Scores:
        """The weight at each of `ranks` (any shape, >= 1), float64."""
        deepest = int(ranks.max(initial=0))
        return self.weights(deepest).take(ranks) if deepest < _SHALLOW else self._at(ranks)

    def weights(self, deepest: int) -> Scores:
        """The weights of ranks 0 (none), 1, ..., `deepest`, float64."""
        return _weights(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, ranks: NDArray[np.intp]) -> Scores:
        """The sum of the weights of ranks 1 to r, for each r >= 0 of `ranks`."""
        if self.base == math.inf:
            return ranks.astype(np.float64)
        deepest = int(ranks.max(initial=0))
        return _prefix_sums(self, max(10, deepest.bit_length())).take(ranks)

    def _at(self, ranks: NDArray[np.intp]) -> Scores:
        weights: Scores = 1.0 / np.maximum(1.0, np.log(ranks + self.shift) / math.log(self.base))
        return weights


NO_DISCOUNT: Final = Discount(base=math.inf)
MICROSOFT: Final = Discount(base=2.0, shift=1)


@lru_cache(maxsize=8)
def _weights(discount: Discount, bits: int) -> Scores:
    return np.concatenate(([0.0], discount._at(np.arange(1, 2**bits))))


@lru_cache(maxsize=8)
def _prefix_sums(discount: Discount, bits: int) -> Scores:
    return np.cumsum(_weights(discount, bits))
