"""When runs are taken, and how many of a team: checked in the transaction that stores them.

Organisers are bound by neither: they may upload baselines at any time.
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
    """One quota of a team: `limit` None where there is none; `resets_at` where it renews itself."""

    limit: int | None
    used: int
    resets_at: datetime | None = None

    @property
    def left(self) -> int | None:
        """How many more there may be."""
        return None if self.limit is None else max(0, self.limit - self.used)


def require_window(view: View, arrived: datetime) -> None:
    """Raises SubmissionsClosed for a file that arrived outside the submission window."""
    opens, closes = view.collection.opens_at, view.collection.closes_at
    if view.organises:
        return
    if opens is not None and arrived < opens:
        raise _closed(view, f"Submissions open at {opens.isoformat()}; this file arrived at {arrived.isoformat()}.")
    if closes is not None and arrived >= closes:
        raise _closed(view, f"Submissions closed at {closes.isoformat()}; this file arrived at {arrived.isoformat()}.")


def _closed(view: View, message: str) -> SubmissionsClosed:
    times = {"opens_at": view.collection.opens_at, "closes_at": view.collection.closes_at}
    return SubmissionsClosed(message, **{name: time and time.isoformat() for name, time in times.items()})


def of_team(tx: Transaction, view: View, team_id: int, now: datetime) -> dict[str, Quota]:
    """What the team has used of its quotas, by name."""
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    policy = view.policy
    return {
        "per_day": Quota(policy.per_day, runs.sent(tx, team_id, today), today + timedelta(days=1)),
        "total": Quota(policy.total, runs.sent(tx, team_id)),
        "concurrent": Quota(policy.concurrent, uploads.count(tx, team_id, now)),
    }


def require_room(tx: Transaction, view: View, now: datetime) -> None:
    """Raises QuotaExceeded where the team may send no more runs. The collection is locked by the caller, so that of
    many uploads at once no more than the quota are stored."""
    if view.organises or view.own_team is None:
        return
    found = of_team(tx, view, view.own_team, now)
    for name in ("per_day", "total"):
        if found[name].left == 0:
            raise _exceeded(name, found[name])


def _exceeded(name: str, quota: Quota) -> QuotaExceeded:
    meaning = {"per_day": "runs in a day (UTC)", "total": "runs in all", "concurrent": "uploads at once"}[name]
    until = f"; the next day begins at {quota.resets_at.isoformat()}" if quota.resets_at else ""
    return QuotaExceeded(
        f"The team may send {quota.limit} {meaning}, and has {quota.used}{until}.",
        quota=name,
        limit=quota.limit,
        used=quota.used,
        resets_at=quota.resets_at and quota.resets_at.isoformat(),
    )


@contextmanager
def uploading(workspace: Workspace, principal: Principal, name: str) -> Iterator[None]:
    """While a participant's file comes in; raises QuotaExceeded where the team sends as many at once as it may."""
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
