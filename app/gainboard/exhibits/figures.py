"""Figures as values: curves and matrices with all their texts, before they are drawn.

In JSON, a table or a figure has all its numbers and texts, and nothing about how they are drawn. A number that is
undefined or infinite is null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gainboard.exhibits.tables import Level, Marked, Share, Table, Value, require_slug, value_of

Style = Literal["line", "line+points", "points", "step", "bars", "intervals"]
Numbers = Sequence[float | None]
"""The numbers of a curve. Those that are None or NaN are gaps: nothing is drawn there, and a line is interrupted."""


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis, and what it shows.

    `limits` that are None follow from the data, and so does a lower limit that a log axis cannot have. A `log` axis
    shows 0, if the data contain it, at a place of its own beyond a break, because an ASL of 0 and beta = 0 are results.
    Negative numbers are gaps there. With `categories`, such as run names, whole numbers count them from 0. An axis that
    `counts` has ticks at whole numbers only.
    """

    title: str
    unit: str = ""
    scale: Literal["linear", "log"] = "linear"
    limits: tuple[float | None, float | None] = (None, None)
    categories: Sequence[str] = ()
    counts: bool = False

    def __post_init__(self) -> None:
        low, high = self.limits
        if low is not None and high is not None and not low < high:
            raise ValueError(
                f"axis {self.title}: the limits {self.limits} are empty; the lower one must be less than the upper one"
            )
        if self.scale == "log" and high is not None and not high > 0:
            raise ValueError(f"axis {self.title}: a log axis must end above 0, not at {high}")

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, slots=True)
class Series:
    """One curve. Series with the same label look alike in all panels and share a line of the legend.

    `line` marks only some points, so that curves can be told apart without colour. `line+points` marks each point while
    they are few. `step` holds each value until the next x. `bars` reach from 0 to each y. `intervals` are
    plain lines without marks, with a gap after each. `highlighted` are the indexes
    of points with a ring.
    """

    label: str
    x: Numbers
    y: Numbers
    style: Style = "line+points"
    highlighted: Sequence[int] = ()

    def __post_init__(self) -> None:
        if len(self.x) != len(self.y):
            raise ValueError(f"series {self.label}: {len(self.x)} x and {len(self.y)} y; give as many of each")
        if any(not 0 <= index < len(self.x) for index in self.highlighted):
            raise ValueError(f"series {self.label}: `highlighted` must be indexes of its {len(self.x)} points")


@dataclass(frozen=True, slots=True)
class Reference:
    """A dashed line across the panel at one value of the axis `of`, such as a significance level."""

    value: float
    label: str
    of: Literal["x", "y"] = "y"


@dataclass(frozen=True, slots=True)
class Panel:
    """Series over two axes. Panels of a figure with equal axes get equal limits.

    `has_diagonal` draws the line of equal x and y.
    """

    x: Axis
    y: Axis
    series: Sequence[Series]
    references: Sequence[Reference] = ()
    title: str = ""
    has_diagonal: bool = False


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A matrix, `values[row][column]`. Cells show their numbers if these can be read.

    `scale` is the meaning of the shades, which are linear; `digits` are the decimal places in the cells. `notes` are
    texts about the rows, one for each if there are any, which a page shows with a cell.
    """

    rows: Sequence[str]
    columns: Sequence[str]
    values: Sequence[Numbers]
    scale: Axis
    digits: int = 2
    title: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        if not self.rows or not self.columns:
            raise ValueError("a heat map needs rows and columns")
        if len(self.values) != len(self.rows) or any(len(row) != len(self.columns) for row in self.values):
            raise ValueError(f"a heat map of {len(self.rows)} x {len(self.columns)} labels needs as many values")


@dataclass(frozen=True, slots=True)
class Figure:
    """One panel, or several side by side with a common legend.

    `name` is a slug, for addresses. The caption is not drawn, but is the drawing's description. `highlight` says in the
    legend what a highlighted point is ("swop with AP"). It is required if there is such a point.
    """

    name: str
    caption: str
    panels: Sequence[Panel | HeatMap]
    highlight: str = ""

    def __post_init__(self) -> None:
        require_slug(self.name)
        if not self.panels:
            raise ValueError(f"figure {self.name} has no panel")
        if not self.highlight and any(series.highlighted for series in self.series):
            raise ValueError(f"figure {self.name}: points are highlighted, so `highlight` must say what they are")

    @property
    def series(self) -> list[Series]:
        return [series for panel in self.panels if isinstance(panel, Panel) for series in panel.series]

    @property
    def labels(self) -> list[str]:
        """The labels of the legend, each once, in order of first appearance."""
        return list(dict.fromkeys(series.label for series in self.series))


Json = dict[str, Any]


def table_as_json(table: Table) -> Json:
    """Return the table.

    `marks` names each marked cell by row and column, from 0, and by its mark's key in `meanings`.
    """
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [
            {"title": column.title, "unit": column.unit, "group": column.group, "section": column.section}
            for column in table.columns
        ],
        "rows": [[_cell(value_of(cell)) for cell in row] for row in table.rows],
        "marks": [
            {"row": number, "column": column, "mark": cell.style}
            for number, row in enumerate(table.rows)
            for column, cell in enumerate(row)
            if isinstance(cell, Marked)
        ],
        "meanings": dict(table.meanings),
        "notes": list(table.notes),
    }


def figure_as_json(figure: Figure) -> Json:
    """Return the figure. A panel with a matrix has `rows`, `columns` and `values`; one with curves has `series`."""
    panels: list[Json] = []
    for panel in figure.panels:
        if isinstance(panel, Panel):
            curves = {
                "title": panel.title,
                "x": _axis(panel.x),
                "y": _axis(panel.y),
                "series": [
                    {
                        "label": series.label,
                        "x": _numbers(series.x),
                        "y": _numbers(series.y),
                        "highlighted": list(series.highlighted),
                    }
                    for series in panel.series
                ],
                "references": [
                    {"of": line.of, "value": _number(line.value), "label": line.label} for line in panel.references
                ],
            }
            panels.append(curves)
        else:
            matrix = {
                "title": panel.title,
                "rows": list(panel.rows),
                "columns": list(panel.columns),
                "values": [_numbers(row) for row in panel.values],
                "scale": _axis(panel.scale),
            }
            panels.append(matrix)
    return {"name": figure.name, "caption": figure.caption, "highlight": figure.highlight, "panels": panels}


def _cell(value: Value) -> Any:
    if isinstance(value, Share):
        return {"count": value.count, "of": value.of, "share": _number(float(value))}
    return _number(float(value)) if isinstance(value, float | Level) else value


def _axis(axis: Axis) -> Json:
    return {"title": axis.title, "unit": axis.unit, "scale": axis.scale, "categories": list(axis.categories)}


def _numbers(numbers: Numbers) -> Sequence[float | None]:
    return [None if number is None else _number(number) for number in numbers]


def _number(number: float) -> float | None:
    return number if math.isfinite(number) else None
