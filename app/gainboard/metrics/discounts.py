"""Discounts: the weight of a gain at each rank."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Number

_SHALLOW: Final = 1 << 16
"""Weights of ranks below this are looked up in a table (half a megabyte for a discount). Others are computed."""


class Discount(NamedTuple):
    """The weight `1 / max(1, log_base(rank + shift))` of a rank >= 1.

    The formula covers three discounts. Base a with shift 0 is that of Jarvelin and Kekalainen (TOIS 2002), which does
    not discount ranks up to a. Base 2 with shift 1 is the "Microsoft" discount (Burges et al., ICML 2005). An infinite
    base discounts nothing. `base` is a float, except in formulas of metrics, where it may be a parameter.
    """

    base: Number
    shift: int = 0

    def at(self, ranks: NDArray[np.intp], deepest: int | None = None) -> Scores:
        """Return the weight at each of `ranks` (intp of any shape, 1 to `deepest` if that is given), float64."""
        deepest = int(ranks.max(initial=0)) if deepest is None else deepest
        return self.weights(deepest).take(ranks) if deepest < _SHALLOW else self._at(ranks)

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0, 1, ..., `deepest`: float64 [deepest + 1]. Rank 0 has weight 0."""
        # Tables have 1,024 ranks or a higher power of two, so that requests to many depths share them.
        return _weights(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks: float64 [deepest + 1]."""
        return _sums(self, max(10, deepest.bit_length()))[: deepest + 1]

    def _at(self, ranks: NDArray[np.intp]) -> Scores:
        logs = np.fromiter(map(math.log, (ranks + self.shift).ravel().tolist()), np.float64).reshape(ranks.shape)
        return self._of(logs)

    def _of(self, logs: Scores) -> Scores:
        """Return the weights of ranks from the logarithms of the shifted ranks."""
        weights: Scores = 1.0 / np.maximum(1.0, logs / math.log(cast("float", self.base)))
        return weights


class Geometric(NamedTuple):
    """The weight `ratio ** (rank - 1)` of a rank >= 1, with 0 < ratio < 1. It has the methods of `Discount`."""

    ratio: Number

    def at(self, ranks: NDArray[np.intp], deepest: int | None = None) -> Scores:
        """Return the weight at each of `ranks` (intp of any shape, 1 to `deepest` if that is given), float64."""
        return self.weights(int(ranks.max(initial=0)) if deepest is None else deepest).take(ranks)

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0, 1, ..., `deepest`: float64 [deepest + 1]. Rank 0 has weight 0."""
        return _powers(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks: float64 [deepest + 1]."""
        return np.cumsum(self.weights(deepest))


NO_DISCOUNT: Final = Discount(base=math.inf)
MICROSOFT: Final = Discount(base=2.0, shift=1)


# Clients choose the base, so the number of tables must be bounded.
@lru_cache(maxsize=8)
def _weights(discount: Discount, bits: int) -> Scores:
    weights = discount._of(_logs(bits + 1)[discount.shift : discount.shift + (1 << bits)])
    weights[0] = 0.0
    return weights


@lru_cache(maxsize=8)
def _powers(discount: Geometric, bits: int) -> Scores:
    # As products, because NumPy's powers differ between processors.
    powers = np.full(1 << bits, discount.ratio, np.float64)
    powers[0], powers[1] = 0.0, 1.0
    np.cumprod(powers[1:], out=powers[1:])
    return powers


@lru_cache(maxsize=8)
def _sums(discount: Discount, bits: int) -> Scores:
    # A running sum has the same bits however far it goes. Those of `np.sum` depend on the number of ranks.
    return np.cumsum(_weights(discount, bits))


@lru_cache(maxsize=4)
def _logs(bits: int) -> Scores:
    """Return the logarithms of 0 (taken as 1), 1, 2, ..., 2**bits - 1: float64 [2**bits].

    They are from `math.log`, because NumPy's logarithms differ between processors.
    """
    return np.fromiter((math.log(max(1, rank)) for rank in range(1 << bits)), np.float64)
