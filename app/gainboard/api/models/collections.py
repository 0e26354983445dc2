"""Collections and their policies."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, BaseModel, ConfigDict, Field

from gainboard.api.models.answers import Model
from gainboard.api.models.texts import LevelName, Slug, Text, in_utc
from gainboard.store.records import MOST_PRESETS, OrderBy, Parameters, Phase, PolicySettings, ScoresShown

LevelNames = Annotated[list[LevelName], Field(min_length=1, max_length=127)]
LevelCount = Annotated[int, Field(strict=True, ge=1, le=127)]
Depth = Annotated[int, Field(ge=1, le=1_000_000)]
Topics = Annotated[list[Text], Field(min_length=1, max_length=100_000)]
Metrics = Annotated[list[Text], Field(min_length=1, max_length=100)]
Limit = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]
Time = Annotated[AwareDatetime | None, AfterValidator(in_utc)]
_DEFAULTS = PolicySettings()


class Quotas(BaseModel):
    """How many runs a team may send; null: as many as it likes. Faulty files and withdrawn runs cost nothing."""

    model_config = ConfigDict(extra="forbid")

    per_day: Limit | None = Field(default=None, description="In a day of UTC")
    total: Limit | None = Field(
        default=None, description="In all; a withdrawn run counts if any score was given for it"
    )
    concurrent: Limit | None = Field(default=None, description="Uploads under way at once")


class Policy(BaseModel):
    """What participants and readers see, and what participants may send. While the judgments are hidden: their own
    runs, and scores within these bounds; no score as long as no preset is named. Released: everything.
    """

    model_config = ConfigDict(extra="forbid")

    phase: Phase = "hidden"
    opens_at: Time = Field(default=None, description="When the first run is taken")
    closes_at: Time = Field(default=None, description="From when on none is")
    releases_at: Time = Field(default=None, description="When the judgments are released without a call")
    scores: ScoresShown = Field(
        default=_DEFAULTS.scores, description="Whose scores are shown while the judgments are hidden"
    )
    parameters: Parameters = Field(
        default=_DEFAULTS.parameters,
        description="Under which parameters: the presets', or any. `all` scores under `free` ones give the judgments "
        "away, so then nothing of the following holds and jobs are open too",
    )
    presets: Annotated[list[Text], Field(max_length=MOST_PRESETS)] = Field(
        default=list(_DEFAULTS.presets),
        description="The expressions under which scores are shown, or names of presets at `/v1/metrics`",
        examples=[["nDCG@10", "AP"]],
    )
    decimals: Annotated[int, Field(strict=True, ge=0, le=15)] = Field(
        default=_DEFAULTS.decimals, description="Of the scores shown"
    )
    coverage: Annotated[float, Field(ge=0, le=1)] = Field(
        default=_DEFAULTS.coverage, description="The share of the declared topics that a run must have for a score"
    )
    answers: Limit = Field(
        default=_DEFAULTS.answers,
        description="Distinct scores (of an expression, qrels version and run) given of a team's runs, whoever asks",
    )
    quotas: Quotas = Quotas()


class NewCollection(BaseModel):
    """A test collection: its relevance levels, and the defaults of those who ask for scores."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "web-2026", "levels": ["B", "A", "S"], "gains": "3:2:1"}]},
    )

    name: Slug
    title: Text = ""
    levels: LevelNames | LevelCount = Field(
        description="Names of the relevant levels, lowest first, or how many there are"
    )
    gains: Text = Field("linear", description="The default gain setting: `3:2:1` (highest first), `linear`, ...")
    depth: Depth = Field(1000, description="Ranks of a run that count")
    order_by: OrderBy = Field("score", description="What decides a document's rank")
    topics: Topics | None = Field(None, description="The topics, where they are known before the judgments")
    metrics: Metrics | None = Field(None, description="What is answered where a request names no metric")
    policy: Policy = Policy()
    public: bool = Field(False, description="Whether anybody may read it once it is released")


class CollectionChange(BaseModel):
    """The settings to change; `levels` and `depth` only while nothing is stored, and `order_by` by a job once runs are
    judged, alone."""

    model_config = ConfigDict(extra="forbid")

    title: Text = ""
    levels: LevelNames | LevelCount = 1
    gains: Text = "linear"
    depth: Depth = 1000
    order_by: OrderBy = "score"
    topics: Topics | None = None
    metrics: Metrics | None = None
    policy: Policy = Policy()
    public: bool = False


class Relevant(Model):
    """Relevant documents of the newest qrels: R over topics, and their number at each level."""

    mean: float
    minimum: int
    per_level: dict[str, int]


class ShownCollection(Model):
    """A collection. What follows from its judgments is null where they are hidden, or there are none."""

    name: str
    title: str
    levels: list[str] | int
    gains: str
    depth: int
    order_by: OrderBy = Field(description="That of the qrels version that answers")
    topics: list[str] | None
    metrics: list[str] | None
    policy: Policy
    public: bool
    created_at: datetime
    qrels_version: int | None = None
    relevant: Relevant | None = None
