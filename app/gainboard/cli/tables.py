"""Tables for terminals: aligned columns, nothing but blanks between them."""

from __future__ import annotations

from collections.abc import Iterator

from gainboard.exhibits import Column, Marked, Share, Table, Value
from gainboard.exhibits.tables import Align, is_undefined, value_of

_GAP = "  "
_SIDES = {"left": "<", "centre": "^", "right": ">"}
_WEIGHTS = {"bold": "\033[1m", "italic": "\033[3m"}
_PLAIN = "\033[0m"


def as_text(table: Table, *, weights: bool = False) -> str:
    """The rows below their headings; `weights`: marked cells are bold or in italics, which only terminals show."""
    columns = [_column(table, place, align, weights) for place, align in enumerate(table.alignments())]
    return "".join(_GAP.join(cells).rstrip() + "\n" for cells in zip(*columns, strict=True))


def _column(table: Table, place: int, align: Align, weights: bool) -> Iterator[str]:
    column, cells = table.columns[place], [row[place] for row in table.rows]
    texts = [_text(value_of(cell), column) for cell in cells]
    width = max(map(len, (column.full_heading, *texts)))
    yield f"{column.full_heading:{_SIDES[align]}{width}}"
    for cell, text in zip(cells, texts, strict=True):
        padded = f"{text:{_SIDES[align]}{width}}"
        yield f"{_WEIGHTS[cell.style]}{padded}{_PLAIN}" if weights and isinstance(cell, Marked) else padded


def _text(value: Value, column: Column) -> str:
    if isinstance(value, str):
        return value
    if value is None or is_undefined(value):
        return "-"
    if isinstance(value, Share):
        return f"{value.count}/{value.of}={_number(float(value), column.digits or 0, percent=True)}"
    if isinstance(value, int) and column.digits is None and not column.percent:
        return f"{value:,}"
    return _number(float(value), column.digits, column.percent)


def _number(value: float, digits: int | None, percent: bool) -> str:
    scaled = 100 * value if percent else value
    text = f"{scaled:.4g}" if digits is None else f"{scaled:.{digits}f}"
    return text + ("%" if percent else "")
