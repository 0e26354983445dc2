"""Stored teams."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, Table, bindparam, func, insert, or_, select

from gainboard.store.access_records import INVITED, CountedTeam, TeamRecord
from gainboard.store.damage import read_row
from gainboard.store.database import Transaction
from gainboard.store.tables import runs, tokens
from gainboard.store.tables import teams as table

# Statements of every upload are built once.
_BY_NAME = select(table).where(table.c.collection_id == bindparam("collection_id"), table.c.name == bindparam("name"))
_ADD = insert(table).returning(table)


def find(tx: Transaction, collection_id: int, name: str) -> TeamRecord | None:
    """Return the team with this name in the collection."""
    row = tx.execute(_BY_NAME, {"collection_id": collection_id, "name": name}).first()
    return read_row(TeamRecord, row._mapping) if row else None


def create(tx: Transaction, collection_id: int, name: str, now: datetime) -> TeamRecord:
    """Create a team. The caller has locked the collection, and found that no team has this name."""
    values = {"collection_id": collection_id, "name": name, "created_at": now}
    return TeamRecord(**tx.execute(_ADD, values).one()._mapping)


def page(
    tx: Transaction, now: datetime, *, collection_id: int, team_id: int | None, after: str | None, limit: int
) -> list[CountedTeam]:
    """Return a collection's teams by name in byte order, or one of them, with their numbers of runs and tokens."""
    live_runs = _count(runs, runs.c.withdrawn_at.is_(None))
    is_valid = tokens.c.revoked_at.is_(None) & or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now)
    is_valid &= tokens.c.origin != INVITED
    counts = (live_runs.label("runs"), _count(tokens, is_valid).label("tokens"))
    query = select(table.c.id, table.c.name, table.c.created_at, *counts).where(table.c.collection_id == collection_id)
    if team_id is not None:
        query = query.where(table.c.id == team_id)
    if after is not None:
        query = query.where(table.c.name > after)
    return [read_row(CountedTeam, row._mapping) for row in tx.execute(query.order_by(table.c.name).limit(limit))]


def _count(what: Table, which: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(what).where(what.c.team_id == table.c.id, which).scalar_subquery()
