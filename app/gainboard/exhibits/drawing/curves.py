"""Panels of curves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize

from gainboard.exhibits.drawing.axes import Floats, drawable, floats, name_ticks, room_of_names
from gainboard.exhibits.drawing.looks import GREY, SMALL, CurveLook, shown
from gainboard.exhibits.figures import Axis, HeatMap, Panel, Reference, Series

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
    if series.style == "intervals":
        axes.plot(x, y, color=look.colour, linewidth=1.4, alpha=0.5, solid_capstyle="round", zorder=2)
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


_MOST_READABLE = 20
"""The most rows or columns whose numbers can be read; larger matrices have shades only."""
_MOST_DRAWN = 64
"""The most rows or columns that are drawn cell by cell; larger matrices are one picture."""
_SHADES = "YlGnBu"  # the lightness always falls: greater is darker without colour, too


def size_of_heat_map(heat_map: HeatMap) -> tuple[float, float]:
    """Return width and height in inches of the matrix with its names and the bar of its shades."""
    width, height = _size_of_cells(heat_map)
    return width + room_of_names(heat_map.rows) + 1.0, height + room_of_names(heat_map.columns) + 0.4


def _size_of_cells(heat_map: HeatMap) -> tuple[float, float]:
    most = max(len(heat_map.columns), len(heat_map.rows))
    # Small matrices have larger cells, so that they are as high as the bar with its title.
    cell = max(0.36, 1.2 / most) if most <= _MOST_READABLE else max(0.02, min(0.25, 6.2 / most))
    return cell * len(heat_map.columns), cell * len(heat_map.rows)


def draw_heat_map(heat_map: HeatMap, axes: Axes, alike: Iterable[HeatMap]) -> None:
    """Draw the matrix, first row on top, with a bar that explains its shades: one bar for all maps that are `alike`."""
    values = np.array([floats(row) for row in heat_map.values])
    norm = _norm(np.concatenate([floats(row) for each in alike for row in each.values]), heat_map.scale)
    cells = _draw_cells(axes, values, norm)
    if max(values.shape) <= _MOST_READABLE:
        _print_values(axes, values, norm, heat_map.digits)
    name_ticks(axes, "x", heat_map.columns)
    name_ticks(axes, "y", heat_map.rows)
    axes.tick_params(which="both", length=0)
    axes.grid(False)
    axes.set_title(shown(heat_map.title))
    axes.set_aspect("equal")
    # an axes beside the matrix would be as high as the page
    width, height = _size_of_cells(heat_map)
    bar_height = min(1.0, 3.0 / height)
    bar = axes.inset_axes((1 + 0.1 / width, 1 - bar_height, 0.12 / width, bar_height))
    Colorbar(bar, cells, label=shown(heat_map.scale.heading))


def _norm(values: Floats, scale: Axis) -> Normalize:
    defined = values[np.isfinite(values)]
    low, high = scale.limits
    low = low if low is not None else float(defined.min(initial=math.inf))
    high = high if high is not None else float(defined.max(initial=-math.inf))
    if not low < high:
        low, high = (low - 0.5, low + 0.5) if math.isfinite(low) else (0.0, 1.0)
    return Normalize(low, high)


def _draw_cells(axes: Axes, values: Floats, norm: Normalize) -> ScalarMappable:
    rows, columns = values.shape
    most = max(rows, columns)
    masked = np.ma.masked_invalid(values)
    cells: ScalarMappable
    if most <= _MOST_DRAWN:
        edges = np.arange(columns + 1) - 0.5, np.arange(rows + 1) - 0.5
        width = 0.5 if most <= _MOST_READABLE else 0.2
        cells = axes.pcolormesh(*edges, masked, cmap=_SHADES, norm=norm, edgecolors="white", linewidth=width)
    else:
        cells = axes.imshow(masked, cmap=_SHADES, norm=norm, interpolation="nearest", aspect="auto")
    axes.set_facecolor("0.93")
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    return cells


def _print_values(axes: Axes, values: Floats, norm: Normalize, digits: int) -> None:
    lightness = mpl.colormaps[_SHADES](norm(values))[..., :3] @ (0.299, 0.587, 0.114)
    for (row, column), value in np.ndenumerate(values):
        text = "–" if math.isnan(value) else f"{value:.{digits}f}".replace("-", "−")
        is_dark = lightness[row, column] < 0.5 and not math.isnan(value)
        size = min(SMALL, 32 / len(text))
        axes.text(column, row, text, ha="center", va="center", fontsize=size, color="white" if is_dark else "black")
