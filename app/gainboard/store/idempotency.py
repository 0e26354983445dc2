"""Answers kept for a day under the Idempotency-Key of their request."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, true, update

from gainboard.store.database import Transaction, insert_for
from gainboard.store.tables import idempotency_keys as table

KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a key: the same key of another token, or on another route, is another key."""

    principal: str
    route: str
    key: str


@dataclass(frozen=True, slots=True)
class Kept:
    """The stored facts about an earlier request. `status` is None while it is under way."""

    fingerprint: str
    status: int | None
    headers: dict[str, str] | None
    body: bytes | None


def _of(scope: Scope) -> Any:
    return (table.c.principal == scope.principal) & (table.c.route == scope.route) & (table.c.key == scope.key)


def claim(tx: Transaction, scope: Scope, fingerprint: str, now: datetime, process: str) -> Kept | None:
    """Claim the key for a request that begins now in this process, or return what an earlier request has stored.

    If the process dies before the request ends, the key is released (`processes.sweep`).
    """
    tx.execute(delete(table).where(table.c.created_at < now - KEPT))
    query = insert_for(tx)(table).values(**asdict(scope), fingerprint=fingerprint, created_at=now, process=process)
    if tx.execute(query.on_conflict_do_nothing().returning(table.c.key)).first():
        return None
    kept = select(table.c.fingerprint, table.c.status, table.c.headers, table.c.body).where(_of(scope))
    row = tx.execute(kept).first()
    # the holder may have released the key in this moment
    return Kept(*row) if row else claim(tx, scope, fingerprint, now, process)


def keep(
    tx: Transaction, scope: Scope, status: int, headers: dict[str, str], body: bytes, *, since: datetime | None = None
) -> None:
    """Store the answer to repeat for the key that was claimed at this time."""
    tx.execute(update(table).where(_claimed(scope, since)).values(status=status, headers=headers, body=body))


def release(tx: Transaction, scope: Scope, *, since: datetime | None = None) -> None:
    """Release the key that was claimed at this time after a failed request, which may then be sent again with it."""
    tx.execute(delete(table).where(_claimed(scope, since)))


def _claimed(scope: Scope, since: datetime | None) -> Any:
    # An end that is stored late must not meet the claim of a later request.
    is_own = true() if since is None else (table.c.created_at == since) & table.c.status.is_(None)
    return _of(scope) & is_own
