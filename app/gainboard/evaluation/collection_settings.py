"""The settings of a collection as JSON has them, with their limits: for requests, and for the documents of releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final

from pydantic import Field, PlainSerializer, WithJsonSchema

from gainboard.notation.types import JsonBody, LevelName, Text, Time
from gainboard.vocabulary import Late, Parameters, Phase, ScoresShown

if TYPE_CHECKING:
    from gainboard.store.records import Collection

LevelNames = Annotated[list[LevelName], Field(min_length=1, max_length=127)]
LevelCount = Annotated[int, Field(ge=1, le=127)]
Depth = Annotated[int, Field(ge=1, le=1_000_000)]
Topics = Annotated[list[Text], Field(min_length=1, max_length=100_000, fail_fast=True)]
Queries = Annotated[dict[Text, Text], Field(max_length=100_000)]
Metrics = Annotated[list[Text], Field(min_length=1, max_length=100)]
SampleOf = Annotated[Text, Field(max_length=200)]
Limit = Annotated[int, Field(ge=0, le=1_000_000)]
Bytes = Annotated[int, Field(ge=0, le=1 << 50)]
MOST_PRESETS: Final = 5
TIMES: Final = ("opens_at", "closes_at", "releases_at")
OF_JUDGED: Final[Mapping[str, Any]] = {
    **{"level_names": None, "highest_level": 1, "gains": "linear", "depth": 1000, "order_by": "score"},
    **{"ignore_identical_ids": False, "intents": False, "topics": None},
}
"""The settings that only a collection with judgments has, with their values in a collection of scores."""
OF_COLLECTION: Final = ("phase", *TIMES)
"""The fields of a policy that are stored beside it, with the collection."""


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
        default=2 << 30,
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

    # Scores with free parameters over hidden judgments are a way to download the judgments: with free gains and
    # cut-offs, one ordinary run and a few hundred requests reveal the level of every document that the run retrieves.
    # So a participant sees only rounded means of its own runs, under the few expressions that the organisers choose,
    # and only a limited number of them. If the organisers choose none, it sees no score. The defaults are safe.
    phase: Phase = Field(
        default="hidden", description="Whether the judgments are hidden from all but organisers, or released"
    )
    opens_at: Time | None = Field(default=None, description="Uploads are accepted from this time")
    closes_at: Time | None = Field(default=None, description="Uploads are refused from this time")
    releases_at: Time | None = Field(default=None, description="When the judgments are released automatically")
    scores: ScoresShown = Field(
        default="own-mean",
        description="Whose scores are shown while the judgments are hidden: `none`; `own-mean`, the means of the "
        "team's own runs; `own-per-topic`, also scores of single topics; `all`, both for everybody's runs",
    )
    parameters: Parameters = Field(
        default="preset",
        description="The parameters under which scores are shown: those of the `presets` only, in any spelling "
        "(`preset`), or any (`free`). `all` scores under `free` parameters give the judgments away, so then `presets` "
        "to `answers` have no effect and jobs are allowed too",
    )
    presets: Annotated[list[Text], Field(max_length=MOST_PRESETS)] = Field(
        default=[],
        description="The expressions under which scores are shown, or names of presets from `/v1/metrics`. Without "
        "any, no score is shown",
        examples=[["nDCG@10", "AP"]],
    )
    decimals: Annotated[int, Field(ge=0, le=15)] = Field(
        default=3, description="The decimals of every score, in every format"
    )
    coverage: Coverage = Field(
        default=0.9,
        description="The share of the declared topics that a run must have for a score; `withheld` names runs with "
        "fewer",
    )
    answers: Limit = Field(
        default=200,
        description="The team's budget: the number of distinct scores (of an expression and a run) for a team's runs. "
        "An upload pays for the run's scores under all presets. A score under free parameters is charged when the "
        "team asks for it",
    )
    quotas: Quotas = Quotas()
    late: Late = Field(
        default="closed",
        description="Runs of participants after the release, if the judgments were hidden before: refused (`closed`), "
        "accepted and marked as late (`marked`), or accepted like all others (`open`). Organisers may always upload",
    )

    @classmethod
    def of(cls, collection: Collection) -> Policy:
        """Return the policy of a collection. Rules that cannot be read, as earlier imports stored, are the defaults."""
        beside = {name: getattr(collection, name) for name in OF_COLLECTION}
        try:
            return cls(**_nest(collection.policy or {}), **beside)
        except ValueError:
            return cls(**beside)

    @property
    def is_free(self) -> bool:
        """Return whether scores are shown under any parameters."""
        return self.parameters == "free"

    @property
    def is_open(self) -> bool:
        """Return whether every score under any parameters is shown; the judgments are then almost public."""
        return self.scores == "all" and self.is_free

    @property
    def stored(self) -> dict[str, Any]:
        """The rules as they are stored: each quota stands beside the other rules."""
        rules = self.model_dump(exclude={*OF_COLLECTION})
        parts = (part if name == "quotas" else {name: part} for name, part in rules.items())
        return {name: value for part in parts for name, value in part.items()}


def is_readable(stored: Any) -> bool:
    """Return whether stored rules can be read; there may be none."""
    try:
        return stored is None or (isinstance(stored, dict) and bool(Policy(**_nest(stored))))
    except (TypeError, ValueError):
        return False


def _nest(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored rules as a policy has them."""
    quotas = {name: value for name, value in stored.items() if name in Quotas.model_fields}
    return {name: value for name, value in stored.items() if name not in quotas} | {"quotas": Quotas(**quotas)}
