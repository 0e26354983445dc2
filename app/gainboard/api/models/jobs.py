"""Jobs and reports, their kinds, and the tables and figures of their results."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from gainboard.api.models.common import Model
from gainboard.evaluation.releases.document import FrozenMatrix
from gainboard.vocabulary import JobState, OrderBy, Origin


class TableAnswer(Model):
    """A table, and its address in each form."""

    name: str
    caption: str
    csv: str
    latex: str | None = Field(description="Null if the table is too long to be printed")
    notes: list[str] = Field([], description="Sentences that a reader of the table must know, as LaTeX prints them")

    @classmethod
    def below(cls, address: str, name: str, caption: str, *, only_csv: bool = False, **more: Any) -> Self:
        """Return the table of this name below the address of what it belongs to."""
        csv, latex = f"{address}/tables/{name}.csv", None if only_csv else f"{address}/tables/{name}.tex"
        return cls(name=name, caption=caption, csv=csv, latex=latex, **more)


class FigureAnswer(Model):
    """A figure and its address."""

    name: str
    caption: str
    svg: str

    @classmethod
    def below(cls, address: str, name: str, caption: str, **more: Any) -> Self:
        """Return the figure of this name below the address of what it belongs to."""
        return cls(name=name, caption=caption, svg=f"{address}/figures/{name}.svg", **more)


class Progress(Model):
    """The progress of the work, in parts of about equal cost. The last part puts the result together."""

    done: int
    total: int


ORIGIN = (
    "Whether the result was computed here, imported with a release, or imported and then computed again here by a "
    "verification, with the same numbers"
)


class JobAnswer(Model):
    """An analysis that runs outside a request. The same request on the same data is the same job, with the same id."""

    id: str = Field(description="SHA-256 of everything that the result depends on")
    collection: str
    kind: str
    state: JobState
    progress: Progress
    params: dict[str, Any] = Field(
        description="The parameters that are used: expressions as labels, defaults filled in"
    )
    qrels_version: int | None = Field(description="Null for a pool, which needs no judgments")
    judgment_set: str | None = Field("official", description="The judgment set of the version; null for a pool")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result_url: str | None = Field(description="Null until the job has succeeded")
    pairs_url: str | None = Field(description="The address of the tested pairs of runs; null if there are none")
    error: str | None = Field(description="Why the job failed")
    origin: Origin = Field("computed", description=ORIGIN)
    tables: list[TableAnswer] | None = Field(description="Null until the job has succeeded, and in lists")
    figures: list[FigureAnswer] | None = Field(description="Null until the job has succeeded, and in lists")


class PairAnswer(Model):
    """The verdict of a significance test on two runs under a metric."""

    metric: str
    runs: tuple[str, str]
    difference: float | None = Field(description="The first run's mean score minus the second's")
    asl: float | None = Field(description="Achieved significance level")
    asl_corrected: float | None = Field(
        None, description="The significance level after correction; null without a correction"
    )
    effect_size: float | None = Field(description="Null if the differences have no spread")
    interval: tuple[float | None, float | None] = Field(description="95 % interval of the difference")


class KindAnswer(Model):
    """A kind of job."""

    name: str
    definition: str
    params: dict[str, Any] = Field(description="JSON Schema of the parameters, with descriptions, defaults and limits")
    example: dict[str, Any] = Field(description="An example of a request body")
    result: dict[str, Any] = Field(description="JSON Schema of the result, with descriptions")


class KindsAnswer(Model):
    """The list of every kind of job."""

    items: list[KindAnswer]


class PaperTable(TableAnswer):
    """A table under its number in the paper. `collection` is null if it is about all collections."""

    number: str
    collection: str | None


class PaperFigure(FigureAnswer):
    """A figure under its number in the paper."""

    number: str
    collection: str | None


class NeededJob(Model):
    """A job whose result the report uses."""

    collection: str
    key: str = Field(description="The report's name for it")
    kind: str
    id: str
    state: JobState
    url: str


class NotThere(Model):
    """Tables or figures of the paper that are not available for this collection, and why."""

    collection: str
    what: str
    why: str


class ReportAnswer(Model):
    """A paper's tables and figures for stored collections. The same request on the same data is the same report."""

    id: str = Field(description="SHA-256 of everything that the report depends on")
    name: str
    title: str
    collections: list[str]
    state: JobState = Field(description="The state of all its jobs together; failed as soon as one job has failed")
    progress: Progress
    params: dict[str, Any]
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    result_url: str | None = Field(description="Null until the report has succeeded")
    error: str | None = Field(description="Why the report failed")
    origin: Origin = Field("computed", description=ORIGIN)
    jobs: list[NeededJob]
    left_out: list[NotThere] = Field(description="What is known to be missing before the jobs run")
    tables: list[PaperTable] | None = Field(description="Null until the report has succeeded, and in lists")
    figures: list[PaperFigure] | None = Field(description="Null until the report has succeeded, and in lists")


class ReportKindAnswer(Model):
    """A kind of report."""

    name: str
    title: str = Field(description="The paper's")
    reference: str
    definition: str
    params: dict[str, Any] = Field(description="JSON Schema of the parameters, with descriptions, defaults and limits")
    example: dict[str, Any] = Field(description="An example of a request body")


class ReportKindsAnswer(Model):
    """The list of every kind of report."""

    items: list[ReportKindAnswer]


class DependedSettings(Model):
    """The settings of the collection on which results depend, as a new collection takes them."""

    name: str
    uuid: str = Field(description="Part of the id of each of its jobs")
    levels: list[str] | int
    gains: str
    depth: int
    order_by: OrderBy
    ignore_identical_ids: bool
    intents: bool
    topics: list[str] | None


class DependedQrels(Model):
    """A version of judgments that a result depends on."""

    judgments: str
    version: int
    sha256: str = Field(description="SHA-256 of the decompressed file")
    columns: str
    order_by: OrderBy
    ignore_identical_ids: bool


class DependedRun(Model):
    """A run that a result depends on: one of those among which the job's parameters choose."""

    name: str
    team: str
    sha256: str = Field(description="SHA-256 of the decompressed file")
    type: str | None
    pooled: bool
    priority: int | None


class DependedFiles(Model):
    """The files of a collection that results depend on, with its settings."""

    collection: DependedSettings
    qrels: list[DependedQrels]
    runs: list[DependedRun]
    score_matrices: list[FrozenMatrix] = Field([], description="The uploaded scores of metrics `custom:NAME`")


class Dependencies(DependedFiles):
    """All that a job's result depends on. With the files of these hashes, `gainboard verify` computes it elsewhere."""

    job: str
    kind: str
    params: dict[str, Any] = Field(description="The parameters of a request for the job, with the version's number")
    engine_version: int = Field(description="The version of what computed it")
    result_sha256: str


class DependedChapter(DependedFiles):
    """All that a report depends on of one of its collections."""

    topic_groups: dict[str, list[str]]
    published: list[int] = Field(
        description="The versions of its judgment set that there were; its files are in `qrels`"
    )
    engine_versions: dict[str, int] = Field(description="The versions of what computed its jobs, by kind")


class ReportDependencies(Model):
    """All that a report depends on. With the files of these hashes, `gainboard verify` computes it elsewhere."""

    report: str
    name: str
    params: dict[str, Any] = Field(description="The parameters of a request for the report, with versions' numbers")
    result_sha256: str
    chapters: list[DependedChapter]
