"""Tables of jobs and reports."""

from __future__ import annotations

import csv
import io
import re

from gainboard.client.frames import Column, Framed, Labelled, array

_INTEGER = re.compile(r"-?(0|[1-9]\d*)\Z")
_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?(e[+-]?\d+)?\Z", re.IGNORECASE)


class Table(Framed):
    """A table of a result. `csv` is its text; a column in which there are only numbers is one of numbers."""

    def __init__(self, text: str) -> None:
        self.csv = text

    def __repr__(self) -> str:
        columns = self.columns()
        return f"<Table of {', '.join(columns)}>"

    def columns(self) -> dict[str, Column]:
        """The columns by heading; an empty cell among numbers is None."""
        headings, *rows = csv.reader(io.StringIO(self.csv, newline=""))
        return {heading: _column([row[place] for row in rows]) for place, heading in enumerate(headings)}

    def to_dict(self) -> dict[str, Column]:
        """The columns by heading, as `columns`."""
        return self.columns()

    def to_numpy(self) -> Labelled:
        """The numbers, rows x those columns that have some; a row is called by its texts, an empty cell is NaN."""
        found = self.columns()
        texts = [column for column in found.values() if _is_text(column)]
        numbers = {heading: column for heading, column in found.items() if not _is_text(column)}
        count = len(next(iter(found.values())))
        labels = [", ".join(str(column[row]) for column in texts) for row in range(count)]
        values = array(list(numbers.values()), (len(numbers), count)).T
        return Labelled(values, {"row": labels, "column": list(numbers)})


def _is_text(column: Column) -> bool:
    return any(isinstance(value, str) for value in column)


def _column(cells: list[str]) -> Column:
    filled = [cell for cell in cells if cell]
    if len(filled) == len(cells) and all(map(_INTEGER.match, cells)):
        return [int(cell) for cell in cells]
    if filled and all(map(_NUMBER.match, filled)):
        return [float(cell) if cell else None for cell in cells]
    return cells
