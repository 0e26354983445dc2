"""The items of a report: tables and figures under the paper's own numbers, what is missing, and remarks for readers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gainboard.analyses.common import unsure
from gainboard.exhibits import Marked, Share, Table
from gainboard.exhibits.figures import Figure
from gainboard.exhibits.tables import Cell, MarkStyle, Value, is_undefined, value_of

Finish = Callable[[Table], Table]
"""A function that sorts the rows of a table and marks its cells, by the paper's rules."""


def as_it_is(table: Table) -> Table:
    """Return the table unchanged, for tables that the paper neither sorts nor marks."""
    return table


def slug(number: str) -> str:
    """Return the paper's number of a table or figure as a name: "Tables 3-6 (a)" becomes `tables-3-6a`."""
    return re.sub(r"[^a-z0-9]+", "-", re.sub(r"[ (]*\((\w+)\)", r"\1", number.lower())).strip("-")


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the paper, for one collection.

    `number` is the paper's; if the paper has such a table for each data set, it names all of them ("Tables 3-6 (a)").

    The table is neither sorted nor marked. `finish` does both, for this table and for the average over collections,
    which may have a number of its own. A table that `is_joined` is not averaged: one table has the rows of all
    collections.
    """

    number: str
    table: Table
    finish: Finish = as_it_is
    average: str = ""
    is_joined: bool = False
    has_average: bool = True
    """True if a mean of its numbers over collections makes sense."""
    by_seed: Sequence[Table] = ()
    """The same table under further seeds: marks that are not the same in all are uncertain."""

    def finished(self) -> Table:
        """Return the table as it is shown."""
        return finished_under_seeds(self.finish, [self.table, *self.by_seed])


def finished_under_seeds(finish: Finish, tables: Sequence[Table]) -> Table:
    """Return the first table finished, with uncertain marks in italics.

    The others are the same table under other seeds. A mark is uncertain if it is not in all of them, when they are
    finished too. A note names the rows that may be first, if it is not always the same row.
    """
    shown, *others = (finish(table) for table in tables)
    if not others:
        return shown
    marked = [
        {(_texts(row), column) for row in table.rows for column, cell in enumerate(row) if isinstance(cell, Marked)}
        for table in (shown, *others)
    ]
    uncertain = {where for places in marked for where in places if not all(where in marks for marks in marked)}
    rows = [
        [
            Marked(value_of(cell), "italic") if (_texts(row), column) in uncertain else cell
            for column, cell in enumerate(row)
        ]
        for row in shown.rows
    ]
    second_mark = unsure(shown.mark, len(tables)) if shown.mark else ""
    return replace(shown, rows=rows, second_mark=second_mark, notes=[*shown.notes, *_may_be_first((shown, *others))])


def _texts(row: Sequence[Cell]) -> tuple[str, ...]:
    return tuple(value for value in map(value_of, row) if isinstance(value, str))


def _may_be_first(tables: Sequence[Table]) -> list[str]:
    """Return a note on each section whose first row is not the same in all tables."""
    firsts: dict[Value, list[str]] = {}
    for table in tables:
        label = table.printed[0]
        first: dict[Value, str] = {}
        for row in table.rows:
            first.setdefault(table.section_of(row), str(value_of(row[label])))
        for section, name in first.items():
            firsts.setdefault(section, []).append(name)
    return [
        f"It depends on the seed which is first{f' in {section}' if section else ''}: {' or '.join(names)}."
        for section, names in ((section, list(dict.fromkeys(labels))) for section, labels in firsts.items())
        if len(names) > 1
    ]


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """A figure of the paper, for one collection. Its number is formed as that of a table."""

    number: str
    figure: Figure


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tables or figures that are missing, by the paper's numbers, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning for readers of the tables and figures."""

    text: str


ReportItem = ReportTable | ReportFigure | LeftOut | Remark


def average(tables: Sequence[Table]) -> Table:
    """Return the unweighted mean of tables of one form, number by number.

    It has the rows whose texts are in all tables, in the order of the first one. A number is undefined if it is
    undefined in any table. Shares become quotients.

    Columns that are not in all tables are left out. So are notes, which are about one table only.
    """
    first, *others = (_TableCells(table) for table in tables)
    shared = [
        column for column, heading in enumerate(first.headings) if all(heading in other.headings for other in others)
    ]
    rows = []
    for key, row in first.rows.items():
        if all(key in other.rows for other in others):
            same = [
                [other.rows[key][other.headings.index(first.headings[column])] for other in others] for column in shared
            ]
            rows.append([_mean([row[column], *cells]) for column, cells in zip(shared, same, strict=True)])
    columns = [tables[0].columns[column] for column in shared]
    notes = [note for note in tables[0].notes if all(note in other.notes for other in tables)]
    return replace(tables[0], columns=columns, rows=rows, notes=notes)


def joined(tables: Sequence[Table]) -> Table:
    """Return the rows of all tables, one table after the other, under the columns of all of them."""
    headings = {column.full_heading: column for table in tables for column in table.columns}
    rows: list[list[Cell]] = []
    for table in tables:
        headings_here = [column.full_heading for column in table.columns]
        rows += [
            [row[headings_here.index(heading)] if heading in headings_here else None for heading in headings]
            for row in table.rows
        ]
    return replace(tables[0], columns=list(headings.values()), rows=rows)


class _TableCells:
    """The rows of a table, by their texts."""

    def __init__(self, table: Table) -> None:
        self.headings = [column.full_heading for column in table.columns]
        self.rows: Mapping[tuple[Value, ...], Sequence[Value]] = {
            tuple(cell for cell in row if isinstance(cell, str)): row
            for row in ([value_of(cell) for cell in cells] for cells in table.rows)
        }


def _mean(values: Sequence[Value]) -> Value:
    if isinstance(values[0], str):
        return values[0]
    numbers = [float(value) for value in values if not (isinstance(value, str) or is_undefined(value))]  # type: ignore[arg-type]
    return sum(numbers) / len(numbers) if len(numbers) == len(values) else None


def mark_where(rule: Callable[[float], bool], style: MarkStyle = "bold") -> Finish:
    """Return the finish that marks every number for which the rule holds. The table says what the marks mean."""

    def finish(table: Table) -> Table:
        return replace(table, rows=[[_marked(cell, rule, style) for cell in row] for row in table.rows])

    return finish


def _marked(cell: Cell, rule: Callable[[float], bool], style: MarkStyle) -> Cell:
    value = value_of(cell)
    if isinstance(value, str) or is_undefined(value):
        return cell
    assert isinstance(value, int | float | Share)
    return Marked(value, style) if rule(float(value)) else cell


def sorted_by(column: int) -> Finish:
    """Return the finish that sorts rows by the numbers in one column, the highest first and undefined ones last."""

    def key(row: Sequence[Cell]) -> tuple[bool, float]:
        value = value_of(row[column])
        if isinstance(value, str) or value is None or is_undefined(value):
            return (True, 0.0)
        return (False, -float(value))

    return lambda table: replace(table, rows=sorted(table.rows, key=key))
