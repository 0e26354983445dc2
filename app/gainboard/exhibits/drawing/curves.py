"""Panels of curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gainboard.exhibits.drawing.axes import Floats, drawable
from gainboard.exhibits.drawing.looks import GREY, SMALL, CurveLook, shown
from gainboard.exhibits.figures import Panel, Reference, Series

RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8.5,
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "linestyle": "none",
}
"""The look of a highlighted point."""

_MOST_MARKED, _MARKED_OF_MANY, _MARKED_ON_LINE = 40, 15, 10
_MOST_RINGS, _SMALL_RING = 12, {"markersize": 6.5, "markeredgewidth": 0.8}
_DASH = (0, (4, 2))


def draw_curves(panel: Panel, axes: Axes, looks: Mapping[str, CurveLook]) -> None:
    """Draw the curves and references of a panel whose scales are set."""
    rings = RING | (_SMALL_RING if sum(len(each.highlighted) for each in panel.series) > _MOST_RINGS else {})
    for series in panel.series:
        _draw(axes, series, drawable(series.x, panel.x), drawable(series.y, panel.y), looks[series.label], rings)
    for of in ("x", "y"):
        references = [each for each in panel.references if each.of == of and math.isfinite(each.value)]
        for number, reference in enumerate(sorted(references, key=lambda each: each.value)):
            _draw_reference(axes, reference, 0.5 if len(references) == 1 else number / (len(references) - 1))
    if panel.has_diagonal:
        axes.axline((0, 0), slope=1, color=GREY, linestyle=_DASH, linewidth=0.8, zorder=1.5)
    axes.set_xlabel(shown(panel.x.heading))
    axes.set_ylabel(shown(panel.y.heading))
    axes.set_title(shown(panel.title))


def _draw_reference(axes: Axes, reference: Reference, part: float) -> None:
    """Draw a dashed line and write its name at its end, outside the frame.

    The name is beside the line, or before or after it if that separates it from near neighbours. `part` is 0 for the
    first of several lines and 1 for the last.
    """
    side = 0 if part == 0 else 2 if part == 1 else 1
    style: dict[str, Any] = {"color": GREY, "linestyle": _DASH, "linewidth": 0.8, "zorder": 1.5}
    text: dict[str, Any] = {
        "fontsize": SMALL - 0.5,
        "color": "0.25",
        "textcoords": "offset points",
        "annotation_clip": False,
    }
    if reference.of == "y":
        axes.axhline(reference.value, **style)
        text |= {"xycoords": axes.get_yaxis_transform(), "xytext": (3, 0), "va": ("top", "center", "bottom")[side]}
        axes.annotate(shown(reference.label, 24), (1, reference.value), **text)
    else:
        axes.axvline(reference.value, **style)
        text |= {"xycoords": axes.get_xaxis_transform(), "xytext": (0, 3), "ha": ("right", "center", "left")[side]}
        axes.annotate(shown(reference.label, 24), (reference.value, 1), rotation=90, va="bottom", **text)


def _draw(axes: Axes, series: Series, x: Floats, y: Floats, look: CurveLook, rings: Mapping[str, Any]) -> None:
    if series.style == "bars":
        axes.bar(x, y, width=0.8, color=look.colour, zorder=2)
        return
    line = look.line() | ({"linestyle": "none"} if series.style == "points" else {})
    drawstyle = "steps-post" if series.style == "step" else "default"
    ringed = list(series.highlighted)
    # A ring around a mark shows which curve it belongs to.
    marked = sorted({*_marked(np.isfinite(x) & np.isfinite(y), series.style, look.number), *ringed})
    # Marks and line are separate artists, so that marks can be drawn above all lines.
    axes.plot(x, y, zorder=2 + 0.001 * look.number, drawstyle=drawstyle, **line)
    axes.plot(x[marked], y[marked], linestyle="none", zorder=3 + 0.001 * look.number, **look.marks())
    axes.plot(x[ringed], y[ringed], zorder=4, **rings)


def _marked(defined: np.ndarray[tuple[int], np.dtype[np.bool_]], style: str, number: int) -> list[int]:
    """Return the points that get a mark: all if they are few, else some, which differ from curve to curve."""
    points = np.flatnonzero(defined)
    most = _MARKED_ON_LINE if style in ("line", "step") else _MARKED_OF_MANY
    if style == "points" or points.size <= (most if style in ("line", "step") else _MOST_MARKED):
        return points.tolist()
    step = math.ceil(points.size / most)
    # A point between two gaps has no line. Without a mark it would be invisible.
    framed = np.concatenate(([False], defined, [False]))
    lonely = np.flatnonzero(defined & ~framed[:-2] & ~framed[2:])
    return sorted({*points[number * 7 % step :: step].tolist(), *lonely.tolist()})
