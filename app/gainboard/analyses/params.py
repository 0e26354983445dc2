"""The parameters of every job: metrics, runs, qrels version, and defaults for metrics' parameters.

A request is *settled* once: each metric expression becomes its label, and the defaults are applied. The settled request
contains everything that the result depends on. A job shows it and is identified by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, StringConstraints

from gainboard.analyses.labels import Labels, as_text
from gainboard.evaluation.scoring.selection import AllRuns, BestPerTeam, NamedRuns, Selection, TopRuns
from gainboard.notation.queries import MOST_METRICS
from gainboard.notation.texts import SLUG_PATTERN
from gainboard.notation.types import JsonBody
from gainboard.store.records import NEWEST, Run, VersionName
from gainboard.vocabulary import OFFICIAL

MOST_DRAWS = 100_000
"""The most resamples or trials of one job."""
MOST_RUNS = 10_000
MOST_SEEDS = 100

MOST_TOPICS = 100_000
"""The most topics of one request."""
MOST_CHARACTERS = 1000
"""The most characters of an expression, as in the metric parser."""

Expression = Annotated[str, StringConstraints(min_length=1, max_length=MOST_CHARACTERS)]
Metrics = Annotated[list[Expression], Field(min_length=1, max_length=MOST_METRICS)]
DrawCount = Annotated[int, Field(ge=1, le=MOST_DRAWS)]
Version = Annotated[int, Field(ge=1, lt=2**31)]
Judgments = Annotated[
    str, StringConstraints(pattern=SLUG_PATTERN), Field(description="Name of a judgment set", examples=["official"])
]
Seed = Annotated[
    int, Field(ge=0, lt=2**64, description="Seed of everything that is drawn; an equal seed gives an equal result")
]
Seeds = Annotated[
    int,
    Field(
        ge=1,
        le=MOST_SEEDS,
        description="Number of seeds, from `seed` on: a mark that changes under any of them is uncertain",
    ),
]
DEFAULTS = ("gains", "beta", "base", "rel", "condensed")
"""The parameters of metrics for which a job takes defaults. Settled, they are in the labels."""
RunType = Annotated[str, StringConstraints(min_length=1, max_length=128)]
Topic = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Topics = Annotated[list[Topic], Field(min_length=1, max_length=MOST_TOPICS, fail_fast=True)]
Default = Annotated[str, StringConstraints(max_length=1000)] | int | float


class Top(JsonBody):
    """The best runs by their mean score. Ties at the last rank are broken by name."""

    top: Annotated[int, Field(ge=1, le=MOST_RUNS)]
    by: Expression = Field(examples=["AP"])


class Best(JsonBody):
    """The best run of each team by its mean score."""

    best_per_team: Expression = Field(examples=["AP"])


class GroupTopics(JsonBody):
    """A topic group, with the topics that it had when the request was settled."""

    group: Annotated[str, StringConstraints(max_length=128)]
    topics: Topics


Names = Annotated[
    list[Annotated[str, StringConstraints(max_length=128)]], Field(min_length=1, max_length=MOST_RUNS, fail_fast=True)
]


class TopicNotJudged(JsonBody):
    """A topic of a pool that does not count, because its pool is not judged completely."""

    topic: Annotated[str, StringConstraints(max_length=4096)]
    because: Literal["cut-by-budget", "not-judged", "no-documents"] = Field(
        description="The pool's budget left documents out, the version lacks documents of the pool, or no document is "
        "in it"
    )


class AnyParams(JsonBody):
    """The parameters of any kind of job. Without more, a job is about all runs and the published version.

    Their validators are built on first use: a process of a job imports sixteen kinds and computes one.
    """

    model_config = ConfigDict(defer_build=True)

    def version(self) -> VersionName:
        """Return the requested qrels version."""
        return NEWEST

    def versions(self) -> dict[str, VersionName]:
        """Return the other qrels versions that the request names, each under its location.

        Only some kinds compare versions.
        """
        return {}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        """Return the same request with these numbers of the versions that it names without a number."""
        return self

    def selection(self) -> Selection:
        """Return the requested selection of runs."""
        return AllRuns()

    def only_type(self) -> str | None:
        """Return the type of run that the job is about; None for all."""
        return None

    def leaves_out_identical(self) -> bool:
        """Return whether runs identical to another one of their team are left out."""
        return False

    def topics_asked(self) -> Literal["all"] | str | Topics | GroupTopics:
        """Return the topics that the request is about: `all`, a group or its name, or a list."""
        return "all"

    def about_topics(self, topics: Topics | GroupTopics) -> Self:
        """Return the same request about these topics, if the kind can choose topics."""
        return self

    def pool_asked(self) -> str | None:
        """Return the id of the job whose pool the request names; None if it names none."""
        return None

    def about_pool(self, runs: list[str], depth: int, topics: Topics, others: list[TopicNotJudged]) -> Self:
        """Return the same request about a pool's runs and depth, and those of its topics that are judged.

        `others` are its other topics.
        """
        return self

    def defaults(self) -> dict[str, str]:
        """Return the given defaults for metrics' parameters, as text: the metric parser checks them."""
        return {}

    def settled(self, label: Labels) -> Self:
        """Return the same request with every metric expression as its label, and with all defaults applied."""
        return self

    def about_runs(self, runs: Sequence[Run]) -> Self:
        """Return the same request with what it depends on of the runs among which it chooses, besides their files."""
        return self

    def shown(self) -> dict[str, JsonValue]:
        """Return the settled request as JSON. The job shows it, and is identified by it."""
        return self.model_dump(mode="json")


