"""Jobs and reports as their principals see them: found, listed and cancelled.

Jobs and reports depend on the judgments. Only those who may see the judgments of all their collections see them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Generic, TypeVar

from gainboard.errors import Forbidden, NotFound, RowDamaged
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, look, open_collection
from gainboard.evaluation.judgments.versions import sees_set
from gainboard.evaluation.scoring.binding import names_custom
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.texts import is_slug
from gainboard.store import collections, jobs, qrels, reports
from gainboard.store.database import Transaction, machine_of
from gainboard.store.job_records import DERIVED_KINDS, Chapter, StoredJob, StoredReport, StoredWork
from gainboard.store.records import Collection, VersionName
from gainboard.vocabulary import OFFICIAL, Action, JobState

W = TypeVar("W", StoredJob, StoredReport)

VERIFY = "verify"
"""The kind of job whose reader must see what it verifies (`analyses/verify.py`)."""
NOWHERE = 0
"""An id that no collection has."""


@dataclass(frozen=True, slots=True)
class Seen(Generic[W]):
    """A job or report, and the collections that it is about, in its order."""

    work: W
    collections: tuple[Collection, ...]


@dataclass(frozen=True, kw_only=True)
class WorkType(Generic[W]):
    """The differences between jobs and reports when they are found and cancelled.

    `views` are the principal's views of the collections; None if the principal may not see one of them.
    """

    noun: str
    organisers: str
    find: Callable[[Transaction, str], W | None]
    views: Callable[[Transaction, Principal, W], list[View] | None]
    cancel: Callable[[Transaction, W, datetime], object]
    cancelled: Action
    delete: Callable[[Transaction, W], None]
    deleted: Action
    details: Callable[[W], dict[str, str]]


def find_work(workspace: Workspace, principal: Principal, work_type: WorkType[W], identity: str) -> Seen[W]:
    """Return the job or report with this id.

    Raise NotFound if it is absent, and the same error if one of its collections is deleted or has hidden judgments.
    Without a token, raise NotAuthenticated instead. Raise RowDamaged if it cannot be read.
    """
    with workspace.database.reading() as tx:
        seen = _find(tx, principal, work_type, identity)[0]
    if seen.work.state == "damaged":
        raise RowDamaged(seen.work.error or "")
    return seen


def find_again(workspace: Workspace, principal: Principal, work: StoredWork) -> None:
    """Raise NotFound if the principal may no longer see a job or report that it saw."""
    if isinstance(work, StoredJob):
        find_work(workspace, principal, JOBS, work.id)
    else:
        find_work(workspace, principal, REPORTS, work.id)


def _find(tx: Transaction, principal: Principal, work_type: WorkType[W], identity: str) -> tuple[Seen[W], list[View]]:
    work = work_type.find(tx, identity) if is_slug(identity) else None
    views = work_type.views(tx, principal, work) if work is not None else None
    if work is None or views is None:
        # Those without a token are told to send one, because it may let them see the work.
        principal.require_token()
        raise NotFound(f"There is no {work_type.noun} {identity!r} here, or this token may not see it.")
    return _seen(work, views), views


def _seen(work: W, views: Sequence[View]) -> Seen[W]:
    return Seen(work, tuple(view.collection for view in views))


def cancel_work(
    workspace: Workspace, principal: Principal, work_type: WorkType[W], identity: str
) -> tuple[Seen[W], bool]:
    """Return the job or report, and whether it was cancelled. Delete a damaged one. One that is over is not changed.

    Raise Forbidden unless the principal organises all of its collections, or asked for it with the same token.
    """
    with workspace.database.writing() as tx:
        seen, views = _find(tx, principal, work_type, identity)
        token = principal.require_token()
        if token.id != seen.work.token_id and not all(view.organises for view in views):
            raise Forbidden(
                f"Only the token that asked for a {work_type.noun} may cancel it, and {work_type.organisers}."
            )
        if seen.work.state == "damaged":
            work_type.delete(tx, seen.work)
            for view in views:
                details = {"damage": seen.work.error, **work_type.details(seen.work)}
                audit.record(tx, principal, work_type.deleted, identity, view.collection, **details)
        if seen.work.is_over:
            return seen, False
        now = workspace.now()
        work_type.cancel(tx, seen.work, now)
        work = work_type.find(tx, identity) or seen.work
        if work.state == "cancelled" and work.finished_at == now:  # nobody else has cancelled it at the same time
            for view in views:
                audit.record(tx, principal, work_type.cancelled, identity, view.collection, **work_type.details(work))
        return _seen(work, views), work.state == "cancelled"


def _find_job(tx: Transaction, identity: str) -> StoredJob | None:
    job = jobs.find(tx, identity)
    return job if job is not None and job.kind not in DERIVED_KINDS else None


def _views_of_job(tx: Transaction, principal: Principal, job: StoredJob) -> list[View] | None:
    collection = collections.of_id(tx, job.collection_id)
    view = look(principal, collection, machine_of(tx).now()) if collection.deleted_at is None else None
    if view is None or not view.sees_free_scores or not _sees_job(view, job):
        return None
    if job.kind == VERIFY and (verified := job.params.get("report")) is not None:
        report = reports.find(tx, verified)
        return [view] if report is not None and _views_of_report(tx, principal, report) else None
    return [view]


def _sees_job(view: View, job: StoredJob) -> bool:
    """Return whether a principal who sees all scores sees the job: about a draft, a set, or uploaded scores.

    Sets and uploaded scores tell of the judgments, which are hidden even where a policy shows all scores.
    """
    if not view.organises and job.on_hidden:
        return False
    return view.sees_judgments or not (job.on_sets or names_custom(job.params))


def _views_of_report(tx: Transaction, principal: Principal, report: StoredReport) -> list[View] | None:
    views: list[View] = []
    for chapter in report.chapters:
        collection = collections.of_id(tx, chapter.collection_id)
        view = look(principal, collection, machine_of(tx).now()) if collection.deleted_at is None else None
        if view is None or not view.sees_free_scores or not _sees_qrels(tx, view, chapter):
            return None
        views.append(view)
    return views


def _sees_qrels(tx: Transaction, view: View, chapter: Chapter) -> bool:
    """Return whether the principal sees the work's version: only organisers see drafts, and drafts may be discarded."""
    if chapter.jobs:
        return all(_sees_job(view, job) for job in chapter.jobs.values())
    named = VersionName(chapter.about.get("judgment_set", OFFICIAL), chapter.about.get("qrels_version"))
    judged = qrels.find(tx, chapter.collection_id, named)
    is_seen = judged is not None and (view.organises or judged.published_at is not None)
    return is_seen and sees_set(tx, view, named.judgments)


