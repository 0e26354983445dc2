"""Tables as Markdown, in GitHub's form: caption above, notes below, marked cells bold or italic."""

from __future__ import annotations

import re
from collections.abc import Iterator

from gainboard.exhibits.tables import Align, Cell, Column, Marked, Table, printed, value_of

_MEANS_SOMETHING = re.compile(r"([\\`*_\[\]<>|#&~])")
_RULES = {"left": ":--", "centre": ":-:", "right": "--:"}
_MARKS = {"bold": "**", "italic": "*"}
_MARKED = {"bold": "**Bold**", "italic": "*Italic*"}


def as_markdown(table: Table) -> str:
    """Return the table with its caption and notes. A section is an ordinary column."""
    notes = [f"{_MARKED[style]}: {_text(meaning)}." for style, meaning in table.meanings.items()]
    blocks = ["\n".join(_lines(table)), *notes, *map(_text, table.notes)]
    return "\n\n".join([f"{_text(table.caption)}", *blocks]) + "\n"


def _lines(table: Table) -> Iterator[str]:
    alignments: list[Align] = list(table.alignments())
    yield _line(_text(column.full_heading) for column in table.columns)
    yield _line(_RULES[align] for align in alignments)
    for row in table.rows:
        yield _line(_cell(cell, column) for cell, column in zip(row, table.columns, strict=True))


def _line(cells: Iterator[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _cell(cell: Cell, column: Column) -> str:
    text = _text(printed(value_of(cell), column))
    mark = _MARKS[cell.style] if isinstance(cell, Marked) and text else ""
    return f"{mark}{text}{mark}"


def _text(text: str) -> str:
    """Return text on one line that shows as it is written."""
    return _MEANS_SOMETHING.sub(r"\\\1", " ".join(text.split()))
