"""Panels of curves."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from gainboard.exhibits.drawing.looks import DOTS, GREY, SMALL, Look, shown
from gainboard.exhibits.drawing.rulers import Floats, Ruler
from gainboard.exhibits.figures import Panel, Reference, Series

RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8.5,
    "markerfacecolor": "none",
    "markeredgecolor": "black",
    "linestyle": "none",
}
"""How a highlighted point looks."""

_MOST_MARKED, _MARKED_OF_MANY, _MARKED_ON_LINE = 40, 15, 10
_MOST_RINGS, _SMALL_RING = 12, {"markersize": 6.5, "markeredgewidth": 0.8}
_DASH = (0, (4, 2))


def draw_curves(panel: Panel, axes: Axes, x: Ruler, y: Ruler, looks: Mapping[str, Look]) -> None:
    """Draws everything but limits, ticks and the labels of references, which wait until limits are final."""
    axes.set_xscale(panel.x.scale)
    axes.set_yscale(panel.y.scale)
    rings = RING | (_SMALL_RING if sum(len(each.highlighted) for each in panel.series) > _MOST_RINGS else {})
    for series in panel.series:
        _draw(axes, series, x.places(series.x), y.places(series.y), looks[series.label], rings)
    for reference in panel.references:
        across = axes.axhline if reference.of == "y" else axes.axvline
        across(
            (y if reference.of == "y" else x).places([reference.value])[0],
            color=GREY,
            linestyle=_DASH,
            linewidth=0.8,
            zorder=1.5,
        )
    axes.set_xlabel(shown(panel.x.heading))
    axes.set_ylabel(shown(panel.y.heading))
    axes.set_title(shown(panel.title))


def label_references(panel: Panel, axes: Axes, x: Ruler, y: Ruler) -> None:
    """Names each reference at its end, outside the frame; names that would overlap are moved apart."""
    for of, scale in (("y", y), ("x", x)):
        chosen = [reference for reference in panel.references if reference.of == of]
        places = scale.places([reference.value for reference in chosen])
        last = -math.inf
        for index in np.argsort(places).tolist():
            point = (1.0, places[index]) if of == "y" else (places[index], 1.0)
            last = _label(axes, chosen[index], point, last)


def _label(axes: Axes, reference: Reference, point: tuple[float, float], last: float) -> float:
    is_y = reference.of == "y"
    across = axes.get_yaxis_transform() if is_y else axes.get_xaxis_transform()
    there = float(across.transform(point)[1 if is_y else 0]) * 72 / DOTS  # points
    moved = max(there, last + SMALL + 1.5)
    axes.annotate(
        shown(reference.label, 24), point, xycoords=across, textcoords="offset points", annotation_clip=False,
        xytext=(3, moved - there) if is_y else (moved - there, 3), fontsize=SMALL - 0.5, color="0.25",
        va="center" if is_y else "bottom", ha="left" if is_y else "center", rotation=0 if is_y else 90,
    )  # fmt: skip
    return moved


def _draw(axes: Axes, series: Series, x: Floats, y: Floats, look: Look, rings: Mapping[str, Any]) -> None:
    line = look.line() | ({"linestyle": "none"} if series.style == "points" else {})
    drawstyle = "steps-post" if series.style == "step" else "default"
    ringed = list(series.highlighted)
    # Around a mark, a ring is seen to be that curve's.
    marked = sorted({*_marked(np.isfinite(x) & np.isfinite(y), series.style, look.number), *ringed})
    # Marks and line are two things, so that a mark is as far as possible above all lines.
    axes.plot(x, y, zorder=2 + 0.001 * look.number, drawstyle=drawstyle, **line)
    axes.plot(x[marked], y[marked], linestyle="none", zorder=3 + 0.001 * look.number, **look.marks())
    axes.plot(x[ringed], y[ringed], zorder=4, **rings)


def _marked(defined: np.ndarray[tuple[int], np.dtype[np.bool_]], style: str, number: int) -> list[int]:
    """Which points get a mark: all while they are few, else some, which differ from curve to curve."""
    points = np.flatnonzero(defined)
    most = _MARKED_ON_LINE if style in ("line", "step") else _MARKED_OF_MANY
    if style == "points" or points.size <= (most if style in ("line", "step") else _MOST_MARKED):
        return points.tolist()
    step = math.ceil(points.size / most)
    # A point between two gaps has no line: unmarked, it would not be seen.
    framed = np.concatenate(([False], defined, [False]))
    lonely = np.flatnonzero(defined & ~framed[:-2] & ~framed[2:])
    return sorted({*points[number * 7 % step :: step].tolist(), *lonely.tolist()})
