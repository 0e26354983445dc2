"""Tables as CSV, for programs, and as Markdown.

CSV (RFC 4180) has a header row, CRLF, numbers in full, and empty cells for undefined. A section is an ordinary column.
A column's group and unit are in its heading. A table that can have marks ends with a column `marked`, the headings of
the row's marked cells; second marks have the column `second marked`. Captions and notes are left out, because the
format has no comments.

Markdown has GitHub's form: caption above, notes below, marked cells bold or italic.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from gainboard.exhibits.tables import (
    Cell,
    Level,
    LongTable,
    Marked,
    MarkStyle,
    Share,
    Table,
    Value,
    is_undefined,
    printed,
    value_of,
)

_COMPUTED = ("=", "+", "-", "@", "\t", "\r", "\n")
_MARK_COLUMNS = {"bold": "marked", "italic": "second marked"}
_ROWS_AT_ONCE = 1000
_NEEDS_QUOTES = re.compile(r'[,"\r\n]').search


def as_csv(table: Table) -> str:
    return "".join(csv_pieces(table))


def csv_pieces(table: Table | LongTable) -> Iterator[str]:
    """Return the table in pieces of a thousand rows: the table may be larger than memory."""
    headings = [column.full_heading for column in table.columns]
    if isinstance(table, LongTable):
        yield csv_line(headings)
        rows: Iterator[Sequence[Value]] = iter(table.rows())
    else:
        styles = list(table.meanings)
        yield csv_line(headings + [_MARK_COLUMNS[style] for style in styles])
        rows = (
            [
                *map(value_of, row),
                *(_marked_headings(headings, row, style) for style in styles),
            ]  # the columns of marks are part of the row
            for row in table.rows
        )
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        yield "".join(map(csv_line, block))


def csv_line(values: Iterable[Value]) -> str:
    """Return one record with its line end."""
    return ",".join(map(_csv_field, values)) + "\r\n"


def csv_text(text: str) -> str:
    """Return a cell of text, quoted if necessary. It never starts a formula: a leading apostrophe makes it text."""
    # A spreadsheet computes a cell that begins with one of these.
    safe = f"'{text}" if text.startswith(_COMPUTED) else text
    return '"' + safe.replace('"', '""') + '"' if _NEEDS_QUOTES(safe) else safe


def _csv_field(value: Value) -> str:
    if isinstance(value, str):
        return csv_text(value)
    if is_undefined(value):
        return ""
    # float() first, because the repr of NumPy's own floats contains the name of the type.
    return repr(float(value)) if isinstance(value, float | Level | Share) else str(value)


def _marked_headings(headings: Sequence[str], row: Sequence[Cell], style: MarkStyle) -> str:
    cells = zip(headings, row, strict=True)
    return "; ".join(heading for heading, cell in cells if isinstance(cell, Marked) and cell.style == style)


_MEANS_SOMETHING = re.compile(r"([\\`*_\[\]<>|#&~])")
_RULES = {"left": ":--", "centre": ":-:", "right": "--:"}
_MARKS = {"bold": "**", "italic": "*"}
_MARKED = {"bold": "**Bold**", "italic": "*Italic*"}


def as_markdown(table: Table) -> str:
    """Return the table with its caption and notes. A section is an ordinary column."""
    lines = [
        _line(_text(column.full_heading) for column in table.columns),
        _line(_RULES[align] for align in table.alignments()),
    ]
    for row in table.rows:
        cells = []
        for cell, column in zip(row, table.columns, strict=True):
            text = _text(printed(value_of(cell), column))
            mark = _MARKS[cell.style] if isinstance(cell, Marked) and text else ""
            cells.append(f"{mark}{text}{mark}")
        lines.append(_line(cells))
    notes = [f"{_MARKED[style]}: {_text(meaning)}." for style, meaning in table.meanings.items()]
    blocks = ["\n".join(lines), *notes, *map(_text, table.notes)]
    return "\n\n".join([f"{_text(table.caption)}", *blocks]) + "\n"


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Return text on one line that shows as it is written."""
    return _MEANS_SOMETHING.sub(r"\\\1", " ".join(text.split()))
