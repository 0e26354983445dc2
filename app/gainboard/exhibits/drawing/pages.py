"""Figures on pages: panels in a grid and a legend outside it, laid out by Matplotlib's constrained layout."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any, Literal, NamedTuple
from xml.sax.saxutils import escape

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Page
from matplotlib.lines import Line2D

from gainboard.exhibits.drawing.panels import (
    MANY,
    MOST_TICKS,
    RING,
    SETTINGS,
    CurveLook,
    Which,
    draw_curves,
    draw_heat_map,
    drop_controls,
    fit_text,
    looks_of,
    room_of_names,
    set_limits,
    set_scale,
    size_of_heat_map,
)
from gainboard.exhibits.figures import Axis, Figure, HeatMap, Panel

# Inches. They determine the size of the page; Matplotlib arranges the parts on it.
_SIZES = {1: (5.2, 3.6), 2: (3.5, 2.9), 3: (2.7, 2.6)}
"""The size of a panel with its labels, by the number of panels in a row."""
_HIGHER = 1.25
"""The factor by which panels of many curves are higher."""
_LINE, _CHARACTER = 0.16, 0.058
_HANDLE = 0.55
"""The width of a legend's column besides its text."""
_MOST_BELOW, _MOST_BESIDE = 6, 30
"""The lines of a single panel's legend. More than the first number go beside the panel, more than the second below it
again.
"""


class _Plot(NamedTuple):
    panel: Panel
    axes: Axes


def image_bytes(figure: Figure, form: Literal["svg", "png"]) -> bytes:
    """Return the figure as an image. It changes settings of the process, so only one thread at a time may call it."""
    with mpl.rc_context():
        # Settings of a user, in a file of Matplotlib, must not change figures.
        mpl.rcdefaults()
        mpl.rcParams.update(SETTINGS)  # type: ignore[arg-type]  # a literal of all names
        out = BytesIO()
        if form == "png":
            metadata: dict[str, Any] = {
                "Title": figure.name,
                "Description": drop_controls(figure.caption),
                "Software": None,
            }
            _page(figure).savefig(out, format="png", dpi=200, bbox_inches="tight", pad_inches=0.05, metadata=metadata)
            return out.getvalue()
        metadata = {
            "Title": figure.name,
            "Description": drop_controls(figure.caption),
            "Keywords": [drop_controls(label) for label in figure.labels],
            "Creator": "Gainboard",
            # None leaves the date out: the same figure has the same bytes at any time.
            "Date": None,
        }
        _page(figure).savefig(out, format="svg", bbox_inches="tight", pad_inches=0.05, metadata=metadata)
    # The description is beside the title, where screen readers look for it.
    title = b"</title>\n"
    description = f" <desc>{escape(drop_controls(figure.caption))}</desc>\n"
    return out.getvalue().replace(title, title + description.encode(), 1)


def _page(figure: Figure) -> Page:
    looks = looks_of(figure.labels)
    in_row = 2 if len(figure.panels) == 4 else min(len(figure.panels), 3)
    rows = math.ceil(len(figure.panels) / in_row)
    sizes = [_size(panel, figure, in_row) for panel in figure.panels]
    width, height = max(width for width, _ in sizes), max(height for _, height in sizes)
    page = Page(figsize=(in_row * width, rows * height), layout="constrained")
    plots: list[_Plot] = []
    for number, panel in enumerate(figure.panels):
        axes = page.add_subplot(rows, in_row, number + 1, label=str(number))
        if isinstance(panel, HeatMap):
            alike = [other for other in figure.panels if isinstance(other, HeatMap) and other.scale == panel.scale]
            draw_heat_map(panel, axes, alike)
        else:
            plots.append(_Plot(panel, axes))
    _draw_plots(plots, in_row, looks)
    _add_legend(page, figure, looks)
    return page


