"""Bearer tokens, as stored: only the SHA-256 of a token, so that a copy of the database opens nothing.

A token has 256 random bits, so a plain hash is enough: there is nothing to guess from it. Looking the hash up
in an index tells by its timing at most something of the hash, from which the token does not follow.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Select, func, insert, select, update

from app.errors import Conflict
from app.store.database import Transaction
from app.store.records import Role, Token
from app.store.tables import teams
from app.store.tables import tokens as table


def digest(token: str) -> str:
    """What is stored in a token's place."""
    return hashlib.sha256(token.encode()).hexdigest()


def _select() -> Select[Any]:
    kept = [column for column in table.c if column.name != "hash"]
    return select(*kept, teams.c.name.label("team")).outerjoin(teams, teams.c.id == table.c.team_id)


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
        )
    )
    return _record(tx.execute(_select().where(table.c.id == identity)).one())


def find(tx: Transaction, token: str) -> Token | None:
    """The record of this token, valid or not."""
    row = tx.execute(_select().where(table.c.hash == digest(token))).first()
    return _record(row) if row else None


def find_by_id(tx: Transaction, collection_id: int, identity: str) -> Token | None:
    """The record of a collection's token by its public id."""
    row = tx.execute(_select().where(table.c.id == identity, table.c.collection_id == collection_id)).first()
    return _record(row) if row else None


def page(tx: Transaction, collection_id: int, *, after: str | None, limit: int) -> list[Token]:
    """A collection's tokens by id, revoked ones too."""
    query = _select().where(table.c.collection_id == collection_id).order_by(table.c.id).limit(limit)
    if after is not None:
        query = query.where(table.c.id > after)
    return [_record(row) for row in tx.execute(query)]


def revoke(tx: Transaction, identity: str, now: datetime) -> None:
    """Ends a token for good; a second call changes nothing."""
    tx.execute(update(table).where(table.c.id == identity, table.c.revoked_at.is_(None)).values(revoked_at=now))


def instance_organisers(tx: Transaction) -> int:
    """How many tokens of instance organisers are not revoked."""
    query = select(func.count()).where(table.c.collection_id.is_(None), table.c.revoked_at.is_(None))
    return tx.execute(query).scalar_one()


def replace_environment_token(tx: Transaction, token: str, now: datetime) -> int:
    """Makes this the instance's token, in place of an earlier value and of the one that a first start printed.

    Gives the number of tokens that it took the place of. Raises Conflict where it is the token of somebody else.
    """
    of_the_instance = table.c.collection_id.is_(None)
    others = (of_the_instance, table.c.hash != digest(token), table.c.revoked_at.is_(None))
    replaced = len(tx.execute(update(table).where(*others).values(revoked_at=now).returning(table.c.id)).all())
    found = find(tx, token)
    if found is None:
        create(tx, token, now, role="organiser", origin="environment")
    elif found.collection_id is not None:
        raise Conflict("The admin token is a collection's token already; choose another value.")
    else:
        tx.execute(update(table).where(table.c.id == found.id).values(revoked_at=None))
    return replaced
