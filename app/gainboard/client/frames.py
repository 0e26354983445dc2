"""Tables of results as columns and arrays, and numbers with labels."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gainboard.notation.frames import Column, Framed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# No leading zeros: `001` is a name, such as that of a topic.
_INTEGER = re.compile(r"-?(0|[1-9]\d*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\Z", re.IGNORECASE)

_TEXTS = ("marked", "second marked")
"""The columns of a table that hold headings, often none."""


@dataclass(frozen=True)
class Labelled:
    """Numbers with labels: `axes` are in the order of the array's axes, each with its labels."""

    values: NDArray[np.float64]
    axes: Mapping[str, Sequence[str]]

    def __repr__(self) -> str:
        return f"<Labelled: {', '.join(counted(len(labels), axis) for axis, labels in self.axes.items())}>"


class Picture(str):
    """A figure as the text of its SVG, which notebooks draw."""

    def _repr_svg_(self) -> str:
        return str(self)


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: `1 row`, `2 rows`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> dict[str, Column]:
    """Turn rows into columns with these names."""
    return {name: [row[place] for row in rows] for place, name in enumerate(names)}


def array(rows: Sequence[Any], shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Turn nested numbers into an array of this shape, with NaN for None."""
    import numpy as np  # noqa: PLC0415

    return np.array(rows, np.float64).reshape(shape)


class ResultTable(Framed):
    """A table of a result. `csv` is its text. A column that has only numbers is a column of numbers."""

    def __init__(self, text: str) -> None:
        self.csv = text

    def __repr__(self) -> str:
        columns = self.columns()
        rows = len(next(iter(columns.values())))
        return f"<ResultTable: {counted(rows, 'row')}, {counted(len(columns), 'column')}>"

    def columns(self) -> dict[str, Column]:
        """Return the columns by heading; an empty cell among numbers is None."""
        headings, *rows = csv.reader(io.StringIO(self.csv, newline=""))
        columns = {heading: [row[place] for row in rows] for place, heading in enumerate(headings)}
        return {heading: cells if heading in _TEXTS else parse_column(cells) for heading, cells in columns.items()}

    def to_dict(self) -> dict[str, Column]:
        """Return the columns by heading, as `columns` does."""
        return self.columns()

    def to_numpy(self) -> Labelled:
        """Return the numbers, rows x columns of numbers. A row's label is its texts; an empty cell is NaN."""
        found = self.columns()
        texts = [column for column in found.values() if _is_text(column)]
        numbers = {heading: column for heading, column in found.items() if not _is_text(column)}
        count = len(next(iter(found.values())))
        labels = [", ".join(str(column[row]) for column in texts) for row in range(count)]
        values = array(list(numbers.values()), (len(numbers), count)).T
        return Labelled(values, {"row": labels, "column": list(numbers)})


def _is_text(column: Column) -> bool:
    return any(isinstance(value, str) for value in column)


def parse_column(cells: list[str]) -> Column:
    """Return the cells as whole numbers, as numbers with None for an empty cell, or as they are.

    A column of empty cells alone is one of undefined numbers.
    """
    filled = [cell for cell in cells if cell]
    if len(filled) == len(cells) and all(map(_INTEGER.match, cells)):
        return [int(cell) for cell in cells]
    if all(map(_NUMBER.match, filled)):
        return [float(cell) if cell else None for cell in cells]
    return cells
