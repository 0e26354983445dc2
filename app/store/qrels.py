"""Qrels versions, as stored."""

from __future__ import annotations

from typing import Any

from sqlalchemy import func, insert, select

from app.store.database import Transaction
from app.store.records import Qrels
from app.store.tables import qrels as table

_RECORD = [column for column in table.c if column.name != "counts"]


def add(tx: Transaction, collection_id: int, **values: Any) -> Qrels:
    """The next version. The collection is locked by the caller, so the number is free."""
    newest = select(func.max(table.c.version)).where(table.c.collection_id == collection_id)
    version = (tx.execute(newest).scalar() or 0) + 1
    query = insert(table).values(collection_id=collection_id, version=version, **values)
    return Qrels(**tx.execute(query.returning(*_RECORD)).one()._mapping)


def find(tx: Transaction, collection_id: int, version: int | None = None) -> Qrels | None:
    """A version, drafts too; or the one published last, by which everybody is answered."""
    query = select(*_RECORD).where(table.c.collection_id == collection_id)
    if version:
        query = query.where(table.c.version == version)
    else:
        newest_first = (table.c.published_at.desc(), table.c.version.desc())
        query = query.where(table.c.published_at.is_not(None)).order_by(*newest_first).limit(1)
    row = tx.execute(query).first()
    return Qrels(**row._mapping) if row else None


def of_id(tx: Transaction, qrels_id: int) -> Qrels:
    """The version of this id."""
    return Qrels(**tx.execute(select(*_RECORD).where(table.c.id == qrels_id)).one()._mapping)


def page(tx: Transaction, collection_id: int, *, after: int | None, limit: int) -> list[Qrels]:
    """A collection's versions, oldest first."""
    query = select(*_RECORD).where(table.c.collection_id == collection_id, table.c.version > (after or 0))
    return [Qrels(**row._mapping) for row in tx.execute(query.order_by(table.c.version).limit(limit))]


def counts(tx: Transaction, qrels_id: int) -> bytes:
    """The packed topics and counts of judged documents, as `add` was given them."""
    packed: bytes = tx.execute(select(table.c.counts).where(table.c.id == qrels_id)).scalar_one()
    return packed
