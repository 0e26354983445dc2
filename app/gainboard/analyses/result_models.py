"""The form of results: what every result begins with, and parts that several kinds share.

Each kind of job has a model of its result in its own file. A field that is not in every result of the kind says when it
is there. NaN is null in JSON.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from typing_extensions import TypedDict  # that of Python 3.11 is not enough for pydantic

from gainboard.exhibits import LongTable, Table
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
    near_duplicates: list[NearDuplicate] | None = Field(
        None, description="Runs that distort comparisons of pairs; only of kinds that compare pairs of runs"
    )

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
