"""Runs, their profiles, and scores from elsewhere."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from operator import is_
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from gainboard.api.models.common import Model, ReceiptAnswer, WarningAnswer
from gainboard.notation.queries import MOST_PRIORITY
from gainboard.notation.texts import SLUG_PATTERN
from gainboard.notation.types import JsonBody
from gainboard.vocabulary import Direction, Variant

_of_replicate = partial(Field, None, exclude_if=partial(is_, None))


class RunAnswer(Model):
    """A stored run. `unjudged_share` is null if the judgments are hidden or do not exist."""

    name: str
    team: str
    tag: str = Field(description="The sixth column of the file (the run tag), unchanged")
    description: str | None
    type: str | None
    pooled: bool
    priority: int | None = Field(
        None, description="Place among the runs of its team, from 1: a pool may take the first runs of each team"
    )
    system: str | None = _of_replicate(description="The system of which the run is a replicate")
    replicate: str | None = _of_replicate(description="What tells the run from its system's other replicates")
    family: str | None = Field(None, description="Family of the models that it was built with")
    topics: int
    retrieved: int = Field(description="Number of documents, after truncation to the collection's depth")
    unjudged_share: float | None
    sha256: str = Field(description="SHA-256 of the decompressed file")
    created_at: datetime = Field(description="When the whole file had arrived")
    late: bool = Field(False, description="Whether the run came after the release of judgments that were hidden before")
    warnings: list[WarningAnswer]
    receipt: ReceiptAnswer | None = Field(None, description="In the answer of an upload; later at `.../receipt`")


class MetadataFileAnswer(Model):
    """A file of ir_metadata beside a run, such as tirex-tracker writes."""

    metadata: dict[str, Any] | None = Field(description="Its values")
    sha256: str = Field(description="SHA-256 of the decompressed file")
    faults: list[str] = Field(description="What is wrong with it")


class RunMetadataAnswer(Model):
    """The ir_metadata of a run: the header in its file, and the file beside it."""

    metadata: dict[str, Any] | None = Field(description="Its values; null if there is no header, or if it is not YAML")
    text: str | None = Field(description="The header as YAML, without the signs of comments; null if there is none")
    faults: list[str] = Field(description="What is wrong with it")
    file: MetadataFileAnswer | None = Field(description="The file beside the run; null if there is none")


Priority = Annotated[int, Field(ge=1, le=MOST_PRIORITY)]


class RunChange(JsonBody):
    """A change of a run. A field that is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"priority": 1}]})

    priority: Priority | None = Field(
        None, description="Place among the runs of its team, from 1; null: after those with a number, by name"
    )
    family: Annotated[str, Field(pattern=SLUG_PATTERN)] | None = Field(
        None, description="Family of the models that it was built with; null for none"
    )


class RunProfileAnswer(Model):
    """The curves of one run. Lists by rank begin at rank 1; null if no topic counts."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    name: str
    team: str
    late: bool = Field(False, description="Whether the run came after the release")
    gains: str
    rel: int = Field(description="The lowest relevant level")
    depth: int
    judged_share: list[float | None] = Field(
        description="Share of judged documents among the first r retrieved, the mean over the topics that the run has"
    )
    gain: list[float | None] = Field(description="Mean cumulated gain at rank r, the metric CG@r")
    ideal_gain: list[float | None] = Field(description="Mean cumulated gain of the ideal rankings at rank r")
    recall: list[float] = Field(description="0, 0.1, ..., 1")
    precision: list[float | None] = Field(
        description="Mean interpolated precision at each recall, over the topics with relevant documents"
    )
    topics_scored: int = Field(description="Number of topics with relevant documents")


class IdentifyAnswer(Model):
    """The variants that give numbers of a run."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    name: str
    sentences: list[str] = Field(description="The variants in words")
    variants: list[Variant] = Field(description="By number, the most plausible first")


class JudgedSharesOfRun(Model):
    """The shares of judged documents of a run."""

    name: str
    team: str
    shares: list[float | None] = Field(
        description="Share of judged documents among the first r retrieved, for r from 1: the mean over the topics "
        "that the run has; null if it has none"
    )


class JudgedSharesAnswer(Model):
    """The shares of judged documents of all runs, by rank."""

    collection: str
    qrels_version: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    depth: int = Field(description="The number of ranks")
    mean: list[float | None] = Field(description="The mean over the runs that have shares")
    run_count: int = Field(description="Number of runs that there are; the first by name are in `runs`")
    runs: list[JudgedSharesOfRun]


class MatrixAnswer(Model):
    """A version of a score matrix: scores of its runs on its topics."""

    name: str
    metric: str = Field(description="The expression of the metric, such as `custom:nuggets`")
    label: str = Field(description="The same with the version, as answers and jobs show it")
    version: int
    direction: Direction = Field(description="Whether higher or lower scores are better")
    low: float | None = Field(description="The lowest score that is possible; null without a range")
    high: float | None
    missing: str | None = Field(
        description="The rule for missing scores: a number, `zero`, `drop-topic` or `leave-out`"
    )
    filled: int = Field(description="Number of missing scores that the rule filled, or left out")
    dropped: list[str] = Field(description="Topics that were left out because a run had no score")
    runs: int
    topics: int
    sha256: str = Field(description="SHA-256 of the file")
    created_at: datetime
    receipt: ReceiptAnswer | None = Field(None, description="Only in the answer of an upload")


class WholeMatrix(MatrixAnswer):
    """A score matrix with its scores."""

    run_names: list[str]
    topic_names: list[str]
    scores: list[list[float | None]] = Field(
        description="A row for each run, a column for each topic; null where a score is missing"
    )
