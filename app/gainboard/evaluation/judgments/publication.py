"""Publication: stored runs are judged by a version before it is used, and drafts are published or discarded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

from gainboard.errors import Conflict
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import changing, organising, require_unchanged
from gainboard.evaluation.judgments.versions import index_of, select
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.stored_files import judge_again
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, jobs, qrels, runs
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, Run, VersionName
from gainboard.vocabulary import OFFICIAL, RunOrder

Rows = dict[int, dict[str, Any]]
"""The joins of runs with a qrels version, as rows for the store, by the run's id."""
T = TypeVar("T")
JUDGED_AT_ONCE = 256 << 20
"""The most bytes of stored runs that a request judges. More of them are judged by a job."""


def with_all_judged(
    workspace: Workspace,
    collection: Collection,
    index: Callable[[], QrelsIndex],
    finish: Callable[[Rows], T | None],
    *,
    order: RunOrder,
    qrels_id: int | None = None,
) -> T:
    """Return what `finish` makes of the joins of all runs with a version, without those stored under its id.

    `finish` returns None if runs came in between. Then they are judged as well, and `finish` is called again.
    """
    judged: Rows = {}
    while True:
        # Judging takes long, so it happens outside of write transactions. Runs that arrive meanwhile are found in the
        # next round.
        with workspace.database.reading() as tx:
            waiting = list_unjudged(tx, collection, judged, qrels_id)
        for run in waiting:
            judged[run.id] = judge_again(workspace, collection, run, order, index()).row()
        if (finished := finish(judged)) is not None:
            return finished


def list_unjudged(tx: Transaction, collection: Collection, judged: Rows, qrels_id: int | None = None) -> list[Run]:
    """Return the runs whose join with a version is neither in `judged` nor stored under its id."""
    stored = runs.page(tx, collection.id)
    joined = runs.find_judgings(tx, [run.id for run in stored], qrels_id) if qrels_id is not None else {}
    return [run for run in stored if run.id not in judged and run.id not in joined]


def store_judged(tx: Transaction, collection: Collection, judged: Rows, qrels_id: int) -> None:
    """Store the joins that are not stored yet, for runs that still exist."""
    # Other requests may have stored some of the joins, or withdrawn some of the runs, since they were judged.
    new = [run.id for run in list_unjudged(tx, collection, {}, qrels_id)]
    runs.add_judged(tx, [judged[run_id] | {"run_id": run_id, "qrels_id": qrels_id} for run_id in new])


def after_all(tx: Transaction, collection: Collection, judgments: str, now: datetime) -> datetime:
    """Return the time of a set's publication, later than all others even if the clock was set back or did not move."""
    newest = qrels.find(tx, collection.id, VersionName(judgments))
    if newest is None or newest.published_at is None:
        return now
    # The version published last is in use, so no two of a set may have the same time.
    return max(now, newest.published_at + timedelta(microseconds=1))


def set_order(tx: Transaction, principal: Principal, collection: Collection, order: RunOrder) -> None:
    """Change the collection's order to that of the newly published version, and increase its revision."""
    changed = collections.change(tx, collection.id, **order._asdict())
    if differences := audit.differences(collection, changed):
        audit.record(tx, principal, "collection-changed", changed.name, changed, settings=differences)


def takes_job(workspace: Workspace, principal: Principal, name: str, named: VersionName) -> bool:
    """Return whether the runs that this version has not judged yet take longer than a request may.

    Raise NotFound if there is no such version.
    """
    with organising(workspace, principal, name) as (tx, view):
        view.require_judged("it has no qrels")
        return is_long(tx, view.collection, select(tx, view, named))


def is_long(tx: Transaction, collection: Collection, version: Qrels | None = None) -> bool:
    """Return whether judging the stored runs takes a job: those that the version has not judged, or all runs."""
    return runs.unjudged_bytes(tx, collection.id, version.id if version else None) > JUDGED_AT_ONCE


def publish_judged(
    tx: Transaction, principal: Principal, collection: Collection, version: Qrels, now: datetime
) -> Qrels:
    """Publish a version that has judged all runs, in a transaction that has locked the collection."""
    if version.judgments == OFFICIAL:
        set_order(tx, principal, collection, version.order)
    else:  # its runs keep the order in which they were joined
        collections.touch(tx, collection.id)
    audit.record(tx, principal, "qrels-published", version.subject, collection, sha256=version.sha256)
    return qrels.publish(tx, version.id, after_all(tx, collection, version.judgments, now))


def publish(workspace: Workspace, principal: Principal, name: str, named: VersionName) -> Qrels:
    """Publish a draft, or a version that was replaced; the order of an official one becomes the collection's.

    Stored runs that are not judged by it are judged first, outside the write transaction. The newest version is left
    unchanged. Raise NotFound if there is no such version.
    """
    with organising(workspace, principal, name) as (tx, view):
        view.require_judged("it has no qrels")
        collection, draft = view.collection, select(tx, view, named)

    def finish(judged: Rows) -> Qrels | None:
        with changing(workspace, principal, name) as (tx, view):
            require_unchanged(collection, view.collection)
            version = select(tx, view, named)
            newest = qrels.find(tx, collection.id, named._replace(version=None))
            if newest is not None and newest.id == version.id:
                return version
            # Runs may have arrived after the last look outside of this transaction. They are judged first.
            if list_unjudged(tx, collection, judged, version.id):
                return None
            store_judged(tx, collection, judged, version.id)
            return publish_judged(tx, principal, view.collection, version, workspace.now())

    return with_all_judged(
        workspace,
        collection,
        lambda: index_of(workspace, collection, draft),
        finish,
        order=draft.order,
        qrels_id=draft.id,
    )


def discard(workspace: Workspace, principal: Principal, name: str, named: VersionName) -> None:
    """Discard a draft, with its open jobs. Its number is not used again.

    Raise NotFound if there is no such version, and Conflict if it was published.
    """
    with changing(workspace, principal, name) as (tx, view):
        view.require_judged("it has no qrels")
        draft = select(tx, view, named)
        if draft.published_at is not None:
            raise Conflict(f"The {named} was published, and answers refer to it. Only drafts can be discarded.")
        discard_draft(tx, principal, view.collection, draft, workspace.now())


def discard_draft(tx: Transaction, principal: Principal, collection: Collection, draft: Qrels, now: datetime) -> None:
    """Discard a draft in a transaction that has locked the collection."""
    jobs.cancel_all(tx, collection.id, now, qrels_id=draft.id)
    qrels.discard(tx, draft.id, now)
    audit.record(tx, principal, "qrels-discarded", draft.subject, collection, sha256=draft.sha256)
