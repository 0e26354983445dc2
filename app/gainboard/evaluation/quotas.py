"""The times when runs are accepted, and their number per team: checked in the transaction that stores them.

Organisers are not bound by this. They may upload baselines at any time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

from gainboard.errors import QuotaExceeded, SubmissionsClosed
from gainboard.evaluation.principals import Principal
from gainboard.evaluation.visibility import View, open_collection, open_locked
from gainboard.evaluation.workspace import Workspace
from gainboard.store import runs, uploads
from gainboard.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota of a team. `limit` is None if there is none; `resets_at` is set if it renews itself."""

    limit: int | None
    used: int
    resets_at: datetime | None = None

    @property
    def left(self) -> int | None:
        """The number of uploads that are left."""
        return None if self.limit is None else max(0, self.limit - self.used)


def require_window(view: View, arrived: datetime) -> None:
    """Raise SubmissionsClosed for a file that arrived outside the submission window."""
    opens, closes = view.collection.opens_at, view.collection.closes_at
    if view.organises:
        return
    if opens is not None and arrived < opens:
        raise _closed(
            view,
            f"Submissions open at {opens.isoformat()}; this file arrived at {arrived.isoformat()}. Send it again "
            "after the opening.",
        )
    if closes is not None and arrived >= closes:
        raise _closed(
            view,
            f"Submissions closed at {closes.isoformat()}; this file arrived at {arrived.isoformat()}. Ask the "
            "organisers for an extension.",
        )


def _closed(view: View, message: str) -> SubmissionsClosed:
    times = {"opens_at": view.collection.opens_at, "closes_at": view.collection.closes_at}
    return SubmissionsClosed(message, **{name: time and time.isoformat() for name, time in times.items()})


def of_team(tx: Transaction, view: View, team_id: int, now: datetime) -> dict[str, Quota]:
    """Return the team's use of its quotas, by name."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    policy = view.policy
    return {
        "per_day": Quota(policy.per_day, runs.sent(tx, team_id, today), today + timedelta(days=1)),
        "total": Quota(policy.total, runs.sent(tx, team_id)),
        "concurrent": Quota(policy.concurrent, uploads.count(tx, team_id, now)),
    }


def require_room(tx: Transaction, view: View, now: datetime) -> None:
    """Raise QuotaExceeded if the team may send no more runs.

    The caller has locked the collection, so that simultaneous uploads cannot exceed the quota.
    """
    if view.organises or view.own_team is None:
        return
    found = of_team(tx, view, view.own_team, now)
    for name in ("per_day", "total"):
        if found[name].left == 0:
            raise _exceeded(name, found[name])


def _exceeded(name: str, quota: Quota) -> QuotaExceeded:
    meaning = {"per_day": "runs in a day (UTC)", "total": "runs in all", "concurrent": "uploads at once"}[name]
    until = f". The next day begins at {quota.resets_at.isoformat()}" if quota.resets_at else ""
    return QuotaExceeded(
        f"The team may send {quota.limit} {meaning} and has sent {quota.used}{until}.",
        quota=name,
        limit=quota.limit,
        used=quota.used,
        resets_at=quota.resets_at and quota.resets_at.isoformat(),
    )


@contextmanager
def uploading(workspace: Workspace, principal: Principal, name: str) -> Iterator[None]:
    """Count an upload while a participant's file arrives.

    Raise QuotaExceeded if the team has too many uploads at once.
    """
    begun = _begin(workspace, principal, name)
    try:
        yield
    finally:
        if begun is not None:
            with workspace.database.writing() as tx:
                uploads.end(tx, begun)


def _begin(workspace: Workspace, principal: Principal, name: str) -> str | None:
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
    # Most collections have no limit, so no write transaction is needed before each upload.
    if view.organises or view.own_team is None or view.policy.concurrent is None:
        return None
    with workspace.database.writing() as tx:
        view, now = open_locked(tx, principal, name), workspace.now()
        team_id = view.own_team
        assert team_id is not None
        quota = Quota(view.policy.concurrent, uploads.count(tx, team_id, now))
        if quota.left == 0:
            raise _exceeded("concurrent", quota)
        return uploads.begin(tx, team_id, now)
