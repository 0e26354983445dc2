"""Stored versions of nuggets, and what judges say of the answers of runs. Whoever changes one locks the collection."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import delete, func, insert, select, update

from gainboard.store.damage import columns_of, find_record, get_record, list_records
from gainboard.store.database import Transaction
from gainboard.store.records import NuggetsVersion, Verdicts
from gainboard.store.tables import nuggets as table
from gainboard.store.tables import runs, verdicts
from gainboard.trec.bodies import compress, decompress

_RECORD = columns_of(NuggetsVersion, table)
_VERDICTS = columns_of(Verdicts, verdicts, run=runs.c.name, system=runs.c.system)


def add(tx: Transaction, collection_id: int, content: bytes, **values: Any) -> NuggetsVersion:
    """Add the next version, with its file."""
    last = tx.execute(select(func.max(table.c.version)).where(table.c.collection_id == collection_id)).scalar() or 0
    query = insert(table).values(collection_id=collection_id, version=last + 1, content=compress(content), **values)
    return get_record(tx, NuggetsVersion, query.returning(*_RECORD))


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


def put_verdicts(tx: Transaction, rows: Sequence[dict[str, Any]]) -> None:
    """Store what judges say of runs in place of what they said before."""
    for row in rows:
        tx.execute(delete(verdicts).where(verdicts.c.run_id == row["run_id"], verdicts.c.judge == row["judge"]))
    tx.execute(insert(verdicts), list(rows))


def list_verdicts(tx: Transaction, collection_id: int, judge: str | None = None) -> list[Verdicts]:
    """Return what a judge, or each judge, says of the runs that were not withdrawn, by judge and name of the run."""
    live = runs.c.collection_id == collection_id, runs.c.withdrawn_at.is_(None)
    query = select(*_VERDICTS).join_from(verdicts, runs, verdicts.c.run_id == runs.c.id).where(*live)
    if judge is not None:
        query = query.where(verdicts.c.judge == judge)
    return list_records(tx, Verdicts, query.order_by(verdicts.c.judge, runs.c.name))
