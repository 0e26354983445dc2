"""Scales and ticks of axes. Matplotlib sets them, except the place of 0 on a log axis, and names."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis as DrawnAxis
from matplotlib.path import Path
from matplotlib.scale import SymmetricalLogScale
from matplotlib.ticker import FixedLocator, Locator, LogLocator, MaxNLocator
from numpy.typing import NDArray

from gainboard.exhibits.drawing.looks import shown
from gainboard.exhibits.figures import Axis, Numbers

Floats = NDArray[np.float64]
Which = Literal["x", "y"]

MOST_TICKS = 60
"""The most names along one axis. Of more names, every second, third, ... is written."""
_LONGEST_NAME = 36
_MOST_ACROSS = 24
"""The most characters of names side by side in the narrowest panel; more are turned."""
_FARTHEST = 1e100
_PLACE_OF_ZERO = 0.6
"""The distance of 0 from the first decade of a log axis, in decades."""
_CODES = (Path.MOVETO, Path.LINETO, Path.MOVETO, Path.LINETO)
_STROKES = {
    "x": Path([(-0.5, -0.5), (0.0, 0.5), (0.0, -0.5), (0.5, 0.5)], _CODES),
    "y": Path([(-0.5, -0.5), (0.5, 0.0), (-0.5, 0.0), (0.5, 0.5)], _CODES),
}
"""The two strokes that interrupt an axis before its 0."""


def floats(numbers: Numbers) -> Floats:
    """Return the numbers as float64, with NaN for None and for numbers that are too large to be drawn."""
    found = np.array([math.nan if number is None else number for number in numbers], dtype=np.float64)
    return np.where(np.abs(found) <= _FARTHEST, found, math.nan)


def drawable(numbers: Numbers, axis: Axis) -> Floats:
    """Return the numbers with NaN for those that the axis does not show."""
    found = floats(numbers)
    return np.where(found < 0, math.nan, found) if axis.scale == "log" else found


def set_scale(axes: Axes, which: Which, axis: Axis, numbers: Iterable[Numbers]) -> None:
    """Give the `x` or `y` of the axes its scale and ticks, for these numbers."""
    if axis.categories:
        name_ticks(axes, which, axis.categories)
    if axis.counts:
        _drawn(axes, which).set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
    if axis.scale == "log":
        _set_log_scale(axes, which, np.concatenate([np.empty(0), *(drawable(some, axis) for some in numbers)]))


def set_limits(axes: Axes, which: Which, axis: Axis) -> None:
    """Set the requested limits, with a little room beyond them, so that marks on the limits are complete."""
    low, high = (-0.5, len(axis.categories) - 0.5) if axis.categories else axis.limits
    scale = _drawn(axes, which).get_scale()
    if low is not None and ((low <= 0 and scale == "log") or scale == "symlog"):
        low = None
    seen = _drawn(axes, which).get_view_interval()
    # Room is added on the paper's scale, where logarithms are evenly spaced.
    transform = _drawn(axes, which).get_transform()
    wished = np.array([seen[0] if low is None else low, seen[1] if high is None else high])
    first, last = transform.transform(wished)
    if not first < last:  # all data are outside the only limit that was given
        first, last = (last - 1, last) if low is None else (first, first + 1)
    room = 0.02 * (last - first)
    limits = np.array([first - room * (low is not None), last + room * (high is not None)])
    axes.set(**{f"{which}lim": transform.inverted().transform(limits)})


def name_ticks(axes: Axes, which: Which, names: Sequence[str]) -> None:
    """Name the whole numbers from 0 along the `x` or `y` of the axes."""
    step = math.ceil(len(names) / MOST_TICKS)
    labels = [shown(name, _LONGEST_NAME) for name in names[::step]]
    axis = _drawn(axes, which)
    axis.set_ticks(range(0, len(names), step), labels=labels)
    axis.set_minor_locator(FixedLocator(range(len(names) if step > 1 else 0)))
    if which == "x" and len(labels) * max(map(len, labels)) > _MOST_ACROSS:
        lean = {"rotation": 45, "ha": "right", "rotation_mode": "anchor"} if len(labels) <= 12 else {"rotation": 90}
        for label in axis.get_ticklabels():
            label.update(lean)


def room_of_names(names: Sequence[str]) -> float:
    """Return the inches by which the page grows for the longest of the names."""
    return 0.06 * min(_LONGEST_NAME, max(map(len, names), default=0))


class _FromZero(Locator):
    """The ticks of a log axis from its first decade, and one at 0."""

    def __init__(self, decade: float, logarithmic: LogLocator) -> None:
        self._decade, self._logarithmic = decade, logarithmic

    def __call__(self) -> list[float]:
        assert self.axis is not None
        return self.tick_values(*self.axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        ticks = self._logarithmic.tick_values(self._decade, max(vmax, self._decade))
        return [0.0, *(tick for tick in ticks if tick > 0.999 * self._decade)]


def _drawn(axes: Axes, which: Which) -> DrawnAxis:
    return axes.xaxis if which == "x" else axes.yaxis


def _set_log_scale(axes: Axes, which: Which, numbers: Floats) -> None:
    axis, positive = _drawn(axes, which), numbers[numbers > 0]
    low, high = (positive.min(), positive.max()) if positive.size else (0.1, 1.0)
    # If the axis has few decades, 2 and 5 are ticks too.
    ticks = LogLocator(subs=[1.0, 2.0, 5.0] if high < 200 * low else [1.0], numticks=10)
    if (numbers == 0).any():
        # Numbers below the first decade are drawn between it and 0, because the scale overflows beyond some 300
        # decades.
        decade = 10.0 ** math.floor(math.log10(max(low, high * 1e-200)) + 1e-9)
        axes.set(**{f"{which}scale": SymmetricalLogScale(axis, linthresh=decade, linscale=_PLACE_OF_ZERO)})
        axis.set_major_locator(_FromZero(decade, ticks))
        _draw_break(axes, which, decade / 2)
    else:
        axes.set(**{f"{which}scale": "log"})
        axis.set_major_locator(ticks)
    axis.set_major_formatter(lambda value, _: f"{value:g}")
    axis.set_minor_formatter(lambda value, _: "")


def _draw_break(axes: Axes, which: Which, at: float) -> None:
    x, y = (at, 0.0) if which == "x" else (0.0, at)
    across = axes.get_xaxis_transform() if which == "x" else axes.get_yaxis_transform()
    # A white patch under the strokes shows the interruption of the axis itself.
    for marker, size, colour in (("s", 3.5, "white"), (_STROKES[which], 7.0, "black")):
        axes.plot([x], [y], marker=marker, markersize=size, markerfacecolor=colour, markeredgecolor=colour,
                  markeredgewidth=0.6, linestyle="none", transform=across, clip_on=False, zorder=9)  # fmt: skip
