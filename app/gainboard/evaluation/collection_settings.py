"""The settings of a collection as JSON has them, with their limits: for requests, and for the documents of releases."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, PlainSerializer, WithJsonSchema

from gainboard.notation.types import JsonBody, LevelName, Text, Time
from gainboard.store.records import MOST_PRESETS, CollectionPolicy
from gainboard.vocabulary import Late, Parameters, Phase, ScoresShown

LevelNames = Annotated[list[LevelName], Field(min_length=1, max_length=127)]
LevelCount = Annotated[int, Field(ge=1, le=127)]
Depth = Annotated[int, Field(ge=1, le=1_000_000)]
Topics = Annotated[list[Text], Field(min_length=1, max_length=100_000, fail_fast=True)]
Queries = Annotated[dict[Text, Text], Field(max_length=100_000)]
Metrics = Annotated[list[Text], Field(min_length=1, max_length=100)]
Limit = Annotated[int, Field(ge=0, le=1_000_000)]
Bytes = Annotated[int, Field(ge=0, le=1 << 50)]
_DEFAULTS = CollectionPolicy()


def _as_set(share: float) -> int | float:
    """Return a share as people write it: 1, not 1.0."""
    return int(share) if share.is_integer() else share


Coverage = Annotated[
    float,
    Field(ge=0, le=1),
    PlainSerializer(_as_set),
    # The serializer's own schema would have two types, integer and number.
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
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
