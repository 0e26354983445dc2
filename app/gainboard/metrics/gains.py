"""Gain settings, the gain of each relevance level, and discounts, the weight of a gain at each rank."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadGains
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Number

FORMS: Final = (
    "a ratio with one value per level, highest level first (3:2:1), a ratio inside adjust(...), linear, exp or flat"
)
# The product of a gain and a parameter, of which none is larger, is finite. That of two gains is not 0.
_SMALLEST, _LARGEST = 1e-100, 1e100
_RULES: Final[Mapping[str, Callable[[int], float]]] = {
    "linear": float,
    "exp": lambda level: 2.0**level - 1.0,
    "flat": lambda level: 1.0,
}


@dataclass(frozen=True, slots=True)
class GainSetting:
    """A gain for each relevance level of one scale.

    `values` are the gains of levels 1, 2, ..., h, before adjustment. The gain of level 0 is 0. `label` is the canonical
    text, from which `parse_gains` makes an equal setting.
    """

    label: str
    values: tuple[float, ...]
    adjusted: bool = False

    def __hash__(self) -> int:
        return hash(self.label)

    @property
    def highest(self) -> float:
        """The gain of the scale's highest level, before adjustment. ERR and ADM scale gains by it."""
        return self.values[-1]

    def at(self, level: int) -> float:
        """Return the gain of a level, before adjustment. Settings that are rules, such as `exp`, have it for any level.

        Raises BadGains if the setting has no gain for the level.
        """
        if self.label in _RULES:
            return _RULES[self.label](level)
        if level > len(self.values):
            raise BadGains(
                f"gains={self.label} has no gain for level {level}: its highest level is {len(self.values)}. "
                "Use linear, exp or flat"
            )
        return self.values[level - 1]

    def by_class(self, counts: NDArray[np.int64], rel: int) -> NDArray[np.float64]:
        """Return the gain of each level: float64 [1, h+1], or [c, h+1] with adjustment. Gains below level `rel` are 0.

        `counts` int64 [c, h+1] is the number of documents at each level in each class of topics. With adjustment, the
        gain g(X) of level X becomes g(X) - R(X)/R * (g(X) - g(X-1)), so that levels with many documents are worth
        less. R(X) is the number of documents at level X, and R is the number of relevant documents. If all relevant
        documents are at one level, g(X) stays as it is (Sakai, Average gain ratio, SIGIR 2003).
        """
        gains = np.zeros((1, counts.shape[1]))
        gains[0, rel:] = self.values[rel - 1 :]
        if not self.adjusted:
            return gains
        total = counts[:, rel:].sum(axis=1, keepdims=True)
        share = counts / np.maximum(total, 1)
        below = np.concatenate((np.zeros((1, 1)), gains[:, :-1]), axis=1)
        return np.asarray(np.where(counts == total, gains, gains - share * (gains - below)))


FLAT: Final = GainSetting("1", (1.0,))
"""The setting of a scale with one level above 0. Metrics without gains are read with it."""


def linear_ratio(highest_level: int) -> str:
    """Return the usual setting of a scale, such as 3:2:1 for three levels: the gain of a level is its number."""
    return ":".join(map(str, range(highest_level, 0, -1)))


def steep(highest_level: int) -> str:
    """Return the steep setting of the papers for three levels, 10:5:1, and for other scales `exp`, which is similar."""
    return "10:5:1" if highest_level == 3 else "exp"


# Clients choose the text, so the number of settings must be bounded.
@lru_cache(maxsize=256)
def parse_gains(text: str, highest_level: int) -> GainSetting:
    """Return the gain setting that `text` describes, on a scale of levels 0 to `highest_level` (>= 1).

    Raises BadGains if `text` is not a gain setting, if its number of values is not the number of levels above 0, if a
    value is out of range, or if a higher level has a lower value than the level below.
    """
    text = text.strip()
    if text in _RULES:
        return GainSetting(text, tuple(_RULES[text](level) for level in range(1, highest_level + 1)))
    adjusted = re.fullmatch(r"adjust\((.*)\)", text)
    parts = (adjusted[1] if adjusted else text).split(":")
    ratio = [value for part in parts if (value := read_number(part)) is not None]
    if len(ratio) < len(parts):
        raise BadGains(f"gains={text} is not a gain setting. Use {FORMS}")
    if len(ratio) != highest_level:
        raise BadGains(
            f"gains={text} has {len(ratio)} values, but there are {highest_level} levels above level 0. "
            f"Give one value per level, such as {linear_ratio(highest_level)}"
        )
    if any(higher < lower for higher, lower in pairwise(ratio)):
        raise BadGains(
            f"gains={text} gives a higher level a lower value. Write the value of the highest level first, "
            f"such as {linear_ratio(highest_level)}"
        )
    if any(value < 0 or (value and not _SMALLEST <= value <= _LARGEST) for value in ratio):
        raise BadGains(f"gains={text}: each value must be 0 or between {_SMALLEST:g} and {_LARGEST:g}")
    label = ":".join(format_number(value) for value in ratio)
    values = tuple(reversed(ratio))
    return GainSetting(f"adjust({label})", values, adjusted=True) if adjusted else GainSetting(label, values)


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """Return the number in `text`, or None. `inf`, `nan`, `1_000` and digits of other scripts are not accepted."""
    return float(text) + 0.0 if _NUMBER.fullmatch(text) else None  # adding 0 makes -0 a plain 0


def format_number(value: float) -> str:
    """Return the shortest text that reads back as `value`. Whole numbers are written without `.0`."""
    return repr(float(value)).removesuffix(".0").replace("e+", "e")


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
        if deepest < _SHALLOW:
            return self.weights(deepest).take(ranks)
        logs = np.fromiter(map(math.log, (ranks + self.shift).ravel().tolist()), np.float64)
        return self._of(logs.reshape(ranks.shape))

    def weights(self, deepest: int) -> Scores:
        """Return the weights of ranks 0, 1, ..., `deepest`: float64 [deepest + 1]. Rank 0 has weight 0."""
        # Tables have 1,024 ranks or a higher power of two, so that requests to many depths share them.
        return _weights(self, max(10, deepest.bit_length()))[: deepest + 1]

    def sums(self, deepest: int) -> Scores:
        """Return the sums of the weights of the first 0, 1, ..., `deepest` ranks: float64 [deepest + 1]."""
        return _sums(self, max(10, deepest.bit_length()))[: deepest + 1]

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
    """Return the logarithms of 0 (taken as 1), 1, 2, ..., 2**bits - 1: float64 [2**bits]."""
    # From `math`, because NumPy's logarithms differ between processors: one table for all ways of computing a score.
    return np.fromiter((math.log(max(1, rank)) for rank in range(1 << bits)), np.float64)
