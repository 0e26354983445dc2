"""Collections, their policies, and their topic groups."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import ConfigDict, Field

from gainboard.api.models.common import Model, WarningAnswer
from gainboard.evaluation.collection_settings import (
    Depth,
    LevelCount,
    LevelNames,
    Metrics,
    Policy,
    Queries,
    SampleOf,
    Topics,
)
from gainboard.notation.types import JsonBody, Slug, Text
from gainboard.vocabulary import CollectionKind, OrderBy

TITLE = "A title for people; the name by default"
GAINS = "The default gain setting, such as `3:2:1` (the highest level first) or `linear`"
METRICS = "The metrics of a board or a request that names none, such as `nDCG@10, Q`"
PUBLIC = "Whether everyone may read the collection once it is released"
QUERIES = "The texts of the queries, by topic, for people: pages show them. Whoever sees the collection sees them"
INTENTS = "Whether documents are judged for the intents (subtopics) of a topic"
IDENTICAL = (
    "Whether lines of runs are left out whose document id is their topic's, before ranks and depth, as BEIR does"
)
KIND = (
    "`judged`: runs are scored by judgments. `scores`: there are only scores that were computed elsewhere, in score "
    "matrices"
)
SAMPLE_OF = "What the topics are a sample of, which boards say: `questions of the forum in 2026`"


class NewCollection(JsonBody):
    """A test collection: its relevance levels, and the defaults for requests for scores. One of the kind `scores` has
    neither levels nor what goes with judgments: `gains`, `depth`, `order_by`, `ignore_identical_ids`, `intents` and
    `topics`.
    """

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"name": "web-2026", "levels": ["B", "A", "S"], "gains": "3:2:1"}]}
    )

    name: Slug = Field(
        description="Its name in addresses and commands, which cannot change: letters, digits, `.`, `_` and `-`"
    )
    kind: CollectionKind = Field("judged", description=KIND)
    title: Text = Field("", description=TITLE)
    levels: LevelNames | LevelCount | None = Field(
        None, description="Names of the relevant levels, lowest first, or their number: required for the kind `judged`"
    )
    gains: Text = Field("linear", description=GAINS)
    depth: Depth = Field(1000, description="The number of ranks of a run that are scored")
    order_by: OrderBy = Field("score", description="What determines the rank of a document")
    ignore_identical_ids: bool = Field(False, description=IDENTICAL)
    intents: bool = Field(False, description=INTENTS)
    topics: Topics | None = Field(None, description="The topics, if they are known before the judgments")
    queries: Queries | None = Field(None, description=QUERIES)
    metrics: Metrics | None = Field(None, description=METRICS)
    policy: Policy = Policy()
    public: bool = Field(False, description=PUBLIC)
    sample_of: SampleOf | None = Field(None, description=SAMPLE_OF)


class ChangeableSettings(JsonBody):
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
    queries: Queries | None = Field(None, description=QUERIES)
    metrics: Metrics | None = Field(None, description=METRICS)
    policy: Policy = Policy()
    public: bool = Field(False, description=PUBLIC)
    sample_of: SampleOf | None = Field(None, description=SAMPLE_OF)


class CollectionChange(ChangeableSettings):
    """The settings to change. `levels`, `depth` and `intents` can change only while nothing is stored. Once runs
    are judged, `order_by` and `ignore_identical_ids` must change alone, by a job.
    """

    seen: ChangeableSettings | None = Field(
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
    kind: CollectionKind = Field(description=KIND)
    title: str
    levels: list[str] | int
    gains: str
    depth: int
    order_by: OrderBy = Field(description="What determines the rank of a document in the published qrels version")
    ignore_identical_ids: bool = Field(description=IDENTICAL)
    intents: bool = Field(description=INTENTS)
    topics: list[str] | None
    queries: dict[str, str] | None = Field(None, description=QUERIES)
    metrics: list[str] | None
    policy: Policy
    public: bool
    sample_of: str | None = Field(description=SAMPLE_OF)
    created_at: datetime
    qrels_version: int | None = None
    relevant: Relevant | None = None
    warnings: list[WarningAnswer] = Field(default=[], description="What its organisers should mend; only they see it")
    links: CollectionLinks


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
