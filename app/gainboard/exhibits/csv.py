"""Tables as CSV (RFC 4180): a header row, CRLF, numbers in full, empty for undefined.

The text is for programs first: a section is a column like any other, a column's group and unit are in its heading, and
a table that can have marks ends with a column `marked`, the headings of the row's marked cells; second marks have the
column `second marked`.
Captions and notes are not in it: a comment is no part of the format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gainboard.exhibits.tables import Cell, Marked, MarkStyle, Share, Table, Value, is_undefined, value_of

_COMPUTED = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARKED = {"bold": "marked", "italic": "second marked"}
_NEEDS_QUOTES = re.compile(r'[,"\r\n]').search


def as_csv(table: Table) -> str:
    """The whole table."""
    headings = [column.full_heading for column in table.columns]
    styles = list(table.meanings)
    return "".join(
        (
            csv_line(headings + [_MARKED[style] for style in styles]),
            *(
                csv_line([*map(value_of, row), *(_marked(headings, row, style) for style in styles)])
                for row in table.rows
            ),
        )
    )


def csv_line(values: Iterable[Value]) -> str:
    """One record with its line end."""
    return ",".join(map(_field, values)) + "\r\n"


def csv_text(text: str) -> str:
    """A cell of text, quoted where it must be. It never starts a formula: a leading apostrophe makes it text."""
    # A leading one of these makes a spreadsheet compute the cell.
    safe = f"'{text}" if text.startswith(_COMPUTED) else text
    return '"' + safe.replace('"', '""') + '"' if _NEEDS_QUOTES(safe) else safe


def _field(value: Value) -> str:
    if isinstance(value, str):
        return csv_text(value)
    if is_undefined(value):
        return ""
    # float() since NumPy's own numbers are floats whose repr says so.
    return repr(float(value)) if isinstance(value, float | Share) else str(value)


def _marked(headings: Sequence[str], row: Sequence[Cell], style: MarkStyle) -> str:
    cells = zip(headings, row, strict=True)
    return "; ".join(heading for heading, cell in cells if isinstance(cell, Marked) and cell.style == style)
