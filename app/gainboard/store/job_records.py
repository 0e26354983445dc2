"""What the store gives out about what is worked outside of requests: jobs, claims on their chunks, reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

JobState = Literal["queued", "running", "succeeded", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Job:
    """An analysis asked for, from its request to its result; the result itself is a blob.

    `parts` of it are to be worked, and `parts_done` are; one more than the analysis has, for the result is put
    together at the end.
    """

    number: int
    id: str
    collection_id: int
    kind: str
    params: dict[str, Any]
    qrels_id: int
    qrels_version: int
    on_draft: bool
    """Whether those qrels are a draft, of which only organisers know."""
    run_ids: list[int]
    token_id: str | None
    state: JobState
    parts: int
    parts_done: int
    engine_version: int | None
    """The version of what computes the job. None stands for 1, the version of schemas up to 0005."""
    error: str | None
    result_sha256: str | None
    exhibits: Mapping[str, Sequence[Mapping[str, str]]] | None
    """`name` and `caption` of each of the result's `tables` and `figures`; None without a result, and in old ones."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen to it any more unless it is asked for again."""
        return self.state not in ("queued", "running")


@dataclass(frozen=True, slots=True)
class Claim:
    """A chunk of a job that one process may work: `parts` parts from `first_part` on.

    `name` is written to the chunk for as long as the claim holds, and is no other claim's.
    """

    name: str
    job_number: int
    position: int
    first_part: int
    parts: int
    is_last: bool
    """Whether the result is put together in this chunk: all others are done."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A report's part about one collection: its jobs by key, and what is left out because there is no job for it."""

    collection_id: int
    about: dict[str, Any]
    left_out: list[dict[str, str]]
    jobs: dict[str, Job]


@dataclass(frozen=True, slots=True)
class Report:
    """A report asked for. Nothing but its jobs is worked, so its state is theirs unless it was cancelled."""

    number: int
    id: str
    name: str
    params: dict[str, Any]
    token_id: str | None
    created_at: datetime
    cancelled_at: datetime | None
    chapters: tuple[Chapter, ...]

    @property
    def jobs(self) -> list[Job]:
        """Each job once."""
        return list({job.id: job for chapter in self.chapters for job in chapter.jobs.values()}.values())

    @property
    def state(self) -> JobState:
        """Failed as soon as one of its jobs is, for it needs them all."""
        states = {job.state for job in self.jobs}
        if self.cancelled_at is not None:
            return "cancelled"
        if states & {"failed", "cancelled"}:
            return "failed"
        if states <= {"succeeded"}:
            return "succeeded"
        return "queued" if states == {"queued"} else "running"

    @property
    def is_over(self) -> bool:
        """Whether nothing will happen to it any more unless it is asked for again."""
        return self.state not in ("queued", "running")

    @property
    def parts(self) -> int:
        """Of all its jobs."""
        return sum(job.parts for job in self.jobs)

    @property
    def parts_done(self) -> int:
        """Of all its jobs."""
        return sum(job.parts_done for job in self.jobs)

    @property
    def started_at(self) -> datetime | None:
        """When the first of its jobs was begun, or it was asked for, if that came later."""
        first = min((job.started_at for job in self.jobs if job.started_at), default=None)
        return first and max(first, self.created_at)

    @property
    def finished_at(self) -> datetime | None:
        """When it was over: cancelled, or the last of its jobs was."""
        if self.cancelled_at is not None or not self.is_over:
            return self.cancelled_at
        return max((self.created_at, *(job.finished_at for job in self.jobs if job.finished_at)))
