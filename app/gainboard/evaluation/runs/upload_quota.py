"""The times when runs are accepted, and their number and size per team: checked in the transaction that stores them.

Organisers are not bound by this, so nothing here is asked about them. They may upload baselines at any time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gainboard.errors import QuotaExceeded, SubmissionsClosed, UploadAfterRelease
from gainboard.evaluation.access.visibility import View, open_locked
from gainboard.evaluation.runs.pruning import KEPT_DAYS
from gainboard.evaluation.workspace import Workspace
from gainboard.store import runs
from gainboard.store.database import Transaction


@dataclass(frozen=True, slots=True)
class Quota:
    """One quota of a team. `limit` is None if there is none; `resets_at` is set if it renews itself."""

    limit: int | None
    used: int
    resets_at: datetime | None = None

    @property
    def left(self) -> int | None:
        return None if self.limit is None else max(0, self.limit - self.used)


def require_window(view: View, now: datetime, *, is_file: bool = True) -> None:
    """Raise UploadAfterRelease or SubmissionsClosed if no file of a team is accepted now.

    `is_file` is false if nothing was sent yet: the message then speaks of no file.
    """
    opens, closes = view.collection.opens_at, view.collection.closes_at
    release, name = view.collection.release, view.collection.name
    whose = "upload it" if is_file else "upload a run for you"
    came = f"; this file arrived at {to_the_second(now)}" if is_file else ""
    if view.policy.late == "closed" and release is not None and release <= now:
        raise UploadAfterRelease(
            f"The judgments of {name!r} were released at {to_the_second(release)}{came}. Teams can upload no runs "
            "after the release, because their authors may know the judgments. Ask the organisers to "
            f"{whose}, or to accept late runs (`gainboard collection change {name} --policy late=marked`).",
            released_at=release.isoformat(),
        )
    if opens is not None and now < opens:
        again = " Send it again after the opening." if is_file else ""
        raise _closed(view, f"Submissions open at {to_the_second(opens)}{came}.{again}")
    if closes is not None and now >= closes:
        raise _closed(
            view, f"Submissions closed at {to_the_second(closes)}{came}. Ask the organisers for an extension."
        )


def to_the_second(time: datetime) -> str:
    """Return a time for a message: RFC 3339 in UTC, without fractions."""
    return time.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def _closed(view: View, message: str) -> SubmissionsClosed:
    times = {"opens_at": view.collection.opens_at, "closes_at": view.collection.closes_at}
    return SubmissionsClosed(message, **{name: time and time.isoformat() for name, time in times.items()})


def of_team(tx: Transaction, workspace: Workspace, view: View, team_id: int, now: datetime) -> dict[str, Quota]:
    """Return the team's use of its quotas, by name."""
    concurrent = Quota(view.policy.quotas.concurrent, workspace.upload_slots.count(tx, team_id))
    return {**_of_runs(tx, view, [team_id], now)[team_id], "concurrent": concurrent}


def runs_left(tx: Transaction, view: View, team_ids: Sequence[int], now: datetime) -> dict[int, int | None]:
    """Return the number of runs that each team may still send now; None without a quota."""
    return {team: fewest_left(quotas.values()) for team, quotas in _of_runs(tx, view, team_ids, now).items()}


def fewest_left(quotas: Iterable[Quota]) -> int | None:
    """Return what the strictest of the quotas leaves; None if none has a limit."""
    return min((quota.left for quota in quotas if quota.left is not None), default=None)


def _of_runs(tx: Transaction, view: View, team_ids: Sequence[int], now: datetime) -> dict[int, dict[str, Quota]]:
    # A day of UTC, wherever teams and server are.
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    quotas, sent_today, sent = view.policy.quotas, runs.count_sent(tx, team_ids, today), runs.count_sent(tx, team_ids)
    return {
        team: {
            "per_day": Quota(quotas.per_day, sent_today[team], today + timedelta(days=1)),
            "total": Quota(quotas.total, sent[team]),
        }
        for team in team_ids
    }


def of_bytes(tx: Transaction, view: View, team_id: int) -> Quota:
    """Return the team's quota of stored bytes."""
    # With withdrawn runs, or a team could store any number of them by sending and withdrawing in turn.
    return Quota(view.policy.quotas.bytes, runs.stored_bytes(tx, team_id))


def require_room(tx: Transaction, view: View, now: datetime, size: int) -> None:
    """Raise QuotaExceeded if the team may send no more runs, or store no file of this decompressed size.

    The caller has locked the collection, so that simultaneous uploads cannot exceed the quota.
    """
    team_id = view.own_team
    # A token of a participant always has a team (`tokens.Wish`).
    assert team_id is not None
    for name, quota in _of_runs(tx, view, [team_id], now)[team_id].items():
        if quota.left == 0:
            raise _exceeded(name, quota)
    stored = of_bytes(tx, view, team_id)
    if stored.left is not None and stored.left < size:
        raise QuotaExceeded(
            f"The team may store {stored.limit:,} bytes of runs (decompressed) and stores {stored.used:,}; this file "
            f"has {size:,}. A withdrawn run counts until its content is deleted, {KEPT_DAYS} days later. Ask the "
            "organisers for a larger quota (`quotas.bytes`).",
            quota="bytes",
            limit=stored.limit,
            used=stored.used,
            resets_at=None,
        )


def _exceeded(name: str, quota: Quota) -> QuotaExceeded:
    several = "" if quota.limit == 1 else "s"
    meaning = {
        "per_day": f"run{several} in a day (UTC)",
        "total": f"run{several} in all",
        "concurrent": f"upload{several} at once",
    }[name]
    tomorrow = quota.resets_at and to_the_second(quota.resets_at)
    then = {
        "per_day": f"Send the file after the next day has begun at {tomorrow}",
        "total": "Ask the organisers for a larger quota (`quotas.total`)",
        "concurrent": "Send the file again once another upload has ended",
    }[name]
    return QuotaExceeded(
        f"The team may send {quota.limit} {meaning} and has sent {quota.used}. {then}.",
        quota=name,
        limit=quota.limit,
        used=quota.used,
        resets_at=quota.resets_at and quota.resets_at.isoformat(),
    )


def take_slot(workspace: Workspace, view: View) -> str:
    """Return the slot of an upload that begins, for a team whose uploads count. The caller gives it back.

    Raise QuotaExceeded if the team has too many uploads at once.
    """
    team_id, slots, slot = view.own_team, workspace.upload_slots, None
    assert team_id is not None
    try:
        with workspace.database.writing() as tx:
            # Counted under the lock: of two uploads that begin together, only one may have the last slot.
            locked = open_locked(tx, view.principal, view.collection.name)
            quota = Quota(locked.policy.quotas.concurrent, slots.count(tx, team_id))
            if quota.left == 0:
                raise _exceeded("concurrent", quota)
            slot = slots.take(tx, team_id)
    except BaseException:
        if slot is not None:
            slots.leave(slot)
        raise
    return slot
