"""Another order of a collection's runs: stored files are read again, and the same judgments get new versions.

No version ever changes. The published version of each judgment set, and every draft, gets a new version with the same
judgments and the runs in the new order. The drafts under the old order are then discarded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gainboard.errors import Conflict, FaultyFile
from gainboard.evaluation import audit
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_locked, organising
from gainboard.evaluation.judgments.publication import after_all, discard_draft, set_order, store_judged
from gainboard.evaluation.judgments.versions import index_of
from gainboard.evaluation.runs.stored_files import read_again
from gainboard.evaluation.workspace import Workspace
from gainboard.store import collections, qrels, runs
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, Run, VersionName
from gainboard.vocabulary import Action, RunOrder

FAULTY_NAMED = 5
"""The most runs that one message names."""


@dataclass(frozen=True, slots=True)
class Rejoined:
    """A run in another order: the columns of its join with a version, or why its file cannot be read in that order."""

    row: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


@dataclass(frozen=True)
class Plan:
    """A change of order and all that it depends on. Equal plans replace the same versions with the same runs."""

    newest: Qrels | None
    replaced: tuple[Qrels, ...]
    """Versions that get new ones, each with its present order; the published official version is first."""
    runs: tuple[Run, ...]
    next_version: int

    @classmethod
    def of(cls, tx: Transaction, collection: Collection, order: RunOrder) -> Plan:
        """Return the plan for the present state of the database."""
        newest, drafts = qrels.find(tx, collection.id), qrels.list_drafts(tx, collection.id)
        names = [VersionName(judgments.name) for judgments in qrels.page_sets(tx, collection.id, hidden=True)]
        others = [newest_of_set for name in names if (newest_of_set := qrels.find(tx, collection.id, name))]
        present = [*([newest] if newest else []), *others, *drafts]
        return cls(
            newest,
            tuple(version for version in present if version.order != order),
            tuple(runs.page(tx, collection.id)),
            qrels.next_version(tx, collection.id),
        )

    @property
    def joined(self) -> Sequence[Qrels | None]:
        """The versions with which the runs are joined.

        It contains None if runs are only read, because there are no judgments.
        """
        return self.replaced or ((None,) if self.newest is None else ())

    @property
    def published_version(self) -> int | None:
        """The number of the version that is published once the plan is carried out."""
        if self.newest is None:
            return None
        return self.next_version if self.newest in self.replaced else self.newest.version


@dataclass
class OrderChange:
    """The change of a collection to another order: `prepare` reads runs, and `apply` publishes."""

    workspace: Workspace
    collection: Collection
    order: RunOrder
    joins: dict[tuple[int, int], Rejoined] = field(default_factory=dict)
    """Joins by the ids of version and run. These never change, so joins for an earlier plan serve the next one."""
    plan: Plan | None = None

    def join(self, version: Qrels | None, run: Run) -> Rejoined:
        """Return the join of a run in the new order with the judgments of a version.

        Without a version, only read the run.
        """
        try:
            index = index_of(self.workspace, self.collection, version) if version is not None else None
            joined = read_again(self.workspace, self.collection, run, self.order, index).joined
        except FaultyFile as error:
            return Rejoined(fault=error.message)
        return Rejoined(joined.row() if joined is not None else {})

    def prepare(self) -> Plan:
        """Return the plan once every run is joined for it. Raise Conflict if files cannot be read in this order."""
        with self.workspace.database.reading() as tx:
            self.plan = plan = Plan.of(tx, self.collection, self.order)
        for version in plan.joined:
            for run in plan.runs:
                # Joins of an earlier plan are used again, so that a second try costs only the new runs.
                if (key := _key(version, run)) not in self.joins:
                    self.joins[key] = self.join(version, run)
            faults = [(run, self.joins[_key(version, run)].fault) for run in plan.runs]
            if faulty := [f"{run.name!r} of {run.team!r}, {fault}" for run, fault in faults if fault is not None]:
                more = f"; and {len(faulty) - FAULTY_NAMED} more" if len(faulty) > FAULTY_NAMED else ""
                raise Conflict(
                    f"{len(faulty)} of {len(plan.runs)} runs cannot be ordered by {self.order}, so nothing was "
                    f"changed: {'; '.join(faulty[:FAULTY_NAMED])}{more}. Withdraw these runs, or ask their teams for "
                    "corrected ones, and repeat the request."
                )
        return plan

    def apply(self, tx: Transaction, principal: Principal) -> bool:
        """Publish the new versions, in a transaction that has locked the collection.

        Return False, and change nothing, if the last plan is out of date because runs or versions came in between.
        """
        plan = Plan.of(tx, self.collection, self.order)
        if plan != self.plan:
            return False
        for version in plan.replaced:
            now, is_draft = self.workspace.now(), version.published_at is None
            published_at = None if is_draft else after_all(tx, self.collection, version.judgments, now)
            added = qrels.add_again(tx, version, **self.order._asdict(), created_at=now, published_at=published_at)
            rows = {run.id: dict(self.joins[_key(version, run)].row) for run in plan.runs}
            store_judged(tx, self.collection, rows, added.id)
            action: Action = "qrels-drafted" if is_draft else "qrels-published"
            details = {"sha256": added.sha256, "judged": added.judged, **self.order._asdict()}
            audit.record(
                tx, principal, action, added.subject, self.collection, **details, rejudged_from=version.version
            )
            if is_draft:
                discard_draft(tx, principal, self.collection, version, now)
        set_order(tx, principal, collections.of_id(tx, self.collection.id), self.order)
        return True


def _key(version: Qrels | None, run: Run) -> tuple[int, int]:
    return (version.id if version is not None else 0, run.id)


def is_in_order(tx: Transaction, collection: Collection, order: RunOrder) -> bool:
    """Return whether the collection and all its versions that are not replaced are in this order already."""
    return collection.order == order and not Plan.of(tx, collection, order).replaced


def change_unpublished(workspace: Workspace, principal: Principal, name: str, order: RunOrder) -> bool:
    """Change the order of a collection without published judgments.

    Return False, and change nothing, if judgments are published: then a job is needed. Raise Conflict if a run cannot
    be read in this order.
    """
    with organising(workspace, principal, name) as (tx, view):
        change = OrderChange(workspace, view.collection, order)
        if qrels.find(tx, view.collection.id) is not None:
            return False
    # Runs that arrive while files are read make the plan outdated. The next round reads only those.
    while True:
        # Judgments were published in the meantime.
        if change.prepare().newest is not None:
            return False
        with workspace.database.writing() as tx:
            lock_for_change(tx, principal, change.collection)
            if change.apply(tx, principal):
                return True


def lock_for_change(tx: Transaction, principal: Principal, collection: Collection) -> None:
    """Lock the collection for a change.

    Raise Forbidden or NotFound if the principal may not change it, or no longer.
    """
    view = open_locked(tx, principal, collection.name)
    view.require_organiser()
    if view.collection.id != collection.id:
        raise Conflict(
            f"The collection {collection.name!r} was deleted and created again in the meantime. Repeat the request."
        )
