"""Collections, their policies, and their topic groups."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field, PlainSerializer, StringConstraints, WithJsonSchema

from gainboard.api.models.common import LevelName, Model, Slug, Text, WarningAnswer
from gainboard.notation.types import JsonBody, Time
from gainboard.store.access_records import MOST_PRESETS, Late, Parameters, PolicySettings, ScoresShown
from gainboard.store.records import Phase
from gainboard.store.run_order import OrderBy

LevelNames = Annotated[list[LevelName], Field(min_length=1, max_length=127)]
LevelCount = Annotated[int, Field(ge=1, le=127)]
Depth = Annotated[int, Field(ge=1, le=1_000_000)]
Topics = Annotated[list[Text], Field(min_length=1, max_length=100_000, fail_fast=True)]
Metrics = Annotated[list[Text], Field(min_length=1, max_length=100)]
Limit = Annotated[int, Field(ge=0, le=1_000_000)]
Bytes = Annotated[int, Field(ge=0, le=1 << 50)]
_DEFAULTS = PolicySettings()
TITLE = "A title for people; the name by default"
GAINS = "The default gain setting, such as `3:2:1` (the highest level first) or `linear`"
METRICS = "The metrics of a board or a request that names none, such as `nDCG@10, Q`"
PUBLIC = "Whether everyone may read the collection once it is released"
INTENTS = "Whether documents are judged for the intents (subtopics) of a topic"
IDENTICAL = (
    "Whether lines of runs are left out whose document id is their topic's, before ranks and depth, as BEIR does"
)


def _as_set(share: float) -> int | float:
    """Return a share as people write it: 1, not 1.0."""
    return int(share) if share.is_integer() else share


Coverage = Annotated[
    float,
    Field(ge=0, le=1),
    PlainSerializer(_as_set),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),  # the serializer's would be two types
]


class Quotas(JsonBody):
    """The runs that a team may send and store; null means no limit. Faulty files are not counted, nor are runs that
    were withdrawn within 10 minutes and never scored.
    """

    per_day: Limit | None = Field(
        default=None, title="Runs a day", description="The runs that a team may send in a day of UTC"
    )
    total: Limit | None = Field(
        default=None, title="Runs in total", description="The runs that a team may send over the whole campaign"
    )
    concurrent: Limit | None = Field(
        default=None, title="Uploads at once", description="The files that a team may send at the same time"
    )
    bytes: Bytes | None = Field(
        default=_DEFAULTS.bytes,
        title="Room for files",
        json_schema_extra={"format": "bytes"},
        description="Bytes of a team's stored runs, decompressed; a withdrawn run counts until its content is "
        "deleted, 30 days later",
    )


class Policy(JsonBody):
    """The rules for what participants and readers may see, and what participants may send. While the judgments are
    hidden, they see their own runs, and scores only within this policy. No score is shown unless the policy names a
    preset. Once the judgments are released, they see everything.
    """

    phase: Phase = Field(
        default="hidden", description="Whether the judgments are hidden from all but organisers, or released"
    )
    opens_at: Time | None = Field(default=None, description="Uploads are accepted from this time")
    closes_at: Time | None = Field(default=None, description="Uploads are refused from this time")
    releases_at: Time | None = Field(default=None, description="When the judgments are released automatically")
    scores: ScoresShown = Field(
        default=_DEFAULTS.scores,
        description="Whose scores are shown while the judgments are hidden: `none`; `own-mean`, the means of the "
        "team's own runs; `own-per-topic`, also scores of single topics; `all`, both for everybody's runs",
    )
    parameters: Parameters = Field(
        default=_DEFAULTS.parameters,
        description="The parameters under which scores are shown: those of the `presets` only, in any spelling "
        "(`preset`), or any (`free`). `all` scores under `free` parameters give the judgments away, so then `presets` "
        "to `answers` have no effect and jobs are allowed too",
    )
    presets: Annotated[list[Text], Field(max_length=MOST_PRESETS)] = Field(
        default=list(_DEFAULTS.presets),
        description="The expressions under which scores are shown, or names of presets from `/v1/metrics`. Without "
        "any, no score is shown",
        examples=[["nDCG@10", "AP"]],
    )
    decimals: Annotated[int, Field(ge=0, le=15)] = Field(
        default=_DEFAULTS.decimals, description="The decimals of every score, in every format"
    )
    coverage: Coverage = Field(
        default=_DEFAULTS.coverage,
        description="The share of the declared topics that a run must have for a score; `withheld` names runs with "
        "fewer",
    )
    answers: Limit = Field(
        default=_DEFAULTS.answers,
        description="The team's budget: the number of distinct scores (of an expression and a run) for a team's runs. "
        "An upload pays for the run's scores under all presets. A score under free parameters is charged when the "
        "team asks for it",
    )
    quotas: Quotas = Quotas()
    late: Late = Field(
        default=_DEFAULTS.late,
        description="Runs of participants after the release, if the judgments were hidden before: refused (`closed`), "
        "accepted and marked as late (`marked`), or accepted like all others (`open`). Organisers may always upload",
    )


class NewCollection(JsonBody):
    """A test collection: its relevance levels, and the defaults for requests for scores."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "web-2026", "levels": ["B", "A", "S"], "gains": "3:2:1"}]},
    )

    name: Slug = Field(
        description="Its name in addresses and commands, which cannot change: letters, digits, `.`, `_` and `-`"
    )
    title: Text = Field("", description=TITLE)
    levels: LevelNames | LevelCount = Field(description="Names of the relevant levels, lowest first, or their number")
    gains: Text = Field("linear", description=GAINS)
    depth: Depth = Field(1000, description="The number of ranks of a run that are scored")
    order_by: OrderBy = Field("score", description="What determines the rank of a document")
    ignore_identical_ids: bool = Field(False, description=IDENTICAL)
    intents: bool = Field(False, description=INTENTS)
    topics: Topics | None = Field(None, description="The topics, if they are known before the judgments")
    metrics: Metrics | None = Field(None, description=METRICS)
    policy: Policy = Policy()
    public: bool = Field(False, description=PUBLIC)


