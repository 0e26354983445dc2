"""Tables and figures as plain JSON: all numbers and texts, and nothing about how they are drawn.

A number that is undefined or infinite is null.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from gainboard.exhibits.figures import Axis, Figure, HeatMap, Numbers, Panel
from gainboard.exhibits.tables import Level, Marked, Share, Table, Value, value_of

Json = dict[str, Any]


def table_as_json(table: Table) -> Json:
    """Return the table.

    `marks` names each marked cell by row and column, from 0, and by its mark's key in `meanings`.
    """
    return {
        "name": table.name,
        "caption": table.caption,
        "columns": [
            {"title": each.title, "unit": each.unit, "group": each.group, "section": each.section}
            for each in table.columns
        ],
        "rows": [[_cell(value_of(cell)) for cell in row] for row in table.rows],
        "marks": list(_marks(table)),
        "meanings": dict(table.meanings),
        "notes": list(table.notes),
    }


def figure_as_json(figure: Figure) -> Json:
    """Return the figure. A panel with a matrix has `rows`, `columns` and `values`; one with curves has `series`."""
    return {
        "name": figure.name,
        "caption": figure.caption,
        "highlight": figure.highlight,
        "panels": [_curves(panel) if isinstance(panel, Panel) else _matrix(panel) for panel in figure.panels],
    }


def _marks(table: Table) -> Iterator[Json]:
    for place, row in enumerate(table.rows):
        for column, cell in enumerate(row):
            if isinstance(cell, Marked):
                yield {"row": place, "column": column, "mark": cell.style}


def _cell(value: Value) -> Any:
    if isinstance(value, Share):
        return {"count": value.count, "of": value.of, "share": _number(float(value))}
    return _number(float(value)) if isinstance(value, float | Level) else value


def _curves(panel: Panel) -> Json:
    return {
        "title": panel.title,
        "x": _axis(panel.x),
        "y": _axis(panel.y),
        "series": [
            {
                "label": each.label,
                "x": _numbers(each.x),
                "y": _numbers(each.y),
                "highlighted": list(each.highlighted),
            }
            for each in panel.series
        ],
        "references": [{"of": each.of, "value": _number(each.value), "label": each.label} for each in panel.references],
    }


def _matrix(heat_map: HeatMap) -> Json:
    return {
        "title": heat_map.title,
        "rows": list(heat_map.rows),
        "columns": list(heat_map.columns),
        "values": [_numbers(row) for row in heat_map.values],
        "scale": _axis(heat_map.scale),
    }


def _axis(axis: Axis) -> Json:
    return {"title": axis.title, "unit": axis.unit, "scale": axis.scale, "categories": list(axis.categories)}


def _numbers(numbers: Numbers) -> Sequence[float | None]:
    return [None if number is None else _number(number) for number in numbers]


def _number(number: float) -> float | None:
    return number if math.isfinite(number) else None
