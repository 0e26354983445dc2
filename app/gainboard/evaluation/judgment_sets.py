"""Judgment sets: parallel judgments of one collection under names, each released on its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from gainboard.errors import Conflict
from gainboard.evaluation import audit
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.versions import require_set
from gainboard.evaluation.visibility import View, open_collection, open_locked
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, jobs, judgment_sets, qrels
from gainboard.store.database import Transaction
from gainboard.store.records import OFFICIAL, Action, Qrels, VersionName

MOST_VERSIONS = 10_000


@dataclass(frozen=True, slots=True)
class SeenSet:
    """A judgment set as one principal sees it, with its versions by number and the one in use.

    The times are None for the official set, which is created and released with its collection.
    """

    name: str
    is_released: bool
    created_at: datetime | None
    released_at: datetime | None
    versions: Sequence[Qrels]
    in_use: Qrels | None


def list_sets(workspace: Workspace, principal: Principal, name: str) -> list[SeenSet]:
    """List the judgment sets that this principal sees, by name, for principals who may see the judgments."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        sets = judgment_sets.page(tx, view.collection.id, hidden=view.organises)
        names = sorted([OFFICIAL, *(each.name for each in sets)], key=str.encode)
        return [_seen(tx, view, each) for each in names]


def _seen(tx: Transaction, view: View, name: str) -> SeenSet:
    here = view.collection
    versions = qrels.page(tx, here.id, name, drafts=view.organises, after=None, limit=MOST_VERSIONS)
    in_use = qrels.find(tx, here.id, VersionName(name))
    stored = judgment_sets.find(tx, here.id, name)
    if stored is None:
        return SeenSet(name, here.is_released(datetime.now(UTC)), None, None, versions, in_use)
    return SeenSet(name, stored.released_at is not None, stored.created_at, stored.released_at, versions, in_use)


def release(workspace: Workspace, principal: Principal, name: str, judgments: str, *, is_released: bool) -> SeenSet:
    """Release a set, or hide it again (organisers). It is shown as soon as the collection is released as well.

    Raise NotFound if there is no such set, and Conflict for the official one.
    """
    with workspace.database.writing() as tx:
        view = _open_set(tx, principal, name, judgments)
        before = _seen(tx, view, judgments)
        if before.is_released != is_released:
            judgment_sets.release(tx, view.collection.id, judgments, workspace.now() if is_released else None)
            collections.touch(tx, view.collection.id)
            action: Action = "judgments-released" if is_released else "judgments-hidden"
            audit.record(tx, principal, action, judgments, view.collection)
        return _seen(tx, view, judgments)


def delete(workspace: Workspace, principal: Principal, name: str, judgments: str) -> None:
    """Delete a set with all its versions, and cancel the jobs about them (organisers).

    A new set of this name has higher version numbers. Raise NotFound if there is no such set, and Conflict for the
    official one.
    """
    with workspace.database.writing() as tx:
        view = _open_set(tx, principal, name, judgments)
        now = workspace.now()
        versions = qrels.page(tx, view.collection.id, judgments, drafts=True, after=None, limit=MOST_VERSIONS)
        for each in versions:
            jobs.cancel_all(tx, view.collection.id, now, qrels_id=each.id)
            qrels.discard(tx, each.id, now)
        judgment_sets.remove(tx, view.collection.id, judgments)
        collections.touch(tx, view.collection.id)
        audit.record(tx, principal, "judgments-deleted", judgments, view.collection, versions=len(versions))


def _open_set(tx: Transaction, principal: Principal, name: str, judgments: str) -> View:
    view = open_locked(tx, principal, name)
    view.require_organiser()
    require_set(tx, view, judgments)
    if judgments == OFFICIAL:
        raise Conflict(
            f"The official judgments belong to {name!r} itself. Change the phase of the collection to release or hide "
            "them; delete a draft by its number, or the collection."
        )
    return view
