"""Axes of the small charts that are part of a page's own table, in percent of their width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class ChartScale:
    """A linear axis from `low` to `high` with round ticks."""

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, values: Iterable[float | None], ticks: int = 8) -> ChartScale:
        """Return an axis with about so many steps, each 1, 2 or 5 times a power of ten, which holds all values."""
        known = [value for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
        low, high = min(known), max(known)
        if low == high:  # an axis about one value begins at zero
            low, high = (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
        raw = (high - low) / ticks
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
        return cls(step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9), step)

    @property
    def ticks(self) -> list[float]:
        """The values at the ticks."""
        return [self.low + self.step * number for number in range(round((self.high - self.low) / self.step) + 1)]

    @property
    def digits(self) -> int:
        """The decimal places that tell the ticks apart."""
        return max(0, -math.floor(math.log10(self.step) + 1e-9))

    def at(self, value: float) -> str:
        """Return where a value is, as a share of the width."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return f"{100 * min(max(share, 0), 1):.2f}%"
