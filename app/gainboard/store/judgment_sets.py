"""Stored sets of judgments beside the official one, and the condition that all who see judgments see a version."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Row, delete, exists, select, update

from gainboard.store.damage import read_row
from gainboard.store.database import Transaction, insert_for
from gainboard.store.records import JudgmentSet
from gainboard.store.tables import judgment_sets as table
from gainboard.vocabulary import OFFICIAL


def _record(row: Row[Any]) -> JudgmentSet:
    return read_row(JudgmentSet, row._mapping)


def find(tx: Transaction, collection_id: int, name: str) -> JudgmentSet | None:
    """Return the set with this name; None for the official set, which has no row."""
    row = tx.execute(select(table).where(table.c.collection_id == collection_id, table.c.name == name)).first()
    return _record(row) if row else None


def page(
    tx: Transaction, collection_id: int, *, hidden: bool, after: str | None = None, limit: int | None = None
) -> list[JudgmentSet]:
    """Return sets by name in byte order: all of them, or the released ones."""
    query = select(table).where(table.c.collection_id == collection_id)
    if not hidden:
        query = query.where(table.c.released_at.is_not(None))
    if after is not None:
        query = query.where(table.c.name > after)
    return [_record(row) for row in tx.execute(query.order_by(table.c.name).limit(limit))]


def add(tx: Transaction, collection_id: int, name: str, now: datetime) -> None:
    """Add a set that is not released, unless the collection has it, or the name is that of the official set."""
    if name != OFFICIAL:
        values = {"collection_id": collection_id, "name": name, "created_at": now}
        tx.execute(insert_for(tx)(table).values(**values).on_conflict_do_nothing())


def release(tx: Transaction, collection_id: int, name: str, at: datetime | None) -> None:
    """Release a set, or hide it again if the time is None."""
    own = (table.c.collection_id == collection_id, table.c.name == name)
    tx.execute(update(table).where(*own).values(released_at=at))


def remove(tx: Transaction, collection_id: int, name: str) -> None:
    """Remove a set. Its versions are discarded by the caller."""
    tx.execute(delete(table).where(table.c.collection_id == collection_id, table.c.name == name))


def is_hidden(versions: FromClause) -> ColumnElement[bool]:
    """Return the condition that only organisers see a version: it is a draft, or its set is not released.

    `versions` is the table of qrels, or an alias of it.
    """
    own = (table.c.collection_id == versions.c.collection_id, table.c.name == versions.c.judgments)
    released = exists().where(*own, table.c.released_at.is_not(None))
    return versions.c.published_at.is_(None) | ((versions.c.judgments != OFFICIAL) & ~released)