class SetVersion(JsonBody):
    """A version of a judgment set; the one published last if it has no number."""

    judgments: Judgments = OFFICIAL
    qrels: Version | None = Field(None, description="Number of a version of the set; the newest by default")

    def named(self) -> VersionName:
        """Return the name of the version."""
        return VersionName(self.judgments, self.qrels)

    @classmethod
    def of(cls, named: VersionName) -> Self:
        """Return the version of this name."""
        return cls(judgments=named.judgments, qrels=named.version)

    @staticmethod
    def names(given: Sequence[Judgments | SetVersion]) -> list[VersionName]:
        """Return the names of versions, each of which may be given by the name of its set alone."""
        return [VersionName(version) if isinstance(version, str) else version.named() for version in given]


class Params(AnyParams):
    """Parameters of every kind of analysis."""

    runs: Literal["all"] | Names | Top | Best = Field(
        "all", description='`"all"`, names, `{"top": 30, "by": "AP"}` or `{"best_per_team": "AP"}`'
    )
    type: RunType | None = Field(None, description="Only runs of this type; all by default", examples=["automatic"])
    topics: Literal["all"] | Annotated[str, StringConstraints(min_length=1, max_length=128)] | Topics | GroupTopics = (
        Field("all", description='`"all"`, the name of a topic group, or topics', examples=["hard"])
    )
    judgments: Judgments = Field(OFFICIAL, description="Name of a judgment set")
    qrels: Version | None = Field(None, description="Number of a qrels version of the set; the newest by default")
    drop_identical: bool = Field(
        False,
        description="Whether to leave out runs that rank all documents as an earlier run (by name) of their team does",
    )
    gains: Default | None = Field(None, description="Default gain setting of the metrics", examples=["3:2:1"])
    beta: Default | None = Field(None, description="Default beta of the metrics")
    base: Default | None = Field(None, description="Default log base of the metrics")
    rel: Default | None = Field(None, description="Default relevance threshold of the metrics")
    condensed: bool | None = Field(None, description="Default of the metrics' parameter: without unjudged documents")

    def version(self) -> VersionName:
        return VersionName(self.judgments, self.qrels)

    def only_type(self) -> str | None:
        return self.type

    def leaves_out_identical(self) -> bool:
        return self.drop_identical

    def topics_asked(self) -> Literal["all"] | str | Topics | GroupTopics:
        return self.topics

    def about_topics(self, topics: Topics | GroupTopics) -> Self:
        return self.model_copy(update={"topics": topics})

    def defaults(self) -> dict[str, str]:
        values = {name: getattr(self, name) for name in DEFAULTS}
        return {name: as_text(value) for name, value in values.items() if value is not None}

    def settled(self, label: Labels) -> Self:
        none = dict.fromkeys(("qrels", *DEFAULTS))
        return self.model_copy(update=none | {"judgments": OFFICIAL} | self.expressions(label))

    def expressions(self, label: Labels) -> dict[str, Any]:
        """Return the fields that hold metric expressions, with labels instead.

        Kinds with more such fields add theirs.
        """
        if isinstance(self.runs, Top):
            return {"runs": Top(top=self.runs.top, by=label(self.runs.by))}
        if isinstance(self.runs, Best):
            return {"runs": Best(best_per_team=label(self.runs.best_per_team))}
        # a run that is named twice is selected once
        return {"runs": self.runs if self.runs == "all" else list(dict.fromkeys(self.runs))}

    def shown(self) -> dict[str, JsonValue]:
        # Without a type or chosen topics, the job is that of a request from before there were types or groups.
        absent = [name for name, value in (("type", None), ("topics", "all")) if getattr(self, name) == value]
        # The version is identified by its content (`identity`), and the defaults are in the labels: the request that
        # names them and the one that does not are the same job.
        return self.model_dump(mode="json", exclude={"judgments", "qrels", *DEFAULTS, *absent})

    def selection(self) -> Selection:
        if isinstance(self.runs, Top):
            return TopRuns(self.runs.top, self.runs.by)
        if isinstance(self.runs, Best):
            return BestPerTeam(self.runs.best_per_team)
        return AllRuns() if self.runs == "all" else NamedRuns(tuple(self.runs))


class MetricsParams(Params):
    """The parameters of the kinds that compare runs under metrics."""

    metrics: Metrics = Field(description="Metric expressions", examples=[["AP", "Q", "nDCG@10"]])

    def expressions(self, label: Labels) -> dict[str, Any]:
        return super().expressions(label) | {"metrics": label.each(self.metrics)}
