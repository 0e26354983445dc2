"""Judgments: qrels versions, judgment sets, and the impact of a correction."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.common import Model, ReceiptAnswer, WarningAnswer
from gainboard.notation.types import JsonBody
from gainboard.vocabulary import Columns, OrderBy, SetState


class QrelsAnswer(Model):
    """One immutable version of the judgments, with its numbers of topics, judged and relevant documents."""

    version: int
    judgments: str = Field("official", description="The judgment set of the version")
    state: Literal["draft", "published"] = Field(description="Only organisers see drafts")
    in_use: bool = Field(description="Whether it answers requests that name no version: it was published last")
    published_at: datetime | None = Field(description="When it was published, for the last time")
    topics: int
    judged: int
    relevant: int
    per_level: dict[str, int]
    columns: Columns
    sha256: str
    order_by: OrderBy = Field(description="What determines the rank of a document in the runs judged by this version")
    ignore_identical_ids: bool = Field(
        description="Whether lines of these runs are left out whose document id is their topic's"
    )
    created_at: datetime
    warnings: list[WarningAnswer]
    job: str | None = Field(
        None, description="The job that judges all runs by it, and publishes it unless a draft was asked for"
    )
    receipt: ReceiptAnswer | None = Field(None, description="Only in the answer of an upload")


class SurveyAnswer(Model):
    """A qrels file in numbers: what a collection for it needs."""

    levels: int = Field(description="The highest level: the number of levels of relevance")
    topics: list[str] = Field(description="In byte order")
    judged: int
    relevant: int = Field(description="Documents of a level above 0")


class JudgmentSetAnswer(Model):
    """A judgment set, with the numbers of the version in use; these are null as long as none is published."""

    name: str
    state: SetState = Field(
        description="Only organisers see a hidden set. A released one is shown to whoever may see the judgments of the "
        "collection"
    )
    created_at: datetime | None = Field(description="Null for the official set, which is as old as the collection")
    released_at: datetime | None = Field(description="Null for the official set, which is released with the collection")
    versions: int = Field(description="Number of its versions; drafts count only for organisers")
    qrels_version: int | None = Field(description="The version in use")
    topics: int | None
    judged: int | None
    relevant: int | None


class JudgmentSetChange(JsonBody):
    """A change of a judgment set."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"state": "released"}]})

    state: SetState


Kind = Literal["same_better", "no_difference", "appears", "disappears", "reverses"]


class JudgmentChange(Model):
    """A document whose judgment differs. A level is null if the document is not judged."""

    topic: str
    document: str
    old: str | None
    new: str | None


class JudgmentsImpact(Model):
    """The differences between the judgments."""

    added: int
    removed: int
    changed: int
    unchanged: int
    levels: list[str | None] = Field(description="Names of the rows and columns of `table`; null means not judged")
    table: list[list[int]] = Field(
        description="Numbers of documents: one row for each old level, one column for each new level"
    )
    changes: list[JudgmentChange] = Field(description="The first 100, by topic and document")
    topics_added: list[str]
    topics_removed: list[str]
    topics_changed: list[str]


class RunImpact(Model):
    """The changes for one run under one metric. Runs with equal means share a rank."""

    name: str
    team: str
    mean_before: float | None
    mean_after: float | None
    change: float | None
    rank_before: int
    rank_after: int


class FlipAnswer(Model):
    """A pair of runs whose verdict changed; null means no significant difference."""

    runs: tuple[str, str]
    asl_before: float
    asl_after: float
    better_before: str | None
    better_after: str | None


class SignificanceImpact(Model):
    """The verdicts of a test on all pairs of runs under both versions, over the topics with a score under both."""

    test: str
    alpha: float
    topics: int
    counts: dict[Kind, int] = Field(description="Numbers of pairs by verdict before and after")
    flips: list[FlipAnswer] = Field(description="The pairs whose difference appears, disappears or reverses")


class MetricImpactAnswer(Model):
    """The changes for all runs under one metric."""

    metric: str
    runs: list[RunImpact]
    tau_b: float | None = Field(description="Kendall's tau between the two rankings; null if all runs tie in either")
    largest_rank_change: int
    topics_become_defined: list[str]
    topics_become_undefined: list[str]
    significance: SignificanceImpact | None = Field(
        description="Null for fewer than two runs or topics, and for geometric means"
    )


class ImpactAnswer(Model):
    """The comparison of two qrels versions: judgments, scores, rankings, significant differences."""

    collection: str
    qrels_version: int
    against: int
    judgment_set: str = Field("official", description="The judgment set of the version")
    against_set: str = Field("official", description="The judgment set of the version that it is compared with")
    metrics: list[str] = Field(description="Labels: each metric with all its parameters")
    asked: dict[str, str] = Field(description="Maps each expression of the request to its label")
    judgments: JudgmentsImpact
    impact: list[MetricImpactAnswer] = Field(description="In the order of `metrics`")


class NuggetsAnswer(Model):
    """A version of the nuggets: facts that a good answer to a topic has."""

    version: int
    state: Literal["draft", "published"] = Field(description="Only organisers see drafts")
    in_use: bool = Field(description="Whether answers are scored by it: it was published last")
    topics: int
    nuggets: int
    strays: int = Field(description="Nuggets that are neither vital nor okay, which count for `all` alone")
    sha256: str = Field(description="SHA-256 of the file")
    created_at: datetime
    published_at: datetime | None
    unfit: list[str] = Field([], description="The verdicts on answers that do not fit it, after its publication")


class JudgeAnswer(Model):
    """A judge of answers, such as a person or a model, and the runs that it has judged."""

    judge: str
    runs: int
    topics: int = Field(description="Topics of the nuggets in use; in a sample, those with a verdict")
    unanswered: dict[str, int] = Field(
        description="Topics of these without assigned nuggets, by run: they score 0, or have no score in a sample"
    )
    sample: bool = Field(description="Whether some run was judged on a sample of the topics")
    metrics: list[str] = Field(description="The metrics that follow")
    new_runs: list[str] = Field([], description="Runs that the upload has made, which have no ranking")
    strays: int = Field(0, description="Labels of the uploaded file that are none of the known ones")


class NuggetCount(Model):
    """A nugget, and how many of the judged runs have it."""

    text: str
    importance: Literal["vital", "okay", "other"]
    full: int
    partial: int
    none: int


class NuggetCounts(JudgeAnswer):
    """A judge, with the number of runs that have each nugget, by topic."""

    by_topic: dict[str, list[NuggetCount]]
