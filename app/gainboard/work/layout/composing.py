"""The composition of a report from what it lays out for each collection: names, averages, and what is missing."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from gainboard.exhibits import Figure, Table
from gainboard.exhibits.tables import value_of
from gainboard.work.layout.laid import (
    Laid,
    LaidFigure,
    LaidTable,
    LeftOut,
    Remark,
    average,
    finished_under_seeds,
    joined,
    slug,
)

E = TypeVar("E", Table, Figure)
P = TypeVar("P", LaidTable, LaidFigure)
Chapters = Mapping[str, Sequence[Laid]]
"""The laid-out items, by the collection's name."""


@dataclass(frozen=True, slots=True)
class Placed(Generic[E]):
    """A table or figure under its name in the report, of one collection or of all of them (None)."""

    number: str
    collection: str | None
    exhibit: E


@dataclass(frozen=True, slots=True)
class Answer:
    """The content of a report. Tables and figures are in the order of the paper, then of the collections."""

    tables: Sequence[Placed[Table]]
    figures: Sequence[Placed[Figure]]
    left_out: Sequence[tuple[str | None, LeftOut]]
    """The exhibits that are left out, each with its collection, or None if it would have been about all of them."""
    remarks: Sequence[tuple[str, Remark]]

    @property
    def cells(self) -> int:
        """The approximate size of the answer: its cells and points."""
        points = sum(len(series.x) for each in self.figures for series in each.exhibit.series)
        return points + sum(len(each.exhibit.rows) * len(each.exhibit.columns) for each in self.tables)


def compose(chapters: Chapters, remark: str = "") -> Answer:
    """Return the report's answer. `remark` is added to each caption.

    `tables-3-6a` of collection C becomes `tables-3-6a.C`. The average over several collections has the paper's own
    number for it, or is `average-tables-3-6a`.
    """
    everything = [(name, each) for name, laid in chapters.items() for each in laid]
    tables = list(_tables([(name, each) for name, each in everything if isinstance(each, LaidTable)]))
    figures = _figures([(name, each) for name, each in everything if isinstance(each, LaidFigure)])
    return Answer(
        [_captioned(each, remark) for each in tables if isinstance(each, Placed)],
        [_captioned(each, remark) for each in figures],
        [
            *((name, each) for name, each in everything if isinstance(each, LeftOut)),
            *((None, each) for each in tables if isinstance(each, LeftOut)),
        ],
        [(name, each) for name, each in everything if isinstance(each, Remark)],
    )


def _captioned(placed: Placed[E], remark: str) -> Placed[E]:
    return replace(placed, exhibit=replace(placed.exhibit, caption=placed.exhibit.caption + remark))


def _tables(laid: Sequence[tuple[str, LaidTable]]) -> Iterator[Placed[Table] | LeftOut]:
    for number, of_each in _by_number(laid).items():
        first = next(iter(of_each.values()))
        if first.is_joined:
            yield Placed(number, None, _joined(of_each))
            continue
        for name, each in of_each.items():
            yield Placed(number, name, _named(each.finished(), f"{slug(number)}.{name}", f"{number}, {name}"))
        if len(of_each) > 1 and first.has_average:
            what, mean = first.average or f"{number}, averages", _average(of_each)
            if _has_numbers(mean):
                yield Placed(first.average or number, None, mean)
            else:
                yield LeftOut(what, f"the tables of {', '.join(of_each)} share no row and column with a number")


def _joined(of_each: Mapping[str, LaidTable]) -> Table:
    first = next(iter(of_each.values()))
    table = joined([each.table for each in of_each.values()])
    return first.finish(_named(table, slug(first.number), first.number))


def _average(of_each: Mapping[str, LaidTable]) -> Table:
    first = next(iter(of_each.values()))
    name = slug(first.average) if first.average else f"average-{slug(first.number)}"
    number = first.average or f"{first.number}, averages"
    under_each_seed = zip(*([each.table, *each.by_seed] for each in of_each.values()), strict=True)
    mean, *others = (average(tables) for tables in under_each_seed)
    caption = f"{first.table.caption} Unweighted averages over {len(of_each)} collections: {', '.join(of_each)}."
    named = _named(replace(mean, caption=caption), name, number)
    return finished_under_seeds(first.finish, [named, *others])


def _has_numbers(table: Table) -> bool:
    """Return whether the table contains numbers: tables that share rows may share no column."""
    return any(not isinstance(value_of(cell), str) for row in table.rows for cell in row)


def _figures(laid: Sequence[tuple[str, LaidFigure]]) -> Iterator[Placed[Figure]]:
    for number, of_each in _by_number(laid).items():
        for name, each in of_each.items():
            yield Placed(number, name, _named(each.figure, f"{slug(number)}.{name}", f"{number}, {name}"))


def _by_number(laid: Sequence[tuple[str, P]]) -> dict[str, dict[str, P]]:
    """Return the items by number and collection.

    Numbers are in the order of the paper, even if the first collections lack some.
    """
    order: list[str] = []
    places: dict[str, int] = defaultdict(int)
    found: dict[str, dict[str, P]] = defaultdict(dict)
    for name, each in laid:
        if each.number not in found:
            order.insert(places[name], each.number)
        places[name] = order.index(each.number) + 1
        found[each.number][name] = each
    return {number: found[number] for number in order}


def _named(exhibit: E, name: str, before: str) -> E:
    return replace(exhibit, name=name, caption=f"{before}. {exhibit.caption}")
