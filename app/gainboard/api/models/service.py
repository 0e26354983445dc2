"""The service itself: its health, its limits, its metrics, and the design of collections."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from gainboard import __version__
from gainboard.api.models.common import Model
from gainboard.notation.types import JsonBody
from gainboard.vocabulary import DesignMethod


class Health(Model):
    """The answer that the service runs, with its version."""

    status: str = "ok"
    version: str = __version__


class Ready(Model):
    """The answer whether the service can serve requests."""

    status: str = "ok"
    database: str = "ok"
    jobs: Literal["here", "elsewhere", "off"] = Field(
        description="Whether this server runs jobs: `here`, `elsewhere` (it leaves them to another one, and may take "
        "over soon), or `off`: it never does"
    )
    job_slots: int = Field(description="The number of processes in which this server may run jobs")
    servers: int = Field(description="The number of servers of the database that live")
    workers: int = Field(description="The number of workers of the database that live (`gainboard worker`)")
    worker_slots: int = Field(description="The number of processes in which these workers may run jobs")
    worker_slots_busy: int = Field(description="The number of these that work now")
    compiled: dict[str, bool] = Field(
        description="What the `fast` extra can compile, and whether it is loaded; plain code runs otherwise"
    )


class Door(Model):
    """The addresses to start from."""

    name: str = "Gainboard"
    version: str = __version__
    documentation: str = "/docs"
    openapi: str = "/openapi.json"
    metrics: str = "/v1/metrics"
    collections: str = "/v1/collections"
    job_kinds: str = "/v1/job-kinds"
    report_kinds: str = "/v1/report-kinds"


class UploadLimits(Model):
    """The limits on one file."""

    model_config = ConfigDict(from_attributes=True)

    compressed_bytes: int
    decompressed_bytes: int
    lines: int
    topic_lines: int
    topics: int = Field(description="Topics of a run; a collection with few declared topics allows fewer")
    line_bytes: int
    ratio: int


class QuotaAnswer(Model):
    """A quota: its limit and what is used of it. The limit is null if there is none."""

    model_config = ConfigDict(from_attributes=True)

    limit: int | None
    used: int
    left: int | None
    resets_at: datetime | None = None


class Team(Model):
    """The quotas and budget of the token's team."""

    opens_at: datetime | None = Field(description="Uploads are accepted from this time")
    closes_at: datetime | None = Field(description="Uploads are refused from this time")
    runs: dict[str, QuotaAnswer] = Field(description="`per_day` (UTC), `total`, and `concurrent` uploads")
    bytes: QuotaAnswer = Field(
        description="Decompressed bytes of the stored runs. Withdrawn runs count until their content is deleted"
    )
    answers: QuotaAnswer = Field(
        description="Distinct scores (of an expression and a run): those under presets of all runs that can be "
        "scored, and all others that the team has received"
    )
    bits_an_answer: float | None = Field(
        description="The most bits that one answer can reveal, by the widest range of the presets' scores; null if all "
        "scores are shown, or scores of topics that are not declared"
    )
    bits_left: float | None = Field(description="The most bits that the remaining answers can reveal")


class MyLimits(Model):
    """The limits of this token. Null fields: nothing is counted for this token."""

    submissions_left: int | None
    answers_left: int | None
    team: Team | None = Field(description="Null for tokens without a team")
    upload: UploadLimits


class ParameterAnswer(Model):
    """A parameter of a metric expression."""

    name: str
    default: Any = Field(description="Null if it depends on the collection's levels")
    limits: str
    schema_: dict[str, Any] = Field(alias="schema")
    description: str
    only_in_expressions: bool = Field(description="Whether requests cannot give a default for it")


