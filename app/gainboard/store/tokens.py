"""Stored bearer tokens, and sessions of browsers.

Only the SHA-256 of a token, or of a session's secret, is stored, so a copy of the database gives no access.

A token has 256 random bits, so nobody can guess it from a plain hash. The time of a look-up in the index reveals at
most a part of the hash, from which the token cannot be computed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import Select, bindparam, delete, insert, or_, select, update

from gainboard.errors import Conflict
from gainboard.store.damage import columns_of, find_record, get_record, list_records
from gainboard.store.database import Transaction, machine_of
from gainboard.store.records import INVITED, Token
from gainboard.store.tables import sessions, teams
from gainboard.store.tables import tokens as table
from gainboard.vocabulary import Role


def digest(token: str) -> str:
    """Return the hash that is stored instead of a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def new_id(tx: Transaction) -> str:
    return machine_of(tx).new_uuid()


def _select() -> Select[Any]:
    # All but the hash, which does not leave the store.
    return select(*columns_of(Token, table, team=teams.c.name)).outerjoin(teams, teams.c.id == table.c.team_id)


_BY_HASH = _select().where(table.c.hash == bindparam("hash"))


def create(
    tx: Transaction,
    hashed: str,
    now: datetime,
    *,
    role: Role,
    origin: str = "created",
    collection_id: int | None = None,
    team_id: int | None = None,
    expires_at: datetime | None = None,
    holder: str | None = None,
    identity: str | None = None,
) -> Token:
    """Store a token, by its hash, under an id that is its own."""
    identity = identity or new_id(tx)
    tx.execute(
        insert(table).values(
            id=identity,
            hash=hashed,
            role=role,
            origin=origin,
            collection_id=collection_id,
            team_id=team_id,
            created_at=now,
            expires_at=expires_at,
            holder=holder,
        )
    )
    return get_record(tx, Token, _select().where(table.c.id == identity))


def find(tx: Transaction, hashed: str) -> Token | None:
    """Return the record of the token with this hash, valid or not."""
    return find_record(tx, Token, _BY_HASH, {"hash": hashed})


def of_id(tx: Transaction, identity: str) -> Token:
    """Return the record of the token with this id, valid or not."""
    return get_record(tx, Token, _select().where(table.c.id == identity))


def find_by_id(tx: Transaction, collection_id: int | None, identity: str) -> Token | None:
    """Return the record of a collection's token by its public id; without a collection, of an instance organiser's."""
    return find_record(tx, Token, _select().where(table.c.id == identity, table.c.collection_id == collection_id))


def page(tx: Transaction, collection_id: int | None, *, after: str | None, limit: int) -> list[Token]:
    """Return a collection's tokens by id, with revoked ones; without a collection, the instance organisers'."""
    query = _select().where(table.c.collection_id == collection_id).order_by(table.c.id).limit(limit)
    if after is not None:
        query = query.where(table.c.id > after)
    return list_records(tx, Token, query)


def revoke(tx: Transaction, identity: str, now: datetime) -> None:
    """Revoke a token for good; a second call changes nothing."""
    tx.execute(update(table).where(table.c.id == identity, table.c.revoked_at.is_(None)).values(revoked_at=now))


def rotate(tx: Transaction, identity: str, token: str, **values: Any) -> Token:
    """Replace a token by another one, with new values for other columns. The old token ends at once."""
    tx.execute(update(table).where(table.c.id == identity).values(hash=digest(token), **values))
    return get_record(tx, Token, _select().where(table.c.id == identity))


def open_invitations(tx: Transaction, collection_id: int, now: datetime) -> list[Token]:
    """Return the open invitations of a collection, by team."""
    query = _select().where(table.c.collection_id == collection_id, table.c.origin == INVITED, _is_live(now))
    return list_records(tx, Token, query.order_by(teams.c.name))


def exchange(tx: Transaction, identity: str, token: str) -> bool:
    """Replace an open invitation by a token that does not expire. Return False if it is none any more."""
    values = {"hash": digest(token), "origin": "created", "expires_at": None}
    # Of two requests with one code, the second one finds no invitation any more.
    query = update(table).where(table.c.id == identity, table.c.origin == INVITED, table.c.revoked_at.is_(None))
    return tx.execute(query.values(**values)).rowcount == 1


