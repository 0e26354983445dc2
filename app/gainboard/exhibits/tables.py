"""Tables as values: what a result shows, before anyone chose CSV or LaTeX for it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Align = Literal["left", "centre", "right"]
MarkStyle = Literal["bold", "italic"]

_SAID_BY = {"bold": "`mark`", "italic": "`second_mark`"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\Z")


@dataclass(frozen=True, slots=True)
class Share:
    """So many of so many, as the papers print sensitivity: `79/105=75%`. As a number it is the quotient."""

    count: int
    of: int

    def __float__(self) -> float:
        return self.count / self.of if self.of else math.nan


Value = str | int | float | Share | None
"""What stands in a cell. None and NaN both are undefined: an empty cell in CSV, a dash in print."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A cell that stands out: in bold, for what the table's `mark` says, or in italics, for its `second_mark`."""

    value: Value
    style: MarkStyle = "bold"


Cell = Value | Marked


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    `digits` are the decimals of its numbers in print (CSV has them all); without it, floats have four significant
    ones. `percent` prints a share between 0 and 1 as a percentage. `align` is by default right where all cells are
    numbers, else left. Neighbours of the same `group` get a common header over their own. A `section` column is not
    printed as one: where its value changes, it becomes a line across the table, as in "(a) gain value ratio 3:2:1".
    """

    title: str
    unit: str = ""
    digits: int | None = None
    percent: bool = False
    align: Align | None = None
    group: str = ""
    section: bool = False

    @property
    def heading(self) -> str:
        """Title and unit."""
        return f"{self.title} ({self.unit})" if self.unit else self.title

    @property
    def full_heading(self) -> str:
        """The heading with its group before it: what tells the columns of a table apart without layout."""
        return f"{self.group} {self.heading}" if self.group else self.heading


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of cells under columns.

    `name` is a slug, for addresses and `\\label`; `mark` says in a few words what a marked cell is ("more sensitive
    than AP"), and `second_mark` the same of the second kind of marks; `notes` are sentences below the table. Raises
    `ValueError` where these do not fit each other.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    mark: str = ""
    second_mark: str = ""
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        require_slug(self.name)
        headings = [column.full_heading for column in self.columns]
        if not headings or len(set(headings)) < len(headings):
            raise ValueError(f"table {self.name}: a table has columns, and no two of the same heading: {headings}")
        if sum(column.section for column in self.columns) > 1:
            raise ValueError(f"table {self.name}: only one column can be the section")
        if any(len(row) != len(headings) for row in self.rows):
            raise ValueError(f"table {self.name}: every row has one cell for each of the {len(headings)} columns")
        used = {cell.style for row in self.rows for cell in row if isinstance(cell, Marked)}
        if silent := used - self.meanings.keys():
            missing = " and ".join(_SAID_BY[style] for style in sorted(silent))
            raise ValueError(f"table {self.name}: cells are marked, and {missing} does not say what for")

    @property
    def meanings(self) -> dict[MarkStyle, str]:
        """What the marks of this table mean, by how they look: those that have a meaning, used or not."""
        said: dict[MarkStyle, str] = {"bold": self.mark, "italic": self.second_mark}
        return {style: meaning for style, meaning in said.items() if meaning}

    @property
    def printed(self) -> list[int]:
        """The indices of the columns that are printed as columns."""
        return [place for place, column in enumerate(self.columns) if not column.section]

    def section_of(self, row: Sequence[Cell]) -> Value:
        """The section that a row is in, None in a table without sections."""
        return next((value_of(cell) for column, cell in zip(self.columns, row, strict=True) if column.section), None)

    def alignments(self) -> Iterator[Align]:
        """How each column is set, sections included."""
        for place, column in enumerate(self.columns):
            is_text = any(isinstance(value_of(row[place]), str) for row in self.rows)
            yield column.align or ("left" if is_text or not self.rows else "right")


@dataclass(frozen=True, slots=True)
class LongTable:
    """A table of more rows than anybody prints: `rows` makes them anew whenever they are read. It exists as CSV alone.

    No cell of it is marked, and nothing checks its rows.
    """

    name: str
    caption: str
    columns: Sequence[Column]
    rows: Callable[[], Iterable[Sequence[Value]]]

    def __post_init__(self) -> None:
        require_slug(self.name)


def value_of(cell: Cell) -> Value:
    """The cell without its mark."""
    return cell.value if isinstance(cell, Marked) else cell


def is_undefined(value: Value) -> bool:
    """Whether there is nothing to show."""
    return value is None or (not isinstance(value, str) and math.isnan(value))


def require_slug(name: str) -> None:
    """Refuses a name that cannot stand in an address or a `\\label`."""
    if not _NAME.match(name):
        raise ValueError(f"{name!r} is no name for a table or figure: letters, digits and . _ - only")
