"""Stored versions of nuggets. Whoever changes one locks the collection."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sqlalchemy import func, insert, select, update

from gainboard.store.damage import columns_of, find_record, get_record, list_records
from gainboard.store.database import Transaction
from gainboard.store.records import NuggetsVersion
from gainboard.store.tables import nuggets as table
from gainboard.trec.bodies import compress, decompress

_RECORD = columns_of(NuggetsVersion, table)


def add(tx: Transaction, collection_id: int, content: bytes, **values: Any) -> NuggetsVersion:
    """Add a version with its file: the next one, unless it has a number."""
    last = tx.execute(select(func.max(table.c.version)).where(table.c.collection_id == collection_id)).scalar() or 0
    row = {"collection_id": collection_id, "version": last + 1, "content": compress(content), **values}
    return get_record(tx, NuggetsVersion, insert(table).values(row).returning(*_RECORD))


def page(
    tx: Transaction, collection_id: int, *, drafts: bool, after: int | None = None, limit: int | None = None
) -> list[NuggetsVersion]:
    """Return the versions by number, with or without drafts, except discarded ones."""
    query = select(*_RECORD).where(table.c.collection_id == collection_id, table.c.discarded_at.is_(None))
    if not drafts:
        query = query.where(table.c.published_at.is_not(None))
    return list_records(
        tx, NuggetsVersion, query.where(table.c.version > (after or 0)).order_by(table.c.version).limit(limit)
    )


def find_newest(tx: Transaction, collection_id: int) -> NuggetsVersion | None:
    """Return the version that was published last, which is in use."""
    of_collection = table.c.collection_id == collection_id, table.c.published_at.is_not(None)
    query = select(*_RECORD).where(*of_collection).order_by(table.c.published_at.desc(), table.c.version.desc())
    return find_record(tx, NuggetsVersion, query.limit(1))


def content_of(tx: Transaction, nuggets_id: int) -> bytes:
    """Return the file of a version as it was uploaded, decompressed."""
    return decompress(tx.execute(select(table.c.content).where(table.c.id == nuggets_id)).scalar_one())


def change(tx: Transaction, nuggets_id: int, **times: datetime) -> NuggetsVersion:
    """Return the version, published or discarded at this time."""
    query = update(table).where(table.c.id == nuggets_id).values(**times)
    return get_record(tx, NuggetsVersion, query.returning(*_RECORD))
