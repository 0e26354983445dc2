"""Tables as values: the content of a result's tables, and their text as CSV, for programs, as Markdown and as HTML.

CSV (RFC 4180) has a header row, CRLF, numbers in full, and empty cells for undefined. A section is an ordinary column.
A column's group and unit are in its heading. A table that can have marks ends with a column `marked`, the headings of
the row's marked cells; second marks have the column `second marked`. Captions and notes are left out, because the
format has no comments.

Markdown has GitHub's form: caption above, notes below, marked cells bold or italic.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import islice
from typing import Final, Literal

from gainboard.vocabulary import round_score

Align = Literal["left", "centre", "right"]
MarkStyle = Literal["bold", "italic"]

LEAST_LEVEL: Final = 1e-300
"""Smaller levels of tests are printed as less than this: near the smallest numbers, digits are lost."""
_SAID_BY = {"bold": "`mark`", "italic": "`second_mark`"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True)
class Share:
    """A count and its total, as the papers print sensitivity: `79/105=75%`. As a number it is the quotient."""

    count: int
    of: int

    def __float__(self) -> float:
        return self.count / self.of if self.of else math.nan


@dataclass(frozen=True, slots=True)
class Level:
    """The achieved significance level of a test, and the number of its resamples; None if it drew nothing.

    If no resample reaches a difference, the level is 0 as a number, and in print less than the share of one resample.
    Without resamples, no level is 0, but one may be too small for a number.
    """

    asl: float
    resamples: int | None

    def __float__(self) -> float:
        return self.asl

    @property
    def bound(self) -> str | None:
        """The printed level, such as `< 0.001`, if the number would claim too much; else None."""
        if not self.resamples:
            return f"< {LEAST_LEVEL:g}" if self.asl < LEAST_LEVEL else None
        return f"< {1 / self.resamples:.{len(str(self.resamples))}f}".rstrip("0") if self.asl == 0 else None


@dataclass(frozen=True, slots=True)
class Noted:
    """A number with a sign or letters behind it, such as a dagger. In CSV and as a number it is the number alone."""

    number: float
    sign: str

    def __float__(self) -> float:
        return self.number


def bounded_levels(levels: Sequence[float | None], resamples: Sequence[int] | None) -> list[str | float | None]:
    """Return levels as they are printed, from CSV, where their numbers of resamples stand beside them, if any drew."""
    drawn: Sequence[int | None] = resamples or [None] * len(levels)
    return [asl if asl is None else Level(asl, of).bound or asl for asl, of in zip(levels, drawn, strict=True)]


Value = str | int | float | Share | Level | Noted | None
"""The content of a cell. None and NaN both mean undefined: an empty cell in CSV, a dash in print."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A highlighted cell: bold for the table's `mark`, or italic for its `second_mark`."""

    value: Value
    style: MarkStyle = "bold"


