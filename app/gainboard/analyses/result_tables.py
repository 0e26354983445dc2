"""Tables that are read from the models of results: a field says once what it is, and how tables show it.

For example, `table(SwapBin, "bins", "Swap rate by difference.", result.metrics, each="bins")` has the columns of

    class SwapBin(ResultModel):
        comparisons: Annotated[int, Shown()]
        swap_rate: Annotated[Number, Shown(digits=4)] = Field(description="Null without comparisons")

after one for the metric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

from typing_extensions import is_typeddict

from gainboard.exhibits import Cell, Column, Table

METRIC = Column("metric")
METRIC_SECTION = Column("metric", section=True)


@dataclass(frozen=True, slots=True)
class Shown:
    """The form of a field in tables, as metadata of its type. The other attributes are those of `Column`.

    Without a heading, the field's name is it. A field of several values, such as the ends of an interval, has a heading
    for each. `by` returns what is shown of the field's value, unless that is null.
    """

    heading: str | tuple[str, ...] = ""
    digits: int | None = None
    percent: bool = False
    group: str = ""
    level: bool = False
    by: Callable[[Any], Any] | None = None

    def columns(self, name: str = "", group: str | None = None) -> list[Column]:
        """Return the columns of a field with this name; in this group, if there is one."""
        headings = self.heading if isinstance(self.heading, tuple) else [self.heading or name.replace("_", " ")]
        form = Column("", "", self.digits, self.percent, group=group or self.group, level=self.level)
        return [replace(form, title=heading) for heading in headings]

    def cells(self, value: Any) -> Sequence[Cell]:
        """Return the cells of the field's value."""
        if self.by is not None and value is not None:
            value = self.by(value)
        if isinstance(self.heading, str):
            return (value,)
        return (None,) * len(self.heading) if value is None else tuple(value)


@dataclass(frozen=True)
class Fields:
    """Fields of a class of rows, a model or a TypedDict, in the order in which a table shows them."""

    row: type[Any]
    names: Sequence[str] | None = None
    """The names of the fields; by default all that the class shows."""
    group: str | None = None
    """The group of all columns; by default that of each field."""

    def columns(self) -> list[Column]:
        """Return the columns of these fields."""
        return [column for name, shown, _ in self._shown for column in shown.columns(name, self.group)]

    def cells(self, row: Any) -> Sequence[Cell]:
        """Return the cells of a row under these columns; all are undefined if there is no row."""
        return [cell for _, shown, read in self._shown for cell in shown.cells(None if row is None else read(row))]

    @cached_property
    def _shown(self) -> list[tuple[str, Shown, Callable[[Any], Any]]]:
        read = itemgetter if is_typeddict(self.row) else attrgetter
        metadata: Mapping[str, Sequence[Any]]
        # Rows of long lists are dictionaries, described by the same metadata as fields of models.
        if is_typeddict(self.row):
            metadata = {
                name: get_args(get_args(hint)[0] if get_origin(hint) is NotRequired else hint)
                for name, hint in get_type_hints(self.row, include_extras=True).items()
            }
        else:
            metadata = {name: field.metadata for name, field in self.row.model_fields.items()}
        shown = {name: form for name, about in metadata.items() for form in about if isinstance(form, Shown)}
        return [(name, shown[name], read(name)) for name in (shown if self.names is None else self.names)]


def fields(row: type[Any], *names: str, group: str | None = None) -> Fields:
    """Return the fields with these names; by default all that are shown, in the order of the class."""
    return Fields(row, names or None, group)


Part = type[Any] | Fields | Shown | Column
"""The form of neighbouring cells of a row: an object of this class has some of its fields there, a value has its own
form, and a cell has a column."""


def table(
    row: Part | Sequence[Part],
    name: str,
    caption: str,
    rows: Iterable[Any],
    *,
    each: str | Callable[[Any], Iterable[Any]] | None = None,
    in_sections: bool = False,
    notes: Sequence[str] = (),
) -> Table:
    """Return the table of rows of a class, with a column for each field that the class shows.

    If `row` is a sequence, each of the rows is a tuple that has an object, a value or a cell for each part of it. With
    `each`, `rows` are what a result says of each metric, and `each` names or returns the rows among it. The first
    column is then the metric, or it is the section.
    """
    parts: list[Part] = list(row) if isinstance(row, Sequence) else [row]
    tuples = rows if isinstance(row, Sequence) else ((only,) for only in rows)
    if each is not None:
        rows_of = attrgetter(each) if isinstance(each, str) else each
        parts.insert(0, METRIC_SECTION if in_sections else METRIC)
        tuples = ((metric.metric, under) for metric in rows for under in rows_of(metric))
    forms = [Fields(part) if isinstance(part, type) else part for part in parts]
    columns = [column for form in forms for column in ([form] if isinstance(form, Column) else form.columns())]
    cells = [
        tuple(
            cell
            for form, value in zip(forms, values, strict=True)
            for cell in ((value,) if isinstance(form, Column) else form.cells(value))
        )
        for values in tuples
    ]
    return Table(name, caption, columns, cells, notes=notes)
