"""What a gain is worth at the rank where it is found."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from app.metrics.arrays import Scores


@dataclass(frozen=True, slots=True)
class Discount:
    """The weight `1 / max(1, log_base(rank + shift))` of a rank >= 1.

    One formula carries all three habits: base a with shift 0 is Jarvelin and Kekalainen's (TOIS 2002), which
    leaves ranks up to a alone; base 2 with shift 1 is the "Microsoft" discount (Burges et al., ICML 2005);
    an infinite base discounts nothing.
    """

    base: float
    shift: int = 0

    def at(self, ranks: Scores) -> Scores:
        """The weight at each of `ranks` (float64, any shape, >= 1)."""
        weights: Scores = 1.0 / np.maximum(1.0, np.log(ranks + self.shift) / math.log(self.base))
        return weights

    def sums(self, ranks: NDArray[np.intp]) -> Scores:
        """The sum of the weights of ranks 1 to r, for each r >= 0 of `ranks`."""
        if self.base == math.inf:
            return ranks.astype(np.float64)
        deepest = int(ranks.max(initial=0))
        return _prefix_sums(self, max(10, deepest.bit_length()))[ranks]


NO_DISCOUNT: Final = Discount(base=math.inf)
MICROSOFT: Final = Discount(base=2.0, shift=1)


@lru_cache(maxsize=8)
def _prefix_sums(discount: Discount, bits: int) -> Scores:
    weights = discount.at(np.arange(1.0, 2.0**bits))
    return np.concatenate(([0.0], np.cumsum(weights)))
