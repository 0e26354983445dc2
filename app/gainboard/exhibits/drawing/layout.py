"""Where things stand on a page: panels keep their size, and the page grows with what is around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure as Page
from matplotlib.lines import Line2D
from matplotlib.transforms import Bbox

from gainboard.exhibits.drawing.curves import RING
from gainboard.exhibits.drawing.looks import DOTS, MANY, SMALL, Look, shown
from gainboard.exhibits.figures import Figure, Panel

_GAP = 0.15
"""Inches between things."""
_LINE = 0.16
"""Inches that a line of the legend takes."""
_MOST_BELOW = 6
"""Lines of a legend below a single panel; more stand in a column beside it."""
_MOST_BESIDE = 30
_SIZES = {1: (4.8, 3.2), 2: (3.1, 2.5), 3: (2.3, 2.2)}
"""Inches of a panel by the number of panels in a row."""
_HIGHER = 1.25
"""How much higher panels of many curves are."""


def per_row(figure: Figure) -> int:
    """How many panels stand side by side."""
    number = len(figure.panels)
    return 2 if number == 4 else min(number, 3)


def size_of_panel(panel: Panel, figure: Figure) -> tuple[float, float]:
    """Width and height of a panel of curves, in inches."""
    width, height = _SIZES[per_row(figure)]
    height *= _HIGHER if len(figure.labels) > MANY else 1
    if len(figure.panels) == 1:
        width = min(6.6, max(width, 0.11 * len(panel.x.categories)))
        height = max(height, _LINE * _lines(figure)) if _stands_beside(figure) else height
    return width, height


def place(all_axes: Sequence[Axes], in_row: int) -> None:
    """Moves the panels so that nothing of one touches another; (0, 0) is the first one's upper left corner."""
    top = 0.0
    for first in range(0, len(all_axes), in_row):
        row = all_axes[first : first + in_row]
        around = [(axes.get_position(), _extent(axes)) for axes in row]
        left, upper = 0.0, max(extent.y1 - box.y1 for box, extent in around)
        for axes, (box, extent) in zip(row, around, strict=True):
            left += box.x0 - extent.x0
            axes.set_position((left, top - upper - box.height, box.width, box.height))
            left += extent.x1 - box.x0 + _GAP
        top = min(_extent(axes).y0 for axes in row) - _GAP


def add_legend(page: Page, figure: Figure, looks: Mapping[str, Look]) -> None:
    """Names the curves beside the panels or below them, never over them."""
    handles = _handles(figure, looks)
    if not handles:
        return
    union = Bbox.union([_extent(axes) for axes in page.axes])
    style: dict[str, Any] = {"frameon": False, "handlelength": 3.2, "borderaxespad": 0, "borderpad": 0}
    if _stands_beside(figure):
        top = page.axes[0].get_position().y1
        page.legend(handles=handles, loc="upper left", bbox_to_anchor=(union.x1 + _GAP, top), **style)
        return
    columns = legend_columns([len(str(handle.get_label())) for handle in handles], union.width)
    middle = (page.axes[0].get_position().x0 + max(axes.get_position().x1 for axes in page.axes)) / 2
    page.legend(handles=handles, loc="upper center", bbox_to_anchor=(middle, union.y0 - 0.1), ncols=columns, **style)


def legend_columns(lengths: Sequence[int], width: float) -> int:
    """Into how many columns the legend goes: the fewest lines, and of these the fewest columns."""
    for lines in range(1, len(lengths) + 1):
        starts = range(0, len(lengths), lines)
        if sum(max(lengths[start : start + lines]) * SMALL * 0.6 / 72 + 0.55 for start in starts) <= width:
            return len(starts)
    return 1


def _extent(axes: Axes) -> Bbox:
    """The panel with all its labels, in inches."""
    box = axes.get_tightbbox()
    assert box is not None  # None is for axes that are not shown
    return Bbox(box.get_points() / DOTS)


def _handles(figure: Figure, looks: Mapping[str, Look]) -> list[Line2D]:
    styles = {series.label: series.style for series in reversed(figure.series)}
    handles = [_handle(label, styles[label], look) for label, look in looks.items()]
    if any(series.highlighted for series in figure.series):
        handles.append(Line2D([], [], label=shown(figure.highlight), **RING))
    return handles


def _handle(label: str, style: str, look: Look) -> Line2D:
    line: dict[str, Any] = look.line() | ({"linestyle": "none"} if style == "points" else {})
    return Line2D([], [], label=shown(label), **line, **look.marks())


def _lines(figure: Figure) -> int:
    return len(figure.labels) + bool(figure.highlight)


def _stands_beside(figure: Figure) -> bool:
    return len(figure.panels) == 1 and _MOST_BELOW < _lines(figure) <= _MOST_BESIDE
