"""Jobs as their principals see them: found, listed and cancelled.

A job is a function of the judgments: it is there for whoever may see those of its collection, and for nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gainboard.errors import Forbidden, NotFound
from gainboard.evaluation import audit
from gainboard.evaluation.names import is_slug
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.visibility import View, look, open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, jobs
from gainboard.store.database import Transaction
from gainboard.store.job_records import Job, JobState
from gainboard.store.records import Collection

NOWHERE = 0
"""The id of no collection."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs are to be listed: of one collection, kind or state, or of all that are seen."""

    collection: str | None = None
    kind: str | None = None
    state: JobState | None = None


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A job, and the collection that it is about."""

    job: Job
    collection: Collection


def find_job(workspace: Workspace, principal: Principal, identity: str) -> SeenJob:
    """The job of this id.

    Raises NotFound, the same whether it is absent, its collection is deleted, or its judgments are hidden;
    NotAuthenticated for the same without a token.
    """
    with workspace.database.reading() as tx:
        return _find(tx, principal, identity)[0]


def _find(tx: Transaction, principal: Principal, identity: str) -> tuple[SeenJob, View]:
    job = jobs.find(tx, identity) if is_slug(identity) else None
    collection = collections.of_id(tx, job.collection_id) if job else None
    view = look(principal, collection) if collection and collection.deleted_at is None else None
    if job is None or view is None or not view.sees_free_scores or (job.on_draft and not view.organises):
        principal.require_token()
        raise NotFound(f"There is no job {identity!r} here.")
    return SeenJob(job, view.collection), view


def list_jobs(
    workspace: Workspace, principal: Principal, wanted: Wanted, before: int | None, limit: int
) -> Sequence[SeenJob]:
    """Jobs that this principal sees, newest first: those with numbers less than `before`.

    Organisers of the instance see those of all collections, others those of their own. Raises JudgmentsHidden for
    those of a collection whose judgments are.
    """
    with workspace.database.reading() as tx:
        scope, drafts = _scope(tx, principal, wanted.collection)
        kind, state = wanted.kind, wanted.state
        found = jobs.page(tx, before=before, limit=limit, collection_id=scope, drafts=drafts, kind=kind, state=state)
        about = {key: collections.of_id(tx, key) for key in {job.collection_id for job in found}}
    return [SeenJob(job, about[job.collection_id]) for job in found]


def _scope(tx: Transaction, principal: Principal, name: str | None) -> tuple[int | None, bool]:
    """The id of the only collection to list, None for all; and whether with jobs about drafts of qrels."""
    if name is not None:
        view = open_collection(tx, principal, name)
        view.require_free_scores()
        return view.collection.id, view.organises
    token = principal.require_token()
    if token.collection_id is None:
        return None, principal.organises_instance
    own = look(principal, collections.of_id(tx, token.collection_id))
    return (token.collection_id, own.organises) if own and own.sees_free_scores else (NOWHERE, False)


def cancel_job(workspace: Workspace, principal: Principal, identity: str) -> tuple[SeenJob, bool]:
    """The job, and whether this cancelled it; one that is over stays as it is.

    Raises Forbidden for whoever neither organises the collection nor asked for the job, with the same token.
    """
    with workspace.database.writing() as tx:
        seen, view = _find(tx, principal, identity)
        token = principal.require_token()
        if not view.organises and token.id != seen.job.token_id:
            raise Forbidden("Only who asked for a job cancels it, and organisers of its collection.")
        if seen.job.is_over:
            return seen, False
        now = workspace.now()
        job = jobs.cancel(tx, identity, now) or seen.job
        if job.state == "cancelled" and job.finished_at == now:  # and not by somebody else at the same time
            audit.record(tx, principal, "job-cancelled", identity, seen.collection, kind=job.kind)
    return SeenJob(job, seen.collection), job.state == "cancelled"
