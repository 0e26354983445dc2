"""Records about work outside of requests: jobs, claims on their chunks, reports."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, get_args

from gainboard.store.records import Damage
from gainboard.vocabulary import DerivedKind, JobState, Origin

DERIVED_KINDS: tuple[str, ...] = get_args(DerivedKind)


EXHIBITS_VERSION = 1
"""Increase this number when tables or figures change. They are then made again when somebody asks."""


def damage_text(noun: str, identity: str, damage: Sequence[Damage]) -> str:
    """Return in a sentence what of a job or report cannot be read, and what to do."""
    return (
        f"The row of this {noun} cannot be read: {', '.join(map(str, damage))}. Delete the {noun} (gainboard {noun} "
        f"cancel {identity[:12]}), and ask for it again, or restore a backup from before the damage."
    )


def derived_id(files: DerivedKind, identity: str) -> str:
    """Return the id of the job that makes files from the result of the job or report with this id."""
    return hashlib.sha256(f"{files} {EXHIBITS_VERSION} of {identity}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class StoredJob:
    """A job, from its request to its result; the result itself is a blob.

    `parts` is the number of parts, of which `parts_done` are done. It is one more than the analysis has, because the
    last part puts the result together.
    """

    number: int
    id: str
    collection_id: int
    kind: str
    params: dict[str, Any]
    qrels_id: int | None
    """The id of its qrels version; None for a job about runs alone, which has no version and no set, either."""
    qrels_version: int | None
    judgment_set: str | None
    on_hidden: bool
    """True if only organisers see it: it is about runs alone, or about a qrels version that only they see, which is a
    draft or a version of a set that is not released.
    """
    on_sets: bool
    """True if one of its qrels versions is not of the official set."""
    run_ids: list[int]
    token_id: str | None
    state: JobState
    parts: int
    parts_done: int
    engine_version: int | None
    """The version of the code that computes the job; None where files are made from results."""
    error: str | None
    result_sha256: str | None
    exhibits: Mapping[str, Sequence[Mapping[str, Any]]] | None
    """`name` and `caption` of each of the result's `tables` and `figures`; None without a result."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    origin: Origin = "computed"
    damage: tuple[Damage, ...] = ()

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will happen to it, unless it is asked for again."""
        return self.state not in ("queued", "running")


@dataclass(frozen=True, slots=True)
class Claim:
    """A chunk of a job that one process may work on: `parts` parts from `first_part` on.

    `name` is written to the chunk while the claim holds. No other claim has this name.
    """

    name: str
    job_number: int
    position: int
    first_part: int
    parts: int
    is_last: bool
    """True if this chunk puts the result together, because all others are done."""


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file made of a result: its path below the result's address, and the SHA-256 of its content."""

    job_number: int
    path: str
    sha256: str
    size: int
    """The size in bytes as it is stored, which is compressed."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A report's part about one collection: its jobs by key, and what is left out because it has no job."""

    collection_id: int
    about: dict[str, Any]
    left_out: list[dict[str, str]]
    jobs: dict[str, StoredJob]
    damage: tuple[Damage, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report.

    Its state follows from its jobs and the job that lays out their results (`layout`), unless it was cancelled.

    The layout is queued when the other jobs have succeeded.
    """

    number: int
    id: str
    name: str
    params: dict[str, Any]
    token_id: str | None
    created_at: datetime
    cancelled_at: datetime | None
    chapters: tuple[Chapter, ...]
    layout: StoredJob | None
    damage: tuple[Damage, ...] = ()

    @property
    def jobs(self) -> list[StoredJob]:
        """The jobs of all chapters, each once."""
        return list({job.id: job for chapter in self.chapters for job in chapter.jobs.values()}.values())

    @property
    def state(self) -> JobState:
        """The state of the report. It has failed as soon as one of its jobs has, because it needs all of them."""
        states = {job.state for job in self.jobs}
        if self.damage or "damaged" in states or (self.layout is not None and self.layout.state == "damaged"):
            return "damaged"
        if self.cancelled_at is not None:
            return "cancelled"
        if states & {"failed", "cancelled"}:
            return "failed"
        if states - {"succeeded"}:
            return "queued" if states == {"queued"} else "running"
        if self.layout is None or self.layout.state == "succeeded":
            return "succeeded"
        return "failed" if self.layout.is_over else "running"

    @property
    def is_over(self) -> bool:
        """Return whether nothing more will happen to it, unless it is asked for again."""
        return self.state not in ("queued", "running")

    @property
    def origin(self) -> Origin:
        """The origin of the results that it lays out: imported, if any of them is."""
        origins = {job.origin for job in self.jobs}
        return "imported" if "imported" in origins else "verified" if "verified" in origins else "computed"

    @property
    def result_sha256(self) -> str | None:
        """The SHA-256 of the report's result, once it is laid out."""
        return self.layout.result_sha256 if self.layout and self.state == "succeeded" else None

    @property
    def error(self) -> str | None:
        """The reason why the report failed: the first of its jobs without a result."""
        if self.state == "damaged":
            lost = next((job for job in self.jobs if job.damage), None)
            if lost is not None and not self.damage:
                return damage_text("job", lost.id, lost.damage)
            return damage_text("report", self.id, (*self.damage, *(self.layout.damage if self.layout else ())))
        if self.state != "failed":
            return None
        lost = next((job for job in self.jobs if job.state in ("failed", "cancelled")), None)
        if lost is None:
            why = self.layout.error if self.layout is not None else None
            return f"Its tables and figures could not be laid out: {why or 'that was cancelled'}"
        why = "was cancelled" if lost.state == "cancelled" else f"failed: {lost.error}"
        return f"Its job {lost.id} ({lost.kind}) {why}"

    @property
    def parts(self) -> int:
        return sum(job.parts for job in self.jobs)

    @property
    def parts_done(self) -> int:
        return sum(job.parts_done for job in self.jobs)

    @property
    def started_at(self) -> datetime | None:
        """The time when its first job started, or when the report was asked for, if that was later."""
        first = min((job.started_at for job in self.jobs if job.started_at), default=None)
        return first and max(first, self.created_at)

    @property
    def finished_at(self) -> datetime | None:
        """The time when it was over: it was cancelled, or its last job ended."""
        if self.cancelled_at is not None or not self.is_over:
            return self.cancelled_at
        # Its jobs may have ended long before the report was asked for.
        last = [*self.jobs, *([self.layout] if self.layout else [])]
        return max((self.created_at, *(job.finished_at for job in last if job.finished_at)))


StoredWork = StoredJob | StoredReport
"""A job or a report: both are asked for, waited for, followed, cancelled and read."""
