"""Figures on a page: the value that the script draws, and its numbers as a table for everybody else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from markupsafe import Markup
from pydantic_core import to_json

from gainboard.exhibits.figures import Figure

MOST_CELLS = 20_000
"""The most numbers in the table below a figure. Larger ones are read better as CSV."""
STEPS = 100
"""The steps in which a larger heat map comes. Eyes tell no more colours apart; all digits are seven times the bytes."""
Value = Mapping[str, Any]
Rows = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TableOnPage:
    """The numbers of a panel, as text."""

    title: str
    columns: Sequence[str]
    rows: Rows


@dataclass(frozen=True)
class FigureOnPage:
    """A figure: its JSON, which is safe inside a script element, and its tables."""

    name: str
    caption: str
    json: Markup
    tables: Sequence[TableOnPage]

    @classmethod
    def of(cls, figure: Figure) -> FigureOnPage:
        """Return a figure for a page."""
        return cls.of_value(asdict(figure))

    @classmethod
    def of_value(cls, value: Value) -> FigureOnPage:
        """Return a figure from its value as JSON has it."""
        text = to_json(
            {**value, "panels": [_in_steps(panel) for panel in value["panels"]]}, inf_nan_mode="null"
        ).decode()
        # Inside a script element only its end tag and comments mean anything; in JSON, `<` may be written so.
        safe = Markup(text.replace("<", "\\u003c"))
        tables = [_table(panel) for panel in value["panels"]]
        is_small = sum(len(table.rows) * len(table.columns) for table in tables) <= MOST_CELLS
        return cls(value["name"], value["caption"], safe, tables if is_small else ())


def _in_steps(panel: Value) -> Value:
    """Return a panel; a large heat map has its values in steps from its lowest to its highest."""
    if len(panel.get("rows", ())) * len(panel.get("columns", ())) <= MOST_CELLS:
        return panel
    values = np.array(panel["values"], float)
    low, high = (0.0, 0.0) if np.isnan(values).all() else (float(np.nanmin(values)), float(np.nanmax(values)))
    steps = np.rint((values - low) * (STEPS / ((high - low) or 1.0)))
    cells = [[None if step != step else int(step) for step in row] for row in steps.tolist()]
    return {**panel, "values": cells, "step": {"from": low, "size": (high - low) / STEPS}}


def _table(panel: Value) -> TableOnPage:
    """Return a heat map as it is; curves over the same values as one column each; and others as a list of points."""
    title = panel["title"]
    if "series" not in panel:
        cells = [[name, *map(_text, values)] for name, values in zip(panel["rows"], panel["values"], strict=True)]
        return TableOnPage(title, ["", *panel["columns"]], cells)
    x, y, series = panel["x"], panel["y"], panel["series"]
    if len({tuple(one["x"]) for one in series}) == 1:
        across = zip(series[0]["x"], *(one["y"] for one in series), strict=True)
        rows = [[_write(x, position), *(_write(y, value) for value in values)] for position, *values in across]
        return TableOnPage(title, [x["title"], *(one["label"] for one in series)], rows)
    points = [
        [one["label"], _write(x, position), _write(y, value)]
        for one in series
        for position, value in zip(one["x"], one["y"], strict=True)
    ]
    return TableOnPage(title, ["", x["title"], y["title"]], points)


def _write(axis: Value, value: float | None) -> str:
    """Return a value on an axis as text: the name of a category, or a number."""
    names = axis["categories"]
    if names and value is not None and 0 <= round(value) < len(names):
        return str(names[round(value)])
    return _text(value)


def _text(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.4g}"


@dataclass(frozen=True)
class ChartScale:
    """A linear axis from `low` to `high` with round ticks."""

    low: float
    high: float
    step: float

    @classmethod
    def around(cls, values: Iterable[float | None], ticks: int = 8) -> ChartScale:
        """Return an axis with about so many steps, each 1, 2 or 5 times a power of ten, which holds all values."""
        finite = [value for value in values if value is not None and math.isfinite(value)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if low == high:  # an axis about one value begins at zero
            low, high = (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
        raw = (high - low) / ticks
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw)
        # Quotients that ought to be whole may be off by rounding, which would add an empty step to the axis.
        return cls(step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9), step)

    @property
    def ticks(self) -> list[float]:
        """The values at the ticks."""
        return [self.low + self.step * number for number in range(round((self.high - self.low) / self.step) + 1)]

    @property
    def digits(self) -> int:
        """The decimal places that tell the ticks apart."""
        return max(0, -math.floor(math.log10(self.step) + 1e-9))

    def at(self, value: float) -> str:
        """Return where a value is, as a share of the width."""
        share = (value - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return f"{100 * min(max(share, 0), 1):.2f}%"