JOBS: WorkType[StoredJob] = WorkType(
    noun="job",
    organisers="organisers of its collection",
    find=_find_job,
    views=_views_of_job,
    cancel=lambda tx, job, now: jobs.cancel(tx, job.id, now),
    cancelled="job-cancelled",
    delete=jobs.remove,
    deleted="job-deleted",
    details=lambda job: {"kind": job.kind},
)
REPORTS: WorkType[StoredReport] = WorkType(
    noun="report",
    organisers="organisers of all of its collections",
    find=reports.find,
    views=_views_of_report,
    cancel=reports.cancel,
    cancelled="report-cancelled",
    delete=reports.remove,
    deleted="report-deleted",
    details=lambda report: {"name": report.name},
)


@dataclass(frozen=True, slots=True)
class JobsWanted:
    """A choice of jobs for a list: of one collection, kind or state, or all that are seen."""

    collection: str | None = None
    kind: str | None = None
    state: JobState | None = None


def list_jobs(
    workspace: Workspace, principal: Principal, wanted: JobsWanted, before: int | None, limit: int
) -> Sequence[Seen[StoredJob]]:
    """Return jobs that this principal sees, newest first: those with numbers less than `before`.

    Organisers of the instance see the jobs of all collections, others those of their own. Raise JudgmentsHidden for a
    collection whose judgments are hidden.
    """
    with workspace.database.reading() as tx:
        scope, hidden, sets = _scope(tx, principal, wanted.collection)
        of_collection = partial(jobs.page, tx, limit=limit, collection_id=scope, hidden=hidden, sets=sets)
        stored = None if wanted.state == "damaged" else wanted.state  # what is damaged was stored in another state
        every = _every(partial(of_collection, kind=wanted.kind, state=stored), before)
        every = (job for job in every if wanted.state in (None, job.state))
        # Jobs about uploaded scores may be hidden from this principal, so further pages are read.
        listed = (
            job
            for job in every
            if not (names_custom(job.params) or job.kind == VERIFY) or _views_of_job(tx, principal, job) is not None
        )
        seen = list(islice(listed, limit))
        about = {key: collections.of_id(tx, key) for key in {job.collection_id for job in seen}}
    return [Seen(job, (about[job.collection_id],)) for job in seen]


def _scope(tx: Transaction, principal: Principal, name: str | None) -> tuple[int | None, bool, bool]:
    """Return the id of the only collection to list (None for all), and whether two kinds of jobs are included.

    These are jobs about qrels that only organisers see, and jobs about other judgment sets than the official one.
    """
    if name is not None:
        view = open_collection(tx, principal, name)
        view.require_free_scores()
        return view.collection.id, view.organises, view.sees_judgments
    token = principal.require_token()
    if token.collection_id is None:
        return None, principal.organises_instance, principal.organises_instance
    view_of_token = look(principal, collections.of_id(tx, token.collection_id), machine_of(tx).now())
    if view_of_token is None or not view_of_token.sees_free_scores:
        return NOWHERE, False, False
    return token.collection_id, view_of_token.organises, view_of_token.sees_judgments


def list_reports(
    workspace: Workspace, principal: Principal, collection: str | None, name: str | None, before: int | None, limit: int
) -> Sequence[Seen[StoredReport]]:
    """Return reports that this principal sees, newest first: those with numbers less than `before`.

    They are about one collection, or about any. Raise JudgmentsHidden for a collection whose judgments are hidden.
    """
    with workspace.database.reading() as tx:
        if collection is None:
            only = principal.require_token().collection_id
        else:
            view = open_collection(tx, principal, collection)
            view.require_free_scores()
            only = view.collection.id
        every = _every(partial(reports.page, tx, limit=limit, collection_id=only, name=name), before)
        # All reports in one page of the table may be hidden from this principal, so further pages are read.
        seen = (_seen(report, views) for report in every if (views := _views_of_report(tx, principal, report)))
        return list(islice(seen, limit))


def _every(page: Callable[..., list[W]], before: int | None) -> Iterator[W]:
    while rows := page(before=before):
        yield from rows
        before = rows[-1].number
