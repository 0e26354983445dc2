"""Cells as LaTeX: numbers rounded to the digits of their column, undefined ones as a dash, marks bold or in italics."""

from __future__ import annotations

import re

from gainboard.exhibits.tables import Cell, Column, Marked, Share, Value, is_undefined, value_of
from gainboard.exhibits.tex import tex

_MARKS = {
    # \boldmath for the minus and the symbols: \textbf leaves formulas as they are.
    "bold": r"\textbf{{\boldmath {}}}",
    "italic": r"\textit{{{}}}",
}
_WIDER = {"bold": 1.15, "italic": 1.09}
"""How much wider marked numbers are."""
_WIDE = re.compile("[A-HJ-Zmw@%&=+_<>…—]").findall
_NARROW = re.compile(r"[ijlt.,:;!|'()/ \[\]]").findall


def tex_cell(cell: Cell, column: Column) -> str:
    """The cell with its mark."""
    printed = tex_value(value_of(cell), column)
    return _MARKS[cell.style].format(printed) if isinstance(cell, Marked) else printed


def tex_value(value: Value, column: Column) -> str:
    """What stands in a cell of the column."""
    if isinstance(value, str):
        return tex(value)
    if is_undefined(value) or value is None:
        return "--"
    if isinstance(value, Share):
        return f"{value.count}/{value.of}={_number(float(value), 0 if column.digits is None else column.digits, True)}"
    if isinstance(value, float) or column.digits is not None or column.percent:
        return _number(float(value), column.digits, column.percent)
    return str(value).replace("-", "$-$")


def length(cell: Cell, column: Column) -> float:
    """About how wide the cell is in print, in digits."""
    value = value_of(cell)
    width = text_length(value) if isinstance(value, str) else _number_length(tex_value(value, column))
    return width * (_WIDER[cell.style] if isinstance(cell, Marked) else 1)


def text_length(text: str) -> float:
    """About how wide a text is in print, in digits."""
    return len(text) + 0.5 * len(_WIDE(text)) - 0.4 * len(_NARROW(text))


def _number_length(printed: str) -> float:
    # "$-$" is one and a half digits wide, "." a half, "\%" one and a half.
    return len(printed) - 1.5 * printed.count("-") - 0.4 * printed.count(".") - 0.5 * printed.count("\\")


def _number(value: float, digits: int | None, percent: bool) -> str:
    scaled = 100 * value if percent else value
    free = "4g" if abs(scaled) < 1000 else "0f"
    text = f"{scaled:.{free}}" if digits is None else f"{scaled:.{digits}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("-", "$-$").replace("inf", r"$\infty$") + (r"\%" if percent else "")
