"""Releases of collections."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints

from gainboard.api.models.common import Model
from gainboard.notation.types import JsonBody, Text
from gainboard.store.records import Direction

Doi = Annotated[str, StringConstraints(pattern=r"^10\.[0-9]{4,9}/[!-~]+$", max_length=256)]


class NewRelease(JsonBody):
    """The description of a release, which cannot change later."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"title": "Web 2026", "metrics": ["nDCG@10", "AP"]}]})

    title: Text = Field("", description="By default the title of the collection")
    metrics: Annotated[list[Text], Field(max_length=50)] = Field(
        default_factory=list, description="The official metrics, whose boards are frozen; the collection's by default"
    )
    creators: Annotated[list[Text], Field(max_length=100)] = Field(
        default_factory=list, description="The people or organisations to cite, in this order"
    )
    license: Text = Field("", description="The licence of the data, such as the address of its text")
    doi: Doi | None = Field(None, description="A DOI that is reserved for the release", examples=["10.5281/zenodo.42"])
    run_files: bool = Field(True, description="Whether exports have the files of runs; if not, only their hashes")


class FrozenRelease(Model):
    """The description of a release."""

    name: str
    collection: str
    uuid: str = Field(description="The collection's; it is part of the ids of its jobs")
    number: int
    title: str
    creators: list[str]
    license: str
    doi: str | None
    corrects: int | None = Field(description="The number of the release before, which this one corrects")
    created_at: str
    run_files: bool = Field(description="Whether the files of runs are in the folder, or only their hashes here")
    citation: str


class FrozenJudgments(Model):
    """A published version of a judgment set."""

    judgments: str
    version: int
    sha256: str
    columns: str
    topics: int
    judged: int
    relevant: int
    per_level: dict[str, int]
    order_by: str
    ignore_identical_ids: bool
    created_at: str
    published_at: str


class FrozenRun(Model):
    """A run."""

    name: str
    team: str
    tag: str
    description: str | None
    type: str | None
    pooled: bool
    priority: int | None
    sha256: str
    topic_count: int
    retrieved: int
    created_at: str
    late: bool
    metadata_sha256: str | None = Field(
        None, description="SHA-256 of the file of ir_metadata beside it, if there is one"
    )


class FrozenMatrix(Model):
    """A version of a score matrix. Its scores are in a CSV file, with a row for each run."""

    name: str
    version: int
    direction: Direction
    low: float | None
    high: float | None
    missing: str | None
    filled: int = Field(description="The number of scores that were missing, and that `missing` says")
    dropped: list[str] = Field(description="The topics that were left out because of missing scores")
    sha256: str = Field(description="SHA-256 of the file that was uploaded, which may have had another form")
    csv_sha256: str = Field(description="SHA-256 of the CSV file")


class FrozenScores(FrozenMatrix):
    """A version of a score matrix that a release holds."""

    created_at: str


class FrozenRow(Model):
    """A row of a board. The means are by metric, and the intervals hold 95 %."""

    rank: int
    run: str
    team: str
    means: dict[str, float | None]
    intervals: dict[str, tuple[float, float] | None]
    groups: list[str] | None = Field(description="Letters; runs that share none are told apart")
    rank_set: tuple[int, int] | None = Field(description="The best and the worst rank that the run may have")


class FrozenBoard(Model):
    """The runs by their mean under one metric."""

    by: str
    topics: int | None
    test: str | None
    no_groups_because: str | None
    rows: list[FrozenRow]


class FrozenResult(Model):
    """The result of a job."""

    id: str
    kind: str
    title: str
    params: dict[str, Any]
    sha256: str
    engine_version: int
    finished_at: str
    judgments: str | None
    version: int | None = Field(description="The version of the judgments that it is about")
    runs: list[str] = Field(description="The runs among which its parameters choose")
    others: list[tuple[str, int]] = Field(description="The other versions that it is about")


class FrozenReport(Model):
    """A report about the collection alone."""

    id: str
    name: str
    params: dict[str, Any]
    sha256: str
    finished_at: str
    about: dict[str, Any] = Field(description="What the collection had when the report was planned")
    left_out: list[dict[str, str]]
    jobs: dict[str, str] = Field(description="The ids of its jobs, by the report's names for them")


class Archived(Model):
    """All that a release holds, as it was frozen."""

    form: int = Field(description="The version of this form")
    release: FrozenRelease
    made_by: dict[str, Any] = Field(description="The versions of what computed it")
    settings: dict[str, Any] = Field(description="The settings of the collection")
    judgments: list[FrozenJudgments]
    runs: list[FrozenRun]
    score_matrices: list[FrozenScores] = Field([], description="The uploaded scores of metrics `custom:NAME`")
    topic_groups: dict[str, list[str]]
    results: list[FrozenResult]
    reports: list[FrozenReport]
    audit: dict[str, Any] | None = Field(description="The number and hash of the newest entry of the log about it")
    metrics: list[str]
    board_version: dict[str, Any] = Field(description="The judgments of the boards")
    boards: list[FrozenBoard] = Field(description="One for each official metric")
    topics: list[str]
    scores: dict[str, dict[str, list[float | None]]] = Field(description="By metric and run, in the order of `topics`")


class ReleaseAnswer(Model):
    """An immutable release of a collection."""

    name: str = Field(description="The collection and the number, as in the page's address: `/r/web-1`")
    collection: str
    number: int
    title: str
    doi: str | None
    corrects: int | None = Field(description="The number of the release before, which this one corrects")
    citation: str = Field(description="A text by which to cite it")
    sha256: str = Field(description="SHA-256 of the document with all that was frozen")
    created_at: datetime


class WholeRelease(ReleaseAnswer):
    """A release with all that was frozen."""

    content: Archived
