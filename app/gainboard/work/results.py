"""Results of jobs: their bytes, and the tables and figures made of them."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any, Protocol, TypeVar

from pydantic_core import from_json

from gainboard.errors import JobNotFinished, NoResult, NotFound
from gainboard.evaluation.workspace import Exhibits, Workspace
from gainboard.exhibits import Figure, Table
from gainboard.store import blobs
from gainboard.store.job_records import Job
from gainboard.work.job_kinds import Kind, find_kind

# A result of many megabytes takes ten times that while it is parsed, so one is at a time.
_one_at_a_time = Lock()


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)


def require_result(job: Job) -> str:
    """The SHA-256 of the job's result; raises JobNotFinished or NoResult where there is none."""
    if job.result_sha256 is not None:
        return job.result_sha256
    if not job.is_over:
        message = f"The job is {job.state}: {job.parts_done} of {job.parts} parts are done. Wait for it with ?wait=30."
        raise JobNotFinished(message)
    why = f"failed: {job.error}" if job.state == "failed" else "was cancelled."
    raise NoResult(f"The job {why} Ask for it again, and it is queued again.")


def content(workspace: Workspace, job: Job) -> Iterator[bytes]:
    """The result as JSON, in pieces. Raises as `require_result`, before the first of them."""
    return blobs.get(workspace.database, require_result(job))


def parsed(workspace: Workspace, job: Job) -> Any:
    """The result, from its JSON. Raises as `require_result`."""
    body = b"".join(content(workspace, job))
    with _collector_at_rest():
        return from_json(body)


@contextmanager
def _collector_at_rest() -> Iterator[None]:
    # A million new containers are no garbage: looking through them again and again takes three times as long as
    # making them, and nothing else runs meanwhile.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def made_of(kind: Kind[Any], body: bytes) -> Exhibits:
    """Make the tables and figures of a result, from its JSON."""
    with _collector_at_rest():
        result = from_json(body)
        return Exhibits(tuple(kind.tables(result)), tuple(kind.figures(result)))


def names_of(made: Exhibits) -> dict[str, list[dict[str, str]]]:
    """Return the names and captions of the tables and figures, as a job has them in `exhibits`."""
    every: dict[str, Sequence[Table] | Sequence[Figure]] = {"tables": made.tables, "figures": made.figures}
    return {what: [{"name": each.name, "caption": each.caption} for each in some] for what, some in every.items()}


def exhibits(workspace: Workspace, job: Job) -> Exhibits:
    """The tables and figures of the result, from memory where they were used lately. Raises as `require_result`."""

    def make() -> Exhibits:
        return made_of(find_kind(job.kind), b"".join(content(workspace, job)))

    key = require_result(job)
    if (known := workspace.exhibits.find(key)) is not None:
        return known
    with _one_at_a_time:
        return workspace.exhibits.get(key, make)


def table(workspace: Workspace, job: Job, name: str | None) -> Table:
    """The table of this name, or the first one; raises NotFound with the names of those there are."""
    return _named("table", exhibits(workspace, job).tables, name)


def figure(workspace: Workspace, job: Job, name: str) -> Figure:
    """The figure of this name; raises NotFound with the names of those there are."""
    return _named("figure", exhibits(workspace, job).figures, name)


def _named(what: str, among: Sequence[N], name: str | None) -> N:
    for each in among:
        if name in (None, each.name):
            return each
    there_are = ", ".join(each.name for each in among) or "none"
    raise NotFound(f"The result has no {what} {name!r}; there are: {there_are}." if name else f"It has no {what}.")