class MetricAnswer(Model):
    """A metric."""

    name: str
    title: str
    aliases: list[str]
    implied: dict[str, dict[str, str]] = Field(
        description="The values of parameters that an alias stands for, by alias, if it stands for any",
        examples=[{"gm_map": {"mean": "geometric"}}],
    )
    definition: str
    reference: str
    graded: bool = Field(description="Whether the gain setting changes its scores")
    bounded: bool = Field(description="Whether all its scores lie in [0, 1]")
    needs_intents: bool = Field(description="Whether it needs a collection with judgments by intent")
    takes_cutoff: bool
    parameters: list[ParameterAnswer]


class PresetAnswer(Model):
    """A short name for several metrics; it is allowed wherever metrics are listed."""

    name: str
    title: str
    definition: str
    reference: str
    expressions: list[str] = Field(
        description="The metrics that replace it in a collection with three relevance levels"
    )


class Catalogue(Model):
    """Every metric and every preset."""

    items: list[MetricAnswer]
    presets: list[PresetAnswer]


class KnownVariance(JsonBody):
    """The variance of scores in one collection, to be pooled with others."""

    variance: float
    degrees_of_freedom: int = Field(description="Runs x (topics - 1)")


class DesignRequest(JsonBody):
    """A request for a design. `t-test` and `anova` need `difference`, `anova` also `runs`; `interval` needs `width`.

    `t-test`, `interval` and `detect` take one of `variance` and `difference_variance`, and `anova` takes `variance`.
    `interval` takes `correlation` and `topics` of a cheap judge, whose means people correct. `detect` is the reverse of
    `t-test`: it needs `topics`, and may take `runs`, of which all pairs are compared.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"method": "t-test", "difference": 0.1, "variance": 0.05}]}
    )

    method: DesignMethod = Field(
        description="What should succeed: the paired t-test of two runs, the analysis of variance of several, a narrow "
        "confidence interval of the difference of two runs; or `detect`: the smallest difference that topics show"
    )
    difference: float | None = Field(
        None, description="The smallest difference of means to find; for `anova`, that of the best and the worst"
    )
    width: float | None = Field(None, description="The wanted width of the interval, with level 1 - alpha")
    variance: float | Annotated[list[KnownVariance], Field(min_length=1, max_length=100)] | None = Field(
        None,
        description="Variance of scores within runs, as a job of kind `topic-set-size` reports it; those of several "
        "collections are pooled by their degrees of freedom",
    )
    difference_variance: float | None = Field(
        None, description="Variance of the differences of two runs by topic; twice `variance` if that is given"
    )
    noise: float | None = Field(
        None,
        description="Variance of replicates (job kind `noise`), divided by their number: adds to the other variance",
    )
    runs: int | None = Field(None, description="Number of runs that are compared; two by default with `detect`")
    alpha: float = Field(0.05, description="Significance level")
    power: float | None = Field(
        None, description="Probability with which the difference should be found; 0.8 by default"
    )
    correlation: float | None = Field(
        None,
        description="With `interval`: correlation of differences under a cheap judge of all topics with those under "
        "people, by topic, from 0 to 1. The answer is then how many topics people must judge",
    )
    topics: int | None = Field(
        None,
        description="With `correlation`: number of topics that the cheap judge has; any number by default. With "
        "`detect`: number of topics of the collection",
    )


class DesignAnswer(Model):
    """The smallest number of topics that is enough (Sakai, Information Retrieval Journal 19(3), 2016)."""

    method: str
    topics: int = Field(description="With `correlation`, those that people must judge; with `detect`, those given")
    power: float | None = Field(description="The power with so many topics; null for `interval`")
    width: float | None = Field(description="The expected width of the interval; null for the tests")
    variance: float = Field(description="The variance that was used: of scores for `anova`, else of differences")
    doubled_variance: bool = Field(
        description="Whether the variance of differences was taken to be twice that of scores. Two runs share the hard "
        "and the easy topics, so the average pair needs no more topics; a single pair of unlike runs may"
    )
    topics_alone: int | None = Field(
        None, description="With `correlation`: topics that are needed without the cheap judge; null for over a million"
    )
    difference: float | None = Field(
        None, description="With `detect`: the smallest difference of means that the paired t-test finds with this power"
    )
