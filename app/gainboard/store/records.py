"""The records of test collections, teams, tokens and the audit log: plain, immutable, independent of the database."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from gainboard.vocabulary import (
    LEAVE_OUT,
    OFFICIAL,
    THESE_TASKS,
    CollectionKind,
    Direction,
    OrderBy,
    Phase,
    Role,
    RunOrder,
    label_of_matrix,
    metric_of_matrix,
)

NO_RANKING: Final = hashlib.sha256(b"").hexdigest()
"""The SHA-256 of the file of a run without a ranking. No upload has it, because an empty file is refused."""
Warnings = list[dict[str, Any]]
FIXED_BY_DATA = ("highest_level", "level_names", "depth", "intents")
"""The settings under which files are read. They cannot change once a file is stored."""


class Damage(NamedTuple):
    """A value of a row that cannot be read, as it is shown. The record has a stand-in for it (`store/damage.py`)."""

    column: str
    value: str

    def __str__(self) -> str:
        return f"`{self.column}` is {self.value}"


@dataclass(frozen=True, slots=True)
class TopicGroup:
    """A named set of topics of a collection. `topics` are in byte order, each once."""

    name: str
    topics: tuple[str, ...]
    damage: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoreMatrix:
    """Scores of a metric that was computed elsewhere, by run and topic.

    `direction` says which is better: higher or lower. Without a range, `low` and `high` are None.
    """

    id: int
    collection_id: int
    name: str
    version: int
    direction: Direction
    low: float | None
    high: float | None
    missing: str | None
    """The rule for missing cells: `zero`, `drop-topic`, `leave-out` or a number; None if no cell may be missing."""
    filled: int
    """The number of cells that were missing and got the value that was said, or that were left out."""
    dropped: tuple[str, ...]
    """The topics that were left out because of missing cells."""
    sha256: str
    runs: tuple[str, ...]
    topics: tuple[str, ...]
    created_at: datetime
    deleted_at: datetime | None
    damage: tuple[Damage, ...] = ()

    @property
    def has_gaps(self) -> bool:
        """Return whether cells may be missing. Their scores are NaN."""
        return self.missing == LEAVE_OUT and self.filled > 0

    @property
    def metric(self) -> str:
        """The expression of its metric."""
        return metric_of_matrix(self.name)

    @property
    def label(self) -> str:
        """The metric of this version."""
        return label_of_matrix(self.name, self.version)


@dataclass(frozen=True, slots=True)
class NuggetsVersion:
    """A version of a collection's nuggets, or a draft if it was not published; the nuggets are in its file."""

    id: int
    collection_id: int
    version: int
    sha256: str
    topics: int
    nuggets: int
    strays: int
    """The number of nuggets that are neither vital nor okay."""
    created_at: datetime
    published_at: datetime | None


@dataclass(frozen=True, slots=True)
class Verdicts:
    """The verdicts of a judge on the answers of a run: digits by topic, as `trec/nuggets.py` reads them."""

    run_id: int
    run: str
    system: str | None
    judge: str
    nuggets_id: int | None
    assigned: dict[str, str]
    support: dict[str, list[str]]
    sample: bool
    """True if topics without a verdict were not judged."""
    sha256: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Collection:
    """A test collection: its scale, its defaults, and who may see what."""

    id: int
    uuid: str
    name: str
    title: str
    level_names: list[str] | None
    highest_level: int
    gains: str
    depth: int
    order_by: OrderBy
    topics: list[str] | None
    metrics: list[str] | None
    phase: Phase
    public: bool
    revision: int
    created_at: datetime
    deleted_at: datetime | None
    opens_at: datetime | None
    closes_at: datetime | None
    releases_at: datetime | None
    policy: dict[str, Any] | None
    released_at: datetime | None
    intents: bool
    ignore_identical_ids: bool
    kind: CollectionKind
    sample_of: str | None
    """The text of its organisers about what the topics are a sample of; None if there is none."""
    damage: tuple[Damage, ...] = ()

    @property
    def has_scores_alone(self) -> bool:
        """Return whether its scores were computed elsewhere, so that it has neither judgments nor rankings."""
        return self.kind == "scores"

    @property
    def sample_shown(self) -> str | None:
        """The text of boards about what the topics are a sample of; None if they say nothing."""
        return self.sample_of or (THESE_TASKS if self.has_scores_alone else None)

    @property
    def is_damaged(self) -> bool:
        """Return whether it cannot be used. Without its policy it can: the default is the strictest."""
        return any(fault.column != "policy" for fault in self.damage)

    @property
    def order(self) -> RunOrder:
        return RunOrder(self.order_by, self.ignore_identical_ids)

    @property
    def release(self) -> datetime | None:
        """The first release after a hidden phase, which may lie in the future; None if none is known.

        A collection that was open from its beginning has none. Judgments that were shown once are known for good, so a
        later hidden phase changes nothing here.
        """
        if self.released_at is not None or self.phase == "released":
            return self.released_at
        return self.releases_at if self.releases_at is not None and self.releases_at > self.created_at else None

    def is_released(self, now: datetime) -> bool:
        """Return whether the judgments are open: an organiser has released them, or their time has come."""
        return self.phase == "released" or (self.releases_at is not None and self.releases_at <= now)

    @property
    def late_from(self) -> datetime | None:
        """The time from which stored runs are late; None if no run of the collection is late."""
        return None if (self.policy or {}).get("late") == "open" else self.release

    def is_late(self, run: Run) -> bool:
        """Return whether the run came after the release, so that its authors may have known the judgments."""
        start = self.late_from
        return start is not None and run.created_at >= start

    @property
    def levels(self) -> list[str] | int:
        """The relevance levels as they were declared: names, lowest first, or their number."""
        return self.level_names if self.level_names is not None else self.highest_level

    def level_name(self, level: int) -> str:
        """Return the name of a relevance level: the declared name, else `L` and its number as in NTCIR's files."""
        if level > 0 and self.level_names is not None:
            return self.level_names[level - 1]
        return f"L{level}"


