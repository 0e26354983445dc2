"""Heat maps of matrices."""

from __future__ import annotations

import math
from collections.abc import Iterable

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Normalize

from gainboard.exhibits.drawing.axes import Floats, floats, name_ticks, room_of_names
from gainboard.exhibits.drawing.looks import SMALL, shown
from gainboard.exhibits.figures import Axis, HeatMap

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
