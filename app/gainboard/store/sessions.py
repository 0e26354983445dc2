"""Sessions of browsers. Like tokens, only the SHA-256 of a session's secret is stored."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import delete, insert, select

from gainboard.store.database import Transaction
from gainboard.store.tables import sessions as table
from gainboard.store.tokens import digest


def create(tx: Transaction, secret: str, token_hash: str, expires_at: datetime, now: datetime) -> None:
    """Store a session of a token, and forget the sessions that have expired."""
    tx.execute(delete(table).where(table.c.expires_at <= now))
    tx.execute(insert(table).values(id=digest(secret), token_hash=token_hash, expires_at=expires_at))


def find(tx: Transaction, secret: str, now: datetime) -> str | None:
    """Return the hash of the session's token; None if there is no such session any more."""
    query = select(table.c.token_hash).where(table.c.id == digest(secret), table.c.expires_at > now)
    found: str | None = tx.execute(query).scalar_one_or_none()
    return found


def end(tx: Transaction, secret: str) -> None:
    """End a session. A second call changes nothing."""
    tx.execute(delete(table).where(table.c.id == digest(secret)))
