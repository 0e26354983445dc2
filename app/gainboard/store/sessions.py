"""Sessions of browsers. Like tokens, only the SHA-256 of a session's secret is stored: the session's id."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, insert, select, update

from gainboard.store.database import Transaction
from gainboard.store.tables import sessions as table
from gainboard.store.tables import tokens
from gainboard.store.tokens import digest


class StoredSession(NamedTuple):
    """A session: its id, the hash of its token, and when it began and was last used."""

    id: str
    token_hash: str
    began_at: datetime
    used_at: datetime


class Past(NamedTuple):
    """The past in which a session has begun, or was last used, that is over now."""

    began: datetime
    used: datetime


def lock(tx: Transaction, token_hash: str) -> None:
    """Let the sign-ins of one token come one after the other, until the writing transaction ends."""
    # The kind of lock that lets others refer to the token: jobs and audit entries need not wait for a sign-in.
    tx.execute(select(tokens.c.id).where(tokens.c.hash == token_hash).with_for_update(key_share=True))


def create(tx: Transaction, secret: str, token_hash: str, now: datetime) -> StoredSession:
    """Store a session of a token."""
    session = StoredSession(digest(secret), token_hash, now, now)
    tx.execute(insert(table).values(**session._asdict()))
    return session


def find(tx: Transaction, secret: str, past: Past) -> StoredSession | None:
    """Return the session with this secret; None if there is no such session any more."""
    return next(iter(_page(tx, table.c.id == digest(secret), past)), None)


def of_token(tx: Transaction, token_hash: str, past: Past) -> list[StoredSession]:
    """Return the sessions of a token, newest first."""
    return _page(tx, table.c.token_hash == token_hash, past)


def _page(tx: Transaction, wanted: Any, past: Past) -> list[StoredSession]:
    query = select(*(table.c[name] for name in StoredSession._fields))
    query = query.where(wanted, table.c.began_at > past.began, table.c.used_at > past.used)
    return [StoredSession(*row) for row in tx.execute(query.order_by(table.c.began_at.desc(), table.c.id))]


def note_use(tx: Transaction, identity: str, now: datetime, *, before: datetime) -> None:
    """Note that a session was used, unless that was noted after `before` already."""
    tx.execute(update(table).where(table.c.id == identity, table.c.used_at <= before).values(used_at=now))


def end(tx: Transaction, identities: Collection[str]) -> int:
    """End sessions, and return how many had not ended before."""
    return len(tx.execute(delete(table).where(table.c.id.in_(identities)).returning(table.c.id)).all())


def forget(tx: Transaction, past: Past) -> None:
    """Forget the sessions that are over."""
    tx.execute(delete(table).where((table.c.began_at <= past.began) | (table.c.used_at <= past.used)))