class CollectionSettings(JsonBody):
    """The settings to change. `levels`, `depth` and `intents` can change only while nothing is stored. Once runs
    are judged, `order_by` and `ignore_identical_ids` must change alone, by a job.
    """

    title: Text = Field("", description=TITLE)
    levels: LevelNames | LevelCount = 1
    gains: Text = Field("linear", description=GAINS)
    depth: Depth = 1000
    order_by: OrderBy = "score"
    ignore_identical_ids: bool = Field(False, description=IDENTICAL)
    intents: bool = Field(False, description=INTENTS)
    topics: Topics | Literal["from-qrels"] | None = Field(
        None, description="A list; or `from-qrels` for those of the newest published qrels, as they are now"
    )
    metrics: Metrics | None = Field(None, description=METRICS)
    policy: Policy = Policy()
    public: bool = Field(False, description=PUBLIC)


class CollectionChange(CollectionSettings):
    """The settings to change. `levels`, `depth` and `intents` can change only while nothing is stored. Once runs
    are judged, `order_by` and `ignore_identical_ids` must change alone, by a job.
    """

    seen: CollectionSettings | None = Field(
        None,
        description="The settings as you read them, all or some. Settings that you send as you read them stay as they "
        "are now. Where somebody else has changed one that you change, the answer is 409 `settings-changed`",
    )


class Relevant(Model):
    """The relevant documents of the newest qrels: R summed over topics, and the number at each level."""

    mean: float
    minimum: int
    per_level: dict[str, int]


class CollectionLinks(Model):
    """The addresses of what belongs to a collection, for GET. What a token may not see, it is refused there."""

    self: str
    leaderboard: str
    scores: str
    runs: str
    teams: str
    qrels: str
    jobs: str
    reports: str


class CollectionAnswer(Model):
    """A collection. Fields that depend on its judgments are null if they are hidden or do not exist."""

    name: str
    title: str
    levels: list[str] | int
    gains: str
    depth: int
    order_by: OrderBy = Field(description="What determines the rank of a document in the published qrels version")
    ignore_identical_ids: bool = Field(description=IDENTICAL)
    intents: bool = Field(description=INTENTS)
    topics: list[str] | None
    metrics: list[str] | None
    policy: Policy
    public: bool
    created_at: datetime
    qrels_version: int | None = None
    relevant: Relevant | None = None
    warnings: list[WarningAnswer] = Field(default=[], description="What its organisers should mend; only they see it")
    links: CollectionLinks


TOPICS_QUERY: Final = (
    "`all`, or the name of a topic group: scores are then over its topics alone. Only principals who may see scores "
    "under any parameters may name a group"
)
BY_GROUP_QUERY: Final = (
    "Names of topic groups, each of which adds the means over its topics; `all` names all groups. Only principals who "
    "may see scores under any parameters get them"
)
TopicsAsked = Annotated[str, StringConstraints(min_length=1, max_length=128)]


def group_of(topics: str | None) -> str | None:
    """Return the name of the group that a query asks for; None for all topics."""
    return None if topics == "all" else topics


class ChosenGroup(Model):
    """The topics that an answer is about. `name` is null if the request gave a list of topics."""

    name: str | None
    topics: int = Field(description="Number of its topics")
    judged: int = Field(description="Number of its topics that this qrels version judges. These alone count")
    unjudged: list[str] = Field(description="Its topics without judgments")


class TopicGroupAnswer(Model):
    """A named set of topics. What depends on the judgments is null for those who may not see them."""

    name: str
    topics: int = Field(description="Number of its topics")
    judged: int | None = Field(description="Number of its topics that the published qrels judge; null without them")


class WholeTopicGroup(TopicGroupAnswer):
    """A topic group with its topics."""

    members: list[str] = Field(description="The topics, in byte order")
    unjudged: list[str] | None = Field(description="Topics that the published qrels do not judge; null without them")
