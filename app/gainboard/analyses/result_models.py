"""The form of results: what every result begins with, and parts that several kinds share.

Each kind of job has a model of its result in its own file. A field that is not in every result of the kind says when it
is there. NaN is null in JSON.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import (
    TypedDict,  # that of Python 3.11 is not enough for pydantic
    is_typeddict,
)

from gainboard.exhibits import Cell, Column, LongTable, Table
from gainboard.exhibits.figures import Figure


def _undefined_as_null(number: float | None) -> float | None:
    return number if number is None or math.isfinite(number) else None


# JSON has no NaN. It is null in the model already, so that tables show what readers of the JSON get.
Number = Annotated[float | None, AfterValidator(_undefined_as_null)]
"""A number, or null where it is undefined. It may be given as NaN."""


class ResultModel(BaseModel):
    """The base of every model of a result. Its validator is built on first use."""

    model_config = ConfigDict(defer_build=True, extra="forbid", serialize_by_alias=True)


class ResultRow(TypedDict):
    """The base of the rows of lists that may be long: plain dictionaries, a third of the size of models."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # type: ignore[misc]  # pydantic reads it, as its docs say


class GroupCounted(ResultModel):
    """The chosen topics that a result is about."""

    name: str | None = Field(description="Of the topic group; null for topics that were listed")
    topics: int = Field(description="How many were chosen")
    judged: int = Field(description="How many of them are judged")
    unjudged: list[str] = Field(description="Chosen topics without judgments, which do not count")


class UploadedScores(ResultModel):
    """A metric whose scores were uploaded."""

    metric: str
    direction: str = Field(description="`up` if higher scores are better, else `down`")
    range: list[float] | None = Field(description="The lowest and the highest possible score; null if not given")
    sha256: str = Field(description="SHA-256 of the uploaded scores")
    negated: bool = Field(description="Whether the sign was changed, so that higher is better")


class IdenticalRun(ResultModel):
    """A run that was left out."""

    run: str
    identical_to: str = Field(description="The earlier run of its team that ranks all documents alike")


class NearDuplicate(ResultModel):
    """A run that repeats an earlier run except on a few topics."""

    run: str
    repeats: str = Field(description="The earlier run")
    topics: list[str] = Field(description="The topics on which they differ")
    first_ranks: int | None = Field(description="How many ranks were compared; null for all")


class JobResult(ResultModel, ABC):
    """The fields that every result begins with."""

    kind: str = Field(description="The kind of job")
    collection: str = Field(description="Its name")
    qrels_version: int | None = Field(description="The version of the judgments; null for a pool, which needs none")
    judgment_set: str | None = Field(description="The judgment set of the version; null for a pool")
    runs: list[str] = Field(description="The names of the runs")
    engine_version: int = Field(description="The version of what computed it; an equal request then has equal numbers")
    topic_group: GroupCounted | None = Field(None, description="Only of a job about chosen topics")
    uploaded_scores: list[UploadedScores] | None = Field(None, description="Only with metrics `custom:NAME`")
    runs_left_out: list[IdenticalRun] | None = Field(None, description="Only with `drop_identical`")
    replicates: dict[str, list[str]] | None = Field(None, description="The runs of each system, if any has several")
    near_duplicates: list[NearDuplicate] | None = Field(
        None, description="Runs that distort comparisons of pairs; only of kinds that compare pairs of runs"
    )

    @abstractmethod
    def verdict(self) -> str:
        """Return the answer in a sentence or two, made from the result alone."""

    @abstractmethod
    def tables(self) -> Sequence[Table | LongTable]:
        """Return the tables that show the result. They are made from it alone."""

    def figures(self) -> Sequence[Figure]:
        """Return the figures that show the result: none where a few numbers are a table."""
        return ()


class CountedTopics(ResultModel):
    """The topics that a result is about."""

    topics: int = Field(description="Topics that count")
    topics_left_out: list[str] = Field(description="The topics for which a metric is undefined")
    left_out_because: str | None = Field(description="Why; null if none is left out")


class SpreadOverSubsets(ResultModel):
    """A value over drawn subsets of topics."""

    mean: Number
    low: Number = Field(description="5th percentile")
    high: Number = Field(description="95th percentile")
    undefined: int = Field(description="Subsets for which it is undefined")


class TopicsResult(CountedTopics, JobResult):
    """A result about the topics for which every metric is defined."""


class SubsetsResult(TopicsResult):
    """A result over random subsets of the topics."""

    seed: int = Field(description="Of everything that was drawn")
    trials: int = Field(description="Subsets that were drawn")
    subset_size: int = Field(description="Topics of a subset")


class ReportedJob(ResultModel):
    """A job whose result a report uses."""

    collection: str
    key: str = Field(description="The report's name for it")
    kind: str
    id: str


class ReportedColumn(ResultModel):
    """A column of a table."""

    title: str
    unit: str
    group: str = Field(description="The heading that it shares with its neighbours")
    section: bool = Field(description="Whether its cells are headings of the rows below")


class CountedShare(ResultModel):
    """A share, and what it is of."""

    count: int
    of: int
    share: Number


class ReportedMark(ResultModel):
    """A marked cell."""

    row: int = Field(description="Counted from 0")
    column: int = Field(description="Counted from 0")
    mark: str = Field(description="A key of `meanings`")


class ReportedTable(ResultModel):
    """A table of the paper."""

    number: str = Field(description="Its number in the paper")
    collection: str | None = Field(description="Null if it is about all collections")
    name: str
    caption: str
    columns: list[ReportedColumn]
    rows: list[list[str | int | float | CountedShare | None]]
    marks: list[ReportedMark]
    meanings: dict[str, str] = Field(description="What marks mean")
    notes: list[str] = Field(description="Sentences that a reader of the table must know")


class ReportedFigure(ResultModel):
    """A figure of the paper. A panel has curves (`series`), or a matrix (`rows`, `columns` and `values`)."""

    number: str = Field(description="Its number in the paper")
    collection: str | None = Field(description="Null if it is about all collections")
    name: str
    caption: str
    highlight: str
    panels: list[dict[str, Any]]


class ReportedAbsence(ResultModel):
    """Tables or figures of the paper that are missing, and why."""

    collection: str | None
    what: str
    why: str


class ReportedRemark(ResultModel):
    """A warning for readers."""

    collection: str
    text: str


class ReportResult(ResultModel):
    """A paper's tables and figures, with their numbers."""

    report: str
    title: str
    reference: str
    params: dict[str, Any]
    collections: list[dict[str, Any]] = Field(
        description="What each collection had, such as its levels, depth, runs and teams"
    )
    jobs: list[ReportedJob]
    tables: list[ReportedTable]
    figures: list[ReportedFigure]
    left_out: list[ReportedAbsence]
    remarks: list[ReportedRemark]


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