class VersionName(NamedTuple):
    """The qrels version that a request names: a judgment set, and the number of one of its versions.

    Without a number, it is the version of the set that was published last.
    """

    judgments: str = OFFICIAL
    version: int | None = None

    @property
    def subject(self) -> str:
        """The name of a version in the audit log: its number, after the name of a set that is not official."""
        return str(self.version) if self.judgments == OFFICIAL else f"{self.judgments}/{self.version}"

    def __str__(self) -> str:
        """Return the name for messages: "version 2", or "version 2 of the judgments 'second'"."""
        number = f"version {self.version}" if self.version is not None else "published version"
        return number if self.judgments == OFFICIAL else f"{number} of the judgments {self.judgments!r}"


NEWEST: Final = VersionName()
"""The official version that was published last."""


@dataclass(frozen=True, slots=True)
class JudgmentSet:
    """A set of judgments beside the official one, with its own versions. Only organisers see it until its release."""

    collection_id: int
    name: str
    created_at: datetime
    released_at: datetime | None


@dataclass(frozen=True, slots=True)
class Qrels:
    """One immutable version of a collection's judgments; the file itself is a blob.

    `published_at` is None for a draft, which only organisers see. `order` is that of the runs that are joined with it:
    the collection's order when the version was created.
    """

    id: int
    collection_id: int
    judgments: str
    version: int
    sha256: str
    columns: str
    topics: int
    judged: int
    relevant: int
    per_level: dict[str, int]
    warnings: Warnings
    created_at: datetime
    published_at: datetime | None
    order_by: OrderBy
    ignore_identical_ids: bool
    damage: tuple[Damage, ...] = ()

    @property
    def order(self) -> RunOrder:
        return RunOrder(self.order_by, self.ignore_identical_ids)

    @property
    def named(self) -> VersionName:
        return VersionName(self.judgments, self.version)

    @property
    def subject(self) -> str:
        return self.named.subject


@dataclass(frozen=True, slots=True)
class Run:
    """A stored run, with one system's ranked lists; the file itself is a blob."""

    id: int
    collection_id: int
    team_id: int
    team: str
    name: str
    tag: str
    description: str | None
    type: str | None
    pooled: bool
    priority: int | None
    """Its place among the runs of its team, from 1: those with a low number go into pools first."""
    system: str | None
    """The system of which it is a replicate, such as one seed; None if it is the only run of its system."""
    replicate: str | None
    """The name that tells it from the system's other replicates, such as a seed."""
    sha256: str
    topic_count: int
    retrieved: int
    warnings: Warnings
    created_at: datetime

    @property
    def has_ranking(self) -> bool:
        """Return whether it has ranked documents. Otherwise it has answers or scores alone, and an empty file."""
        return self.sha256 != NO_RANKING


@dataclass(frozen=True, slots=True)
class Judging:
    """The findings of the join of a run with a qrels version, without the rankings."""

    retrieved: int
    unjudged: int
    topics_missing: int
    topics_unknown: int

    @property
    def unjudged_share(self) -> float | None:
        """The share of the documents retrieved for judged topics that the qrels do not contain."""
        return self.unjudged / self.retrieved if self.retrieved else None


@dataclass(frozen=True, slots=True)
class Release:
    """An immutable release of a collection. All that it holds is in a document, under its SHA-256."""

    id: int
    collection_id: int
    number: int
    title: str
    doi: str | None
    corrects: int | None
    """The number of the release that this one corrects; None for the first."""
    citation: str
    sha256: str
    evidence_sha256: str | None
    """The SHA-256 of the audit log's entries where it was made, if that was another instance; else None."""
    created_at: datetime


INVITED: Final = "invited"
"""The origin of a token that a team was invited to, and that nobody has yet."""


@dataclass(frozen=True, slots=True)
class TeamRecord:
    """A participating team of one collection."""

    id: int
    collection_id: int
    name: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Token:
    """The record of a bearer token. Only the token's hash is stored, and even that does not leave the store."""

    id: str
    role: Role
    collection_id: int | None
    team_id: int | None
    team: str | None
    origin: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    holder: str | None
    last_used_at: datetime | None

    @property
    def is_invitation(self) -> bool:
        """True if nobody has the token yet: a team was invited, and has not accepted."""
        return self.origin == INVITED

    def is_live(self, now: datetime) -> bool:
        """Return whether it is neither revoked nor expired: a valid token, or an open invitation."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class CountedTeam:
    """A team, with the numbers of its runs that are not withdrawn and of its valid tokens."""

    id: int
    name: str
    created_at: datetime
    runs: int
    tokens: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit log: its fields as in its export, and the hash of all other fields.

    `at` is the text that was hashed. `previous` is the hash of the entry before.
    """

    number: int
    at: str
    collection: str | None
    collection_uuid: str | None
    token: str | None
    role: str
    action: str
    subject: str
    details: dict[str, Any]
    previous: str
    hash: str
