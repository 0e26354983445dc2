"""What a gain is worth at the rank where it is found."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.arrays import Scores
from gainboard.metrics.values import Number

_SHALLOW: Final = 1 << 16
"""Ranks below this one are looked up: half a megabyte for a discount. Deeper ranks are computed one by one."""


class Discount(NamedTuple):
    """The weight `1 / max(1, log_base(rank + shift))` of a rank >= 1.

    One formula carries all three habits. Base a with shift 0 is Jarvelin and Kekalainen's (TOIS 2002), which leaves
    ranks up to a alone. Base 2 with shift 1 is the "Microsoft" discount (Burges et al., ICML 2005). An infinite base
    discounts nothing. In formulas of metrics, `base` may be a parameter; only then is it not a float.
    """

    base: Number
    shift: int = 0

    def at(self, ranks: NDArray[np.intp]) -> Scores:
        """Return the weight at each of `ranks` (intp of any shape, >= 1), float64."""
        deepest = int(ranks.max(initial=0))
        return self.weights(deepest).take(ranks) if deepest < _SHALLOW else self._at(ranks)

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0 (none), 1, ..., `deepest`, float64."""
        return _weights(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks, float64."""
        return _sums(self, max(10, deepest.bit_length()))[: deepest + 1]

    def _at(self, ranks: NDArray[np.intp]) -> Scores:
        logs = np.fromiter(map(math.log, (ranks + self.shift).ravel().tolist()), np.float64).reshape(ranks.shape)
        return self._of(logs)

    def _of(self, logs: Scores) -> Scores:
        """Return the weights of ranks, the logarithms of which (after the shift) are given."""
        weights: Scores = 1.0 / np.maximum(1.0, logs / math.log(cast("float", self.base)))
        return weights


NO_DISCOUNT: Final = Discount(base=math.inf)
MICROSOFT: Final = Discount(base=2.0, shift=1)


@lru_cache(maxsize=8)
def _weights(discount: Discount, bits: int) -> Scores:
    weights = discount._of(_logs(bits + 1)[discount.shift : discount.shift + (1 << bits)])
    weights[0] = 0.0
    return weights


@lru_cache(maxsize=8)
def _sums(discount: Discount, bits: int) -> Scores:
    return np.cumsum(_weights(discount, bits))


@lru_cache(maxsize=4)
def _logs(bits: int) -> Scores:
    """The one table of logarithms, of 0 (as if it were 1), 1, 2, ...: NumPy's own differ between processors."""
    return np.fromiter((math.log(max(1, rank)) for rank in range(1 << bits)), np.float64)