def note_use(tx: Transaction, identity: str, now: datetime, *, before: datetime) -> None:
    """Note that a token was used, unless that was noted after `before` already."""
    is_due = or_(table.c.last_used_at.is_(None), table.c.last_used_at <= before)
    tx.execute(update(table).where(table.c.id == identity, is_due).values(last_used_at=now))


def _is_live(now: datetime) -> Any:
    return table.c.revoked_at.is_(None) & or_(table.c.expires_at.is_(None), table.c.expires_at > now)


def live_organisers(tx: Transaction, now: datetime) -> list[str]:
    """Return the ids of the instance organisers' valid tokens."""
    query = select(table.c.id).where(table.c.collection_id.is_(None), _is_live(now))
    return list(tx.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class AdminToken:
    """The outcome for the environment's token: its record, the number of tokens it replaced, and what is new in it."""

    record: Token
    replaced: int
    is_new: bool


def replace_environment_token(tx: Transaction, token: str, now: datetime) -> AdminToken:
    """Make this the instance's token, instead of an earlier value and of the token that a first start printed.

    Tokens that organisers created for each other stay. Raise Conflict if it is one of these, or a collection's.
    """
    record = find(tx, digest(token))
    if record is not None and (record.collection_id is not None or record.origin == "created"):
        raise Conflict(
            "The admin token is a token that was created here before. Choose another value for GAINBOARD_ADMIN_TOKEN."
        )
    # Earlier values end at once: whoever knew one of them must not stay an organiser.
    theirs = (table.c.collection_id.is_(None), table.c.hash != digest(token), table.c.revoked_at.is_(None))
    others = update(table).where(*theirs, table.c.origin != "created").values(revoked_at=now)
    replaced = len(tx.execute(others.returning(table.c.id)).all())
    if record is None:
        return AdminToken(create(tx, digest(token), now, role="organiser", origin="environment"), replaced, is_new=True)
    set_again = update(table).where(table.c.id == record.id).values(revoked_at=None, origin="environment")
    tx.execute(set_again)
    is_new = replaced > 0 or record.revoked_at is not None or record.origin != "environment"
    return AdminToken(record, replaced, is_new)


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


def lock_sessions(tx: Transaction, token_hash: str) -> None:
    """Let the sign-ins of one token come one after the other, until the writing transaction ends."""
    # The kind of lock that lets others refer to the token: jobs and audit entries need not wait for a sign-in.
    tx.execute(select(table.c.id).where(table.c.hash == token_hash).with_for_update(key_share=True))


def create_session(tx: Transaction, secret: str, token_hash: str, now: datetime) -> StoredSession:
    """Store a session of a token."""
    session = StoredSession(digest(secret), token_hash, now, now)
    tx.execute(insert(sessions).values(**session._asdict()))
    return session


def find_session(tx: Transaction, secret: str, past: Past) -> StoredSession | None:
    """Return the session with this secret; None if there is no such session any more."""
    return next(iter(_sessions(tx, sessions.c.id == digest(secret), past)), None)


def sessions_of(tx: Transaction, token_hash: str, past: Past) -> list[StoredSession]:
    """Return the sessions of a token, newest first."""
    return _sessions(tx, sessions.c.token_hash == token_hash, past)


def _sessions(tx: Transaction, wanted: Any, past: Past) -> list[StoredSession]:
    query = select(*(sessions.c[name] for name in StoredSession._fields))
    query = query.where(wanted, sessions.c.began_at > past.began, sessions.c.used_at > past.used)
    return [StoredSession(*row) for row in tx.execute(query.order_by(sessions.c.began_at.desc(), sessions.c.id))]


def note_session_use(tx: Transaction, identity: str, now: datetime, *, before: datetime) -> None:
    """Note that a session was used, unless that was noted after `before` already."""
    tx.execute(update(sessions).where(sessions.c.id == identity, sessions.c.used_at <= before).values(used_at=now))


def end_sessions(tx: Transaction, identities: Collection[str]) -> int:
    """End sessions, and return how many had not ended before."""
    return len(tx.execute(delete(sessions).where(sessions.c.id.in_(identities)).returning(sessions.c.id)).all())


def forget_sessions(tx: Transaction, past: Past) -> None:
    """Forget the sessions that are over."""
    tx.execute(delete(sessions).where((sessions.c.began_at <= past.began) | (sessions.c.used_at <= past.used)))
