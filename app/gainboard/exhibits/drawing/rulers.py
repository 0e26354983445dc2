"""Where the numbers of an axis stand, and its ticks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.path import Path
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullFormatter, NullLocator
from numpy.typing import NDArray

from gainboard.exhibits.drawing.looks import SMALL, shown
from gainboard.exhibits.figures import Axis, Numbers

Floats = NDArray[np.float64]

MOST_TICKS = 60
"""Labels of categories along one axis."""
LONGEST_NAME = 36
_FARTHEST = 1e100
_CODES = (Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO)
_STROKES = {
    "x": Path([(-0.5, -0.5), (0.0, 0.5), (0.0, -0.5), (0.5, 0.5)], _CODES),
    "y": Path([(-0.5, -0.5), (0.5, 0.0), (-0.5, 0.0), (0.5, 0.5)], _CODES),
}
"""The two strokes that interrupt an axis before its 0."""
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def floats(numbers: Numbers) -> Floats:
    """The numbers as float64; NaN for None and for what is too far out to have a place."""
    found = np.array([math.nan if number is None else number for number in numbers], dtype=np.float64)
    return np.where(np.abs(found) <= _FARTHEST, found, math.nan)


@dataclass(frozen=True, slots=True)
class Ruler:
    """An axis with its place for 0, None where 0 needs none of its own, and the decade that a log axis begins with."""

    axis: Axis
    zero: float | None
    decade: float

    def places(self, numbers: Numbers) -> Floats:
        """Where they are drawn; NaN for gaps."""
        found = floats(numbers)
        if self.axis.scale == "log":
            found = np.where(found > 0, found, np.where(found == 0, self.zero or math.nan, math.nan))
        return found

    def bounded(self, low: float, high: float) -> tuple[float, float]:
        """The limits, given those that follow from the data."""
        if self.axis.categories:
            low, high = -0.6, len(self.axis.categories) - 0.4
        low_wish, high_wish = self.axis.limits
        if self.axis.scale == "log" and low_wish is not None:
            low_wish = low_wish if low_wish > 0 and self.zero is None else self.zero
        low, high = low if low_wish is None else low_wish, high if high_wish is None else high_wish
        if not low < high:  # all data lie beyond the one limit that was asked for
            return (low / 2, high * 2) if self.axis.scale == "log" else (low - 0.5, low + 0.5)
        # A little more than was asked for, so that marks on the limits are whole.
        step = 0.02 * (math.log(high) - math.log(low)) if self.axis.scale == "log" else 0.02 * (high - low)
        lower, higher = (0 if wish is None else step for wish in (low_wish, high_wish))
        if self.axis.scale == "log":
            return low / math.exp(lower), high * math.exp(higher)
        return low - lower, high + higher

    def dress(self, axes: Axes, which: str, inches: float) -> None:
        """Sets the ticks of the axes' `x` or `y`, whose limits are final, along so many inches."""
        axis = axes.xaxis if which == "x" else axes.yaxis
        if self.axis.categories:
            _dress_categories(axes, which, self.axis.categories, inches)
        elif self.axis.scale == "log":
            low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
            ticks, between = self._log_ticks(low, high)
            axis.set_major_locator(FixedLocator(ticks))
            axis.set_minor_locator(FixedLocator(between))
            axis.set_major_formatter(FuncFormatter(lambda value, _: "0" if value == self.zero else _decimal(value)))
            axis.set_minor_formatter(NullFormatter())
            self._break(axes, which)
        else:
            axis.set_major_locator(MaxNLocator(nbins=max(4, int(inches * 2.2)), steps=[1, 2, 2.5, 5, 10]))

    def _log_ticks(self, low: float, high: float) -> tuple[list[float], list[float]]:
        first = max(low, self.decade * 0.999) if self.zero else low
        powers = [10.0**power for power in range(math.floor(math.log10(first)), math.ceil(math.log10(high)) + 1)]
        decades = [power for power in powers if first <= power <= high * 1.001]
        finer = [power * step for power in powers for step in range(2, 10) if first <= power * step <= high]
        if len(decades) < 3:
            labelled = [tick for tick in finer if f"{tick:e}"[0] in "25"]
            decades, finer = sorted(decades + labelled), [tick for tick in finer if tick not in labelled]
        if len(decades) < 2:
            decades, finer = [tick for tick in MaxNLocator(4).tick_values(first, high) if first <= tick <= high], []
        # Of many decades not even all have their tick.
        step = max(1, math.ceil(len(decades) / 10))
        return ([self.zero] if self.zero else []) + decades[::step], finer if step == 1 else []

    def _break(self, axes: Axes, which: str) -> None:
        if self.zero is None:
            return
        at = math.sqrt(self.zero * self.decade)
        x, y = (at, 0.0) if which == "x" else (0.0, at)
        across = axes.get_xaxis_transform() if which == "x" else axes.get_yaxis_transform()
        # A white patch under the strokes: the axis itself is seen to be interrupted.
        for marker, size, colour in (("s", 3.5, "white"), (_STROKES[which], 7.0, "black")):
            axes.plot([x], [y], marker=marker, markersize=size, markerfacecolor=colour, markeredgecolor=colour,
                      markeredgewidth=0.6, linestyle="none", transform=across, clip_on=False, zorder=9)  # fmt: skip


def ruler(axis: Axis, data: Iterable[Numbers]) -> Ruler:
    """The ruler for an axis along which these numbers are to stand."""
    values = np.concatenate([np.empty(0), *map(floats, data)])
    positive = values[values > 0]
    if axis.scale != "log" or not positive.size:
        return Ruler(axis, 0.1 if axis.scale == "log" and (values == 0).any() else None, 1.0)
    decade = 10.0 ** math.floor(math.log10(positive.min()) + 1e-9)
    return Ruler(axis, decade / 4 if (values == 0).any() else None, decade)


def _dress_categories(axes: Axes, which: str, categories: Iterable[str], inches: float) -> None:
    names = [shown(name, LONGEST_NAME) for name in categories]
    step = math.ceil(len(names) / MOST_TICKS)
    axis = axes.xaxis if which == "x" else axes.yaxis
    size = min(SMALL, max(4.5, 60 * inches / len(names[::step])))
    axis.set_ticks(range(0, len(names), step), labels=names[::step], fontsize=size)
    axis.set_minor_locator(FixedLocator(range(len(names))) if step > 1 else NullLocator())
    longest = max(map(len, names)) * size * 0.62 / 72
    if which == "x" and (longest + 0.08) * len(names[::step]) > inches:
        lean = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(names) <= 12 else {"rotation": 90}
        for label in axis.get_ticklabels():
            label.update(lean)


def _decimal(value: float) -> str:
    mantissa, power = f"{value:.0e}".split("e")
    if -4 <= int(power) <= 4:
        return f"{value:.10g}"
    factor = "" if mantissa == "1" else f"{mantissa}·"
    return f"{factor}10{str(int(power)).translate(_SUPERSCRIPTS)}"
