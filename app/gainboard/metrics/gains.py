"""Gain settings: what each relevance level is worth."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadGains
from gainboard.metrics.numbers import format_number, read_number

FORMS: Final = "a ratio with one value a level, highest level first (3:2:1), adjust(...) around one, linear or exp"
_SMALLEST, _LARGEST = 1e-100, 1e100
_RULES: Final[Mapping[str, Callable[[int], float]]] = {"linear": float, "exp": lambda level: 2.0**level - 1.0}


@dataclass(frozen=True, slots=True)
class GainSetting:
    """A gain value for each relevance level of one scale.

    `values` are the gains of levels 1, 2, ..., h as they are before any adjustment; level 0 is worth nothing.
    `label` is the canonical text, from which `parse_gains` makes an equal setting.
    """

    label: str
    values: tuple[float, ...]
    adjusted: bool = False

    def __hash__(self) -> int:
        return hash(self.label)

    @property
    def highest(self) -> float:
        """The gain of the scale's highest level, without adjustment: what ERR, RBP and ADM divide by."""
        return self.values[-1]

    def at(self, level: int) -> float:
        """Return the gain of a level, which may lie beyond the scale where the setting is a rule.

        Raises BadGains where the setting says nothing of the level.
        """
        if self.label in _RULES:
            return _RULES[self.label](level)
        if level > len(self.values):
            raise BadGains(
                f"gains={self.label} gives no gain of level {level}; its highest level is {len(self.values)}"
            )
        return self.values[level - 1]

    def by_class(self, counts: NDArray[np.int64], rel: int) -> NDArray[np.float64]:
        """Return what each level is worth: float64 [1, h+1], or [c, h+1] where topics differ; 0 below level `rel`.

        `counts` int64 [c, h+1] holds the documents that classes of topics have at each level. The adjustment takes
        R(X)/R of the step down to the next level off, so that what is common is worth less (Sakai, Average gain
        ratio, SIGIR 2003).
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
"""The setting of a scale with one level above 0; what metrics without gains are read with."""


def linear_ratio(highest_level: int) -> str:
    """The usual setting of a scale, 3:2:1 for three levels: each is worth one more than the one below."""
    return ":".join(map(str, range(highest_level, 0, -1)))


def steep(highest_level: int) -> str:
    """The setting that comes nearest to the papers' steep one, 10:5:1, which is for three levels."""
    return "10:5:1" if highest_level == 3 else "exp"


@lru_cache(maxsize=256)
def parse_gains(text: str, highest_level: int) -> GainSetting:
    """The gain setting that `text` describes on a scale of levels 0 to `highest_level` (>= 1).

    Raises BadGains if it describes none, has another number of values than the scale has levels above 0,
    or gives a higher level less than a lower one.
    """
    text = text.strip()
    if text in _RULES:
        return GainSetting(text, tuple(_RULES[text](level) for level in range(1, highest_level + 1)))
    adjusted = re.fullmatch(r"adjust\((.*)\)", text)
    ratio = _parse_ratio(adjusted[1] if adjusted else text, text, highest_level)
    label = ":".join(format_number(value) for value in ratio)
    values = tuple(reversed(ratio))
    return GainSetting(f"adjust({label})", values, adjusted=True) if adjusted else GainSetting(label, values)


def _parse_ratio(ratio: str, text: str, highest_level: int) -> tuple[float, ...]:
    values = [read_number(part) for part in ratio.split(":")]
    numbers = [value for value in values if value is not None]
    if len(numbers) < len(values):
        raise BadGains(f"gains={text} is no gain setting; one is {FORMS}")
    _check_ratio(numbers, text, highest_level)
    return tuple(numbers)


def _check_ratio(values: Sequence[float], text: str, levels: int) -> None:
    if len(values) != levels:
        raise BadGains(f"gains={text} has {len(values)} values, but there are {levels} levels of relevance")
    if any(higher < lower for higher, lower in pairwise(values)):
        raise BadGains(f"gains={text} gives a higher level less than a lower one: values are written highest first")
    if any(value < 0 or (value and not _SMALLEST <= value <= _LARGEST) for value in values):
        raise BadGains(f"gains={text}: each value must be 0, or lie between {_SMALLEST:g} and {_LARGEST:g}")
