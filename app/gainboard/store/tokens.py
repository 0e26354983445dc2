"""Bearer tokens, as stored: only the SHA-256 of a token, so that a copy of the database opens nothing.

A token has 256 random bits, so a plain hash is enough: there is nothing to guess from it. Looking the hash up
in an index tells by its timing at most something of the hash, from which the token does not follow.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Select, bindparam, insert, or_, select, update

from gainboard.errors import Conflict
from gainboard.store.database import Transaction
from gainboard.store.records import Role, Token
from gainboard.store.tables import teams
from gainboard.store.tables import tokens as table


def digest(token: str) -> str:
    """What is stored in a token's place."""
    return hashlib.sha256(token.encode()).hexdigest()


def _select() -> Select[Any]:
    kept = [column for column in table.c if column.name != "hash"]
    return select(*kept, teams.c.name.label("team")).outerjoin(teams, teams.c.id == table.c.team_id)


_BY_HASH = _select().where(table.c.hash == bindparam("hash"))


def _record(row: Row[Any]) -> Token:
    return Token(**row._mapping)


def create(
    tx: Transaction,
    token: str,
    now: datetime,
    *,
    role: Role,
    origin: str = "created",
    collection_id: int | None = None,
    team_id: int | None = None,
    expires_at: datetime | None = None,
    holder: str | None = None,
) -> Token:
    """Stores the token's hash under a new id."""
    identity = str(uuid4())
    tx.execute(
        insert(table).values(
            id=identity,
            hash=digest(token),
            role=role,
            origin=origin,
            collection_id=collection_id,
            team_id=team_id,
            created_at=now,
            expires_at=expires_at,
            holder=holder,
        )
    )
    return _record(tx.execute(_select().where(table.c.id == identity)).one())


def find(tx: Transaction, token: str) -> Token | None:
    """The record of this token, valid or not."""
    row = tx.execute(_BY_HASH, {"hash": digest(token)}).first()
    return _record(row) if row else None


def of_id(tx: Transaction, identity: str) -> Token:
    """Return the record of the token of this id, valid or not."""
    return _record(tx.execute(_select().where(table.c.id == identity)).one())


def find_by_id(tx: Transaction, collection_id: int | None, identity: str) -> Token | None:
    """The record of a collection's token by its public id; without a collection, of an instance organiser's."""
    row = tx.execute(_select().where(table.c.id == identity, table.c.collection_id == collection_id)).first()
    return _record(row) if row else None


def page(tx: Transaction, collection_id: int | None, *, after: str | None, limit: int) -> list[Token]:
    """A collection's tokens by id, revoked ones too; without a collection, those of the instance's organisers."""
    query = _select().where(table.c.collection_id == collection_id).order_by(table.c.id).limit(limit)
    if after is not None:
        query = query.where(table.c.id > after)
    return [_record(row) for row in tx.execute(query)]


def revoke(tx: Transaction, identity: str, now: datetime) -> None:
    """Ends a token for good; a second call changes nothing."""
    tx.execute(update(table).where(table.c.id == identity, table.c.revoked_at.is_(None)).values(revoked_at=now))


def rotate(tx: Transaction, identity: str, token: str, **values: Any) -> Token:
    """Puts another token in the place of one, with new values for other columns; the one before opens nothing."""
    tx.execute(update(table).where(table.c.id == identity).values(hash=digest(token), **values))
    return _record(tx.execute(_select().where(table.c.id == identity)).one())


def note_use(tx: Transaction, identity: str, now: datetime, *, before: datetime) -> None:
    """Notes that a token was used, unless that was noted already after `before`."""
    is_due = or_(table.c.last_used_at.is_(None), table.c.last_used_at <= before)
    tx.execute(update(table).where(table.c.id == identity, is_due).values(last_used_at=now))


def _is_live(now: datetime) -> Any:
    return table.c.revoked_at.is_(None) & or_(table.c.expires_at.is_(None), table.c.expires_at > now)


def live_organisers(tx: Transaction, now: datetime) -> list[str]:
    """The ids of the tokens of instance organisers that are valid."""
    query = select(table.c.id).where(table.c.collection_id.is_(None), _is_live(now))
    return list(tx.execute(query).scalars())


@dataclass(frozen=True, slots=True)
class AdminToken:
    """What became of the token of the environment: its record, how many it took the place of, what is new in that."""

    record: Token
    replaced: int
    is_new: bool


def replace_environment_token(tx: Transaction, token: str, now: datetime) -> AdminToken:
    """Makes this the instance's token, in place of an earlier value and of the one that a first start printed.

    Those that organisers made for each other stay. Raises Conflict where it is one of theirs, or a collection's.
    """
    found = find(tx, token)
    if found is not None and (found.collection_id is not None or found.origin == "created"):
        raise Conflict("The admin token is a token that was made here already; choose another value.")
    theirs = (table.c.collection_id.is_(None), table.c.hash != digest(token), table.c.revoked_at.is_(None))
    others = update(table).where(*theirs, table.c.origin != "created").values(revoked_at=now)
    replaced = len(tx.execute(others.returning(table.c.id)).all())
    if found is None:
        return AdminToken(create(tx, token, now, role="organiser", origin="environment"), replaced, is_new=True)
    set_again = update(table).where(table.c.id == found.id).values(revoked_at=None, origin="environment")
    tx.execute(set_again)
    is_new = replaced > 0 or found.revoked_at is not None or found.origin != "environment"
    return AdminToken(found, replaced, is_new)