Cell = Value | Marked


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    `digits` are the decimal places of its numbers in print; CSV has all. Without it, floats have four significant
    digits. `percent` prints a share between 0 and 1 as a percentage. `align` is by default right if all cells are
    numbers, else left. Neighbours with the same `group` share a header above their own. A `section` column is not
    printed as a column: where its value changes, it becomes a line across the table, such as "(a) gain value ratio
    3:2:1". A number of a `level` column that its digits would print as 0 is printed as less than the smallest of them.
    """

    title: str
    unit: str = ""
    digits: int | None = None
    percent: bool = False
    align: Align | None = None
    group: str = ""
    section: bool = False
    level: bool = False

    @property
    def heading(self) -> str:
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def full_heading(self) -> str:
        """The heading after its group, which is unique among the columns of a table."""
        return f"{self.group} {self.heading}" if self.group else self.heading

    def bound_of(self, value: Value) -> str | None:
        """Return how a level is printed that is too small for the digits, such as `< 0.001`; None for other values."""
        if isinstance(value, Level) and value.bound and (value.resamples or not self.level):
            return value.bound
        if not self.level or self.digits is None or not isinstance(value, float | Level):
            return None
        return f"< {10**-self.digits:.{self.digits}f}" if round(float(value), self.digits) == 0 else None


@dataclass(frozen=True, slots=True)
class Table:
    r"""Rows of cells under columns.

    `name` is a slug, for addresses and `\label`. `mark` says in a few words what a marked cell is ("more sensitive than
    AP"), and `second_mark` does so for the second kind of marks. `notes` are sentences below the table. Raise
    `ValueError` if these do not fit together.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    mark: str = ""
    second_mark: str = ""
    notes: Sequence[str] = ()

    @classmethod
    def of_columns(
        cls,
        name: str,
        caption: str,
        columns: Iterable[tuple[Column, Sequence[Cell]]],
        *,
        mark: str = "",
        notes: Sequence[str] = (),
    ) -> Table:
        """Make a table of columns that come with their cells, so that heading and cells cannot be in another order."""
        headings, cells = zip(*columns, strict=True)
        return cls(name, caption, headings, list(zip(*cells, strict=True)), mark=mark, notes=notes)

    def __post_init__(self) -> None:
        require_slug(self.name)
        headings = [column.full_heading for column in self.columns]
        if not headings or len(set(headings)) < len(headings):
            raise ValueError(f"table {self.name}: a table needs columns with different headings, not: {headings}")
        if sum(column.section for column in self.columns) > 1:
            raise ValueError(f"table {self.name}: only one column can be the section")
        if any(len(row) != len(headings) for row in self.rows):
            raise ValueError(f"table {self.name}: every row needs one cell for each of the {len(headings)} columns")
        used = {cell.style for row in self.rows for cell in row if isinstance(cell, Marked)}
        if silent := used - self.meanings.keys():
            missing = " and ".join(_SAID_BY[style] for style in sorted(silent))
            raise ValueError(f"table {self.name}: cells are marked, so {missing} must say what for")

    @property
    def meanings(self) -> dict[MarkStyle, str]:
        """The meanings of the marks of this table by their look, whether they are used or not."""
        said: dict[MarkStyle, str] = {"bold": self.mark, "italic": self.second_mark}
        return {style: meaning for style, meaning in said.items() if meaning}

    @property
    def printed(self) -> list[int]:
        """The indexes of the columns that are printed as columns."""
        return [index for index, column in enumerate(self.columns) if not column.section]

    def section_of(self, row: Sequence[Cell]) -> Value:
        """Return the section of a row; None in a table without sections."""
        return next((value_of(cell) for column, cell in zip(self.columns, row, strict=True) if column.section), None)

    def alignments(self) -> Iterator[Align]:
        """Yield the alignment of each column, with sections."""
        for index, column in enumerate(self.columns):
            is_text = any(isinstance(value_of(row[index]), str) for row in self.rows)
            yield column.align or ("left" if is_text or not self.rows else "right")


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table with too many rows for print. `rows` makes them again at each read. It exists only as CSV.

    It has no marked cells, and its rows are not checked.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Callable[[], Iterable[Sequence[Value]]]

    def __post_init__(self) -> None:
        require_slug(self.name)


def value_of(cell: Cell) -> Value:
    """Return the cell without its mark."""
    return cell.value if isinstance(cell, Marked) else cell


def is_undefined(value: Value) -> bool:
    """Return whether the value is undefined, so that there is nothing to show."""
    return value is None or (not isinstance(value, str) and math.isnan(value))


def printed(value: Value, column: Column) -> str:
    """Return a value as plain text for people, with the decimal places of its column."""
    if isinstance(value, str):
        return value
    if value is None or is_undefined(value):
        return "-"
    if isinstance(value, Share):
        return f"{value.count}/{value.of}={_number(float(value), column.digits or 0, percent=True)}"
    if bound := column.bound_of(value):
        return bound
    if isinstance(value, Noted):
        return _number(value.number, column.digits, column.percent) + value.sign
    if isinstance(value, int) and column.digits is None and not column.percent:
        return f"{value:,}"
    return _number(float(value), column.digits, column.percent)


def _number(value: float, digits: int | None, percent: bool) -> str:
    scaled = 100 * value if percent else value
    text = f"{scaled:.4g}" if digits is None else f"{scaled:.{digits}f}"
    return text + ("%" if percent else "")


def mark_best_of_column(means: Sequence[float | None], *, is_reversed: bool = False) -> list[Cell]:
    """Return means with the best of several marked: the highest, or the lowest under a reversed metric."""
    sign = -1 if is_reversed else 1
    compared = [-math.inf if is_undefined(mean) else sign * round_score(mean or 0.0) for mean in means]
    best = max(compared, default=-math.inf)
    is_marked = len(means) > 1 and best > -math.inf
    return [Marked(mean) if is_marked and key == best else mean for mean, key in zip(means, compared, strict=True)]


def require_slug(name: str) -> None:
    r"""Raise ValueError for a name that cannot be part of an address or a `\label`."""
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is not a name for a table or figure: use only letters, digits and . _ -")


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

        def record(row: Sequence[Cell]) -> Sequence[Value]:
            cells = [
                (heading, cell.style) for heading, cell in zip(headings, row, strict=True) if isinstance(cell, Marked)
            ]
            return [
                *map(value_of, row),
                *("; ".join(name for name, mark in cells if mark == style) for style in styles),
            ]

        rows = map(record, table.rows)
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
    return repr(float(value)) if isinstance(value, float | Level | Share | Noted) else str(value)


_MEANS_SOMETHING = re.compile(r"([\\`*_\[\]<>|#&~])")
_RULES = {"left": ":--", "centre": ":-:", "right": "--:"}
_MARKS = {"bold": "**", "italic": "*"}
_MARKED = {"bold": "**Bold**", "italic": "*Italic*"}
_TAGS = {"bold": "b", "italic": "i"}


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


def as_html(table: Table) -> str:
    """Return the table with its caption and notes as a `<table>`. A section is an ordinary column."""
    alignments = [f' style="text-align: {align}"' for align in table.alignments()]

    def line(tag: str, texts: Iterable[str]) -> str:
        cells = (f"<{tag}{align}>{text}</{tag}>" for align, text in zip(alignments, texts, strict=True))
        return f"<tr>{''.join(cells)}</tr>\n"

    def shown(cell: Cell, column: Column) -> str:
        value = value_of(cell)
        sign = value.sign.strip() if isinstance(value, Noted) else ""
        value = value.number if isinstance(value, Noted) else value
        text = escape(printed(value, column)) + (f"<sup>{escape(sign)}</sup>" if sign else "")
        return f"<{_TAGS[cell.style]}>{text}</{_TAGS[cell.style]}>" if isinstance(cell, Marked) else text

    lines = [f"<table>\n<caption>{escape(table.caption)}</caption>\n<thead>\n"]
    lines += [line("th", (escape(column.full_heading) for column in table.columns)), "</thead>\n<tbody>\n"]
    lines += [line("td", map(shown, row, table.columns)) for row in table.rows]
    said = [f"{style.capitalize()}: {meaning}." for style, meaning in table.meanings.items()]
    notes = (f"<p>{escape(note)}</p>\n" for note in (*said, *table.notes))
    return "".join([*lines, "</tbody>\n</table>\n", *notes])
