"""The document of a release: all that was frozen. Freezing writes it, import reads it, and the API shows it.

Whoever made a folder is a stranger, so every number, text and list has a bound. What the model does not describe is
refused.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, ConfigDict, Field, JsonValue, StringConstraints, create_model

from gainboard.evaluation.collection_settings import (
    OF_COLLECTION,
    Depth,
    LevelNames,
    Metrics,
    Policy,
    Queries,
    Quotas,
    SampleOf,
    Topics,
)
from gainboard.notation.texts import DOI_PATTERN, read_time
from gainboard.notation.types import JsonBody, LevelName, Slug, Text
from gainboard.vocabulary import CollectionKind, Direction, OrderBy

FORM: Final = 2
"""The version of the document's form. The first had the newest entry of the whole audit log, beside that log."""
MOST: Final = 10_000
"""The most versions, runs, jobs and reports that a release holds of each."""
FIRST_YEAR, LAST_YEAR = 1970, 2999


def _stamp(text: str) -> str:
    time = read_time(text)
    if not FIRST_YEAR <= time.year <= LAST_YEAR:
        raise ValueError(f"The year is not between {FIRST_YEAR} and {LAST_YEAR}.")
    return text


Stamp = Annotated[str, StringConstraints(max_length=40), AfterValidator(_stamp)]
"""A time in RFC 3339, as it was written."""
Hash = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Uuid = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")]
Number = Annotated[int, Field(ge=1, lt=2**31)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
Id = Annotated[str, StringConstraints(max_length=4096)]
"""An id of a topic, or a tag, as files have them."""
Label = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Said = Annotated[str, StringConstraints(max_length=10_000)]
Digits = Annotated[str, StringConstraints(pattern="^[0-3-]*$", max_length=MOST)]
Params = Annotated[dict[str, JsonValue], Field(max_length=100)]
Doi = Annotated[str, StringConstraints(pattern=DOI_PATTERN, max_length=256)]
Ids = Annotated[list[Id], Field(max_length=100_000)]


class Frozen(JsonBody):
    """The base of all parts. Their validators are built on first use: commands import them all and use few."""

    model_config = ConfigDict(defer_build=True)


class FrozenRelease(Frozen):
    """The description of a release."""

    name: Annotated[str, StringConstraints(max_length=200)]
    collection: Slug
    uuid: Uuid = Field(description="The collection's; it is part of the ids of its jobs")
    number: Annotated[int, Field(ge=0, lt=2**31)]
    title: Text
    creators: Annotated[list[Text], Field(max_length=100)]
    license: Text
    doi: Doi | None
    corrects: Number | None = Field(description="The number of the release before, which this one corrects")
    created_at: Stamp
    run_files: bool = Field(description="Whether the files of runs are in the folder, or only their hashes here")
    citation: Annotated[str, StringConstraints(max_length=1_000_000)]


# Made of the models of the API, so that releases keep a new rule without another line here.
FrozenPolicy = create_model(
    "FrozenPolicy",
    __base__=Frozen,
    __doc__="The policy of the collection, as it is stored.",
    **{
        name: (field.annotation, field)
        for model in (Policy, Quotas)
        for name, field in model.model_fields.items()
        if name not in (*OF_COLLECTION, "quotas")
    },  # type: ignore[call-overload]
)


class FrozenSettings(Frozen):
    """The settings of the collection."""

    title: Text
    level_names: LevelNames | None
    highest_level: Annotated[int, Field(ge=1, le=127)]
    gains: Text
    depth: Depth
    order_by: OrderBy
    ignore_identical_ids: bool
    intents: bool
    topics: Topics | None
    queries: Queries | None = None
    kind: CollectionKind = "judged"
    sample_of: SampleOf | None = None
    metrics: Metrics | None
    public: bool
    policy: FrozenPolicy | None  # type: ignore[valid-type]
    opens_at: Stamp | None
    closes_at: Stamp | None
    releases_at: Stamp | None
    released_at: Stamp | None
    created_at: Stamp


class FrozenJudgments(Frozen):
    """A published version of a judgment set."""

    judgments: Slug
    version: Number
    sha256: Hash
    columns: Annotated[str, StringConstraints(max_length=64)]
    topics: Count
    judged: Count
    relevant: Count
    per_level: Annotated[dict[LevelName, Count], Field(max_length=256)]
    order_by: OrderBy
    ignore_identical_ids: bool
    created_at: Stamp
    published_at: Stamp


class FrozenRun(Frozen):
    """A run."""

    name: Slug
    team: Slug
    tag: Id
    description: Text | None
    type: Text | None
    pooled: bool
    priority: Annotated[int, Field(ge=1, le=10_000)] | None
    sha256: Hash
    topic_count: Count
    retrieved: Count
    created_at: Stamp
    late: bool
    metadata_sha256: Hash | None = Field(
        None, description="SHA-256 of the file of ir_metadata beside it, if there is one"
    )
    family: Slug | None = None
    system: Slug | None = None
    replicate: Slug | None = None


class FrozenNuggets(Frozen):
    """A published version of the nuggets, whose file is in the folder."""

    version: Number
    sha256: Hash
    topics: Count
    nuggets: Count
    strays: Count
    created_at: Stamp
    published_at: Stamp


class FrozenVerdicts(Frozen):
    """The verdicts of a judge on answers, by run and topic: a digit for each nugget of the topic, or the digits of the
    citations of each sentence (0 not, 1 partly, 2 fully, 3 another label, - no verdict); empty without an answer.
    """

    runs: Annotated[
        dict[Slug, dict[Id, Digits | Annotated[list[Digits], Field(max_length=MOST)]]], Field(max_length=MOST)
    ]
    nuggets: dict[Id, dict[Said, Literal["0", "1", "2", "-"]]] = Field(
        description="By topic and text: 0 vital, 1 okay, 2 another importance, - no longer in use"
    )
    sampled: Annotated[list[Slug], Field(max_length=MOST)] = Field(description="Runs that were judged on some topics")
    systems: dict[Slug, Slug] = Field({}, max_length=MOST, description="The system of each run that is a replicate")


class FrozenMatrix(Frozen):
    """A version of a score matrix. Its scores are in a CSV file, with a row for each run."""

    name: Slug
    version: Number
    direction: Direction
    low: float | None
    high: float | None
    missing: Annotated[str, StringConstraints(max_length=64)] | None
    filled: Count = Field(description="The number of scores that were missing, and that `missing` says or leaves out")
    dropped: Ids = Field(description="The topics that were left out because of missing scores")
    sha256: Hash = Field(description="SHA-256 of the file that was uploaded, which may have had another form")
    csv_sha256: Hash = Field(description="SHA-256 of the CSV file")
    verdicts: FrozenVerdicts | None = Field(None, description="What the scores of answers follow from")


class FrozenScores(FrozenMatrix):
    """A version of a score matrix that a release holds."""

    created_at: Stamp


class FrozenRow(Frozen):
    """A row of a board. The means are by metric, and the intervals hold 95 %."""

    rank: Number
    run: Slug
    team: Slug
    means: dict[Label, float | None]
    intervals: dict[Label, tuple[float, float] | None]
    groups: Annotated[list[Annotated[str, StringConstraints(max_length=16)]], Field(max_length=MOST)] | None = Field(
        description="Letters; runs that share none are told apart"
    )
    rank_set: tuple[Number, Number] | None = Field(description="The best and the worst rank that the run may have")


class FrozenBoard(Frozen):
    """The runs by their mean under one metric."""

    by: Label
    topics: Count | None
    test: Said | None
    no_groups_because: Said | None
    rows: Annotated[list[FrozenRow], Field(max_length=MOST)]


class FrozenResult(Frozen):
    """The result of a job."""

    id: Hash
    kind: Slug
    title: Text
    params: Params
    sha256: Hash
    engine_version: Annotated[int, Field(ge=0, lt=2**31)]
    finished_at: Stamp
    judgments: Slug | None
    version: Number | None = Field(description="The version of the judgments that it is about")
    runs: Annotated[list[Slug], Field(max_length=MOST)] = Field(
        description="The runs among which its parameters choose"
    )
    others: Annotated[list[tuple[Slug, Number]], Field(max_length=100)] = Field(
        description="The other versions that it is about"
    )


class FrozenReport(Frozen):
    """A report about the collection alone."""

    id: Hash
    name: Slug
    params: Params
    sha256: Hash
    finished_at: Stamp
    about: dict[str, Any] = Field(description="What the collection had when the report was planned")
    left_out: Annotated[list[dict[str, Said]], Field(max_length=1000)]
    jobs: Annotated[dict[Label, Hash], Field(max_length=1000)] = Field(
        description="The ids of its jobs, by the report's names for them"
    )


class NewestEntry(Frozen):
    """The newest entry of the history before the release; in the first form, of the audit log about the collection."""

    last: Count | None = Field(None, description="Its number in the first form, which counted the whole instance")
    hash: Hash


class HistoryEntry(Frozen):
    """An entry of the audit log about something that a release holds, without what the log says beside."""

    at: Stamp
    action: Annotated[str, StringConstraints(pattern=r"^[a-z-]{1,64}$")]
    subject: Label
    team: Slug | None
    sha256: Hash = Field(description="That of the file, or of the release's document")
    hash: Hash = Field(description="That of the entry in the log of the instance")


class LoggedEntry(Frozen):
    """An entry of the audit log as folders of the first form have it, where it is about a collection."""

    number: Count
    at: Stamp
    collection: Said | None
    collection_uuid: Said | None
    token: Said | None
    role: Said
    action: Said
    subject: Said
    details: Annotated[dict[str, JsonValue], Field(max_length=1000)]
    previous: Hash
    hash: Hash


class MadeBy(Frozen):
    """The versions of what computed a release."""

    environment: Said
    scoring_version: Count
    boards_version: Count = 0


class BoardVersion(Frozen):
    """The judgments of the boards."""

    judgments: Slug
    version: Number


# Freezing checks by this what it writes, and import reads nothing else.
class Archived(Frozen):
    """All that a release holds, as it was frozen."""

    form: Literal[1, 2] = Field(description="The version of this form")
    release: FrozenRelease
    made_by: MadeBy
    settings: FrozenSettings
    judgments: Annotated[list[FrozenJudgments], Field(max_length=MOST)]
    runs: Annotated[list[FrozenRun], Field(max_length=MOST)]
    score_matrices: Annotated[list[FrozenScores], Field(max_length=MOST)] = Field(
        [], description="The uploaded scores of metrics `custom:NAME`"
    )
    nuggets: Annotated[list[FrozenNuggets], Field(max_length=MOST)] = Field([], description="In `data/nuggets`")
    topic_groups: Annotated[dict[Slug, Ids], Field(max_length=200)]
    results: Annotated[list[FrozenResult], Field(max_length=MOST)]
    reports: Annotated[list[FrozenReport], Field(max_length=MOST)]
    audit: NewestEntry | None = Field(description="The newest entry of `data/history.ndjson` before this release")
    metrics: Annotated[list[Label], Field(max_length=200)]
    board_version: BoardVersion
    boards: Annotated[list[FrozenBoard], Field(max_length=200)] = Field(description="One for each official metric")
    topics: Ids
    scores: dict[Label, dict[Slug, list[float | None]]] = Field(
        description="By metric and run, in the order of `topics`"
    )
