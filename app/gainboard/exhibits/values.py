"""Tables and figures as plain JSON: all numbers and texts, and nothing about how they are drawn.

A number that is undefined or infinite is null.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from gainboard.exhibits.figures import Axis, Figure, Numbers, Panel
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
