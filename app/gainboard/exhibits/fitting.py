"""How a table is fitted to its page: type size, standing headings, broken texts, turned pages, several parts.

Widths are estimates from counts of characters, on the safe side for the usual type of LaTeX, in points.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import NamedTuple

from gainboard.exhibits.cells import length, text_length
from gainboard.exhibits.tables import Table, value_of

_SHORT, _LONG = 345, 550
"""Width and height between the margins of an article."""
_SHORTEST_LINE = 36
"""Characters that a line of a broken text has at least."""
_CAPTION, _NOTE = 70, 90
"""Characters of a line of these."""


class Size(NamedTuple):
    """A type size: its command, and how wide a digit, how high a line and how wide the gap beside a column is."""

    command: str
    digit: float
    line: float
    gap: int


class Measure(NamedTuple):
    """A column in widths of a digit: its heading, its longest cell, and whether that can be broken."""

    heading: float
    longest: float
    is_text: bool


_SIZES = (Size(r"\small", 4.65, 11.5, 6), Size(r"\footnotesize", 4.3, 10, 4), Size(r"\scriptsize", 4.05, 8.5, 3))
_LAST_RESORT = Size(r"\tiny", 3.45, 6.5, 2)


@dataclass(frozen=True, slots=True)
class Fit:
    """A way to print the columns `places` of a table together; `measures` are those of all its columns."""

    table: Table
    measures: Sequence[Measure] = field(repr=False)
    places: Sequence[int]
    size: Size
    is_turned: bool = False
    may_stand: bool = False
    may_break: bool = False

    @property
    def standing(self) -> set[int]:
        """The columns with headings turned by 90 degrees: those of numbers."""
        return {place for place in self.places if self.may_stand and not self.measures[place].is_text}

    @property
    def broken(self) -> set[int]:
        """The columns with texts that are broken into lines."""
        measures = self.measures
        texts = (each for each in self.places if self.may_break and measures[each].is_text)
        return {each for each in texts if measures[each].longest > _SHORTEST_LINE}

    @property
    def line_width(self) -> float:
        """Of broken texts: their share of what the page has left."""
        broken = self.broken
        return (self._page_width - self._width(0)) / len(broken) if broken else 0

    @property
    def is_within(self) -> bool:
        """Whether the columns are at most as wide as the page."""
        return self._width(_SHORTEST_LINE * self.size.digit) <= self._page_width

    @property
    def is_long(self) -> bool:
        """Whether the rows with caption and notes are higher than the page."""
        return self._height() > (_SHORT if self.is_turned else _LONG)

    @property
    def _page_width(self) -> int:
        return _LONG if self.is_turned else _SHORT

    def _width(self, line_width: float) -> float:
        digit, gap = self.size.digit, 2 * self.size.gap
        total = 0.0
        for group, places in groupby(self.places, lambda place: self.table.columns[place].group):
            total += max(sum(self._column(place, line_width) for place in places), text_length(group) * digit + gap)
        return total

    def _column(self, place: int, line_width: float) -> float:
        measure, size = self.measures[place], self.size
        heading = size.line if place in self.standing else measure.heading * size.digit
        return max(line_width if place in self.broken else measure.longest * size.digit, heading) + 2 * size.gap

    def _height(self) -> float:
        table, size = self.table, self.size
        lines = len(table.rows) + sum(map(self._further_lines, self.broken)) + 2 * _section_count(table)
        heading = max((self.measures[place].heading * size.digit for place in self.standing), default=size.line)
        notes = sum(10 * (1 + len(note) // _NOTE) for note in (*table.notes, *table.meanings.values()))
        return lines * size.line + heading + 50 + 12 * (len(table.caption) // _CAPTION) + notes

    def _further_lines(self, place: int) -> int:
        in_line = 0.9 * self.line_width / self.size.digit
        return sum(math.ceil(length(row[place], self.table.columns[place]) / in_line) - 1 for row in self.table.rows)


def fitted(table: Table) -> list[Fit]:
    """The first way to print the table that fits its page; if none does, its columns in parts that do."""
    measures = [_measure(table, place) for place in range(len(table.columns))]
    within = (fit for fit in _ways(table, measures) if fit.is_within)
    if fit := next(within, None):
        return [fit]
    return list(_parts(table, measures)) or [_part(table, measures, table.printed)]


def _measure(table: Table, place: int) -> Measure:
    column, cells = table.columns[place], [row[place] for row in table.rows]
    longest = max((length(cell, column) for cell in cells), default=0)
    return Measure(text_length(column.heading), longest, any(isinstance(value_of(cell), str) for cell in cells))


def _section_count(table: Table) -> int:
    return len({table.section_of(row) for row in table.rows} - {None})


def _ways(table: Table, measures: Sequence[Measure]) -> Iterator[Fit]:
    for is_turned in (False, True):
        for may_break in (False, True):
            for may_stand in (False, True):
                for size in _SIZES:
                    yield Fit(table, measures, table.printed, size, is_turned, may_stand, may_break)
    yield Fit(table, measures, table.printed, _LAST_RESORT, True, True, True)


def _parts(table: Table, measures: Sequence[Measure]) -> Iterator[Fit]:
    """As many columns at once as fit a turned page, each time after the one that labels the rows."""
    label, *others = table.printed
    while others:
        # At least one, however wide; each fit has one column more than that before.
        some = (_part(table, measures, [label, *others[:number]]) for number in range(1, len(others) + 1))
        first, *wider = takewhile(lambda fit: fit.is_within or len(fit.places) == 2, some)
        fit = wider[-1] if wider else first
        yield fit
        others = others[len(fit.places) - 1 :]


def _part(table: Table, measures: Sequence[Measure], places: Sequence[int]) -> Fit:
    return Fit(table, measures, places, _SIZES[-1], is_turned=True, may_stand=True, may_break=True)