def _size(panel: Panel | HeatMap, figure: Figure, in_row: int) -> tuple[float, float]:
    if isinstance(panel, HeatMap):
        return size_of_heat_map(panel)
    width, height = _SIZES[in_row]
    names = panel.x.categories
    wide = 0.115 * min(len(names), MOST_TICKS) + 0.6
    tall = 0.15 * min(len(panel.y.categories), MOST_TICKS) + 0.8
    higher = max(height * (_HIGHER if len(figure.labels) > MANY else 1), tall)
    return max(width, wide) + room_of_names(panel.y.categories), higher + room_of_names(names)


def _draw_plots(plots: Sequence[_Plot], in_row: int, looks: Mapping[str, CurveLook]) -> None:
    # Equal axes are shared before the scale is set, because a scale does not reach axes that are shared later.
    for number, (panel, axes) in enumerate(plots):
        before = plots[:number]
        if first := next((other for alike, other in before if alike.x == panel.x), None):
            axes.sharex(first)
        if first := next((other for alike, other in before if alike.y == panel.y), None):
            axes.sharey(first)
    for panel, axes in plots:
        _set_scale(axes, "x", panel.x, [other for other, _ in plots if other.x == panel.x])
        _set_scale(axes, "y", panel.y, [other for other, _ in plots if other.y == panel.y])
        draw_curves(panel, axes, looks)
    for number, (panel, axes) in enumerate(plots):
        set_limits(axes, "x", panel.x)
        set_limits(axes, "y", panel.y)
        # neighbouring panels with the same y need its title only once
        if number % in_row and plots[number - 1].panel.y == panel.y:
            axes.set_ylabel("")


def _set_scale(axes: Axes, which: Which, axis: Axis, panels: Sequence[Panel]) -> None:
    numbers = [series.x if which == "x" else series.y for panel in panels for series in panel.series]
    references = [line.value for panel in panels for line in panel.references if line.of == which]
    set_scale(axes, which, axis, [*numbers, references])


def _add_legend(page: Page, figure: Figure, looks: Mapping[str, CurveLook]) -> None:
    """Name the curves beside a single panel or below it, never over the curves. The page grows accordingly."""
    styles, handles = {series.label: series.style for series in reversed(figure.series)}, list[Line2D]()
    for label, look in looks.items():
        if styles[label] == "intervals":
            handle = Line2D([], [], label=fit_text(label), color=look.colour, linewidth=1.4, alpha=0.5)
        else:
            line = look.line() | ({"linestyle": "none"} if styles[label] == "points" else {})
            handle = Line2D([], [], label=fit_text(label), **line, **look.marks())
        handles.append(handle)
    if any(series.highlighted for series in figure.series):
        handles.append(Line2D([], [], label=fit_text(figure.highlight), **RING))
    if not handles:
        return
    style: dict[str, Any] = {"handles": handles, "frameon": False, "handlelength": 3.2}
    lengths = [len(str(handle.get_label())) for handle in handles]
    width, height = page.get_size_inches()
    if len(figure.panels) == 1 and _MOST_BELOW < len(handles) <= _MOST_BESIDE:
        beside = _HANDLE + _CHARACTER * max(lengths)
        page.set_size_inches(width + beside, max(height, _LINE * (len(handles) + 1)))
        page.legend(loc="outside right upper", **style)
    else:
        columns = legend_columns(lengths, width)
        page.set_size_inches(width, height + _LINE * (math.ceil(len(handles) / columns) + 1))
        page.legend(loc="outside lower center", ncols=columns, **style)


def legend_columns(lengths: Sequence[int], width: float) -> int:
    """Return the number of columns of the legend: the fewest lines, and then the fewest columns."""
    for lines in range(1, len(lengths) + 1):
        columns = [lengths[start : start + lines] for start in range(0, len(lengths), lines)]
        if sum(_HANDLE + _CHARACTER * max(column) for column in columns) <= width:
            return len(columns)
    return 1
