"""Stored qrels versions."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, bindparam, delete, func, insert, select, update

from gainboard.store.damage import read_row
from gainboard.store.database import Transaction
from gainboard.store.records import NEWEST, Qrels, VersionName
from gainboard.store.tables import judged_runs
from gainboard.store.tables import qrels as table
from gainboard.vocabulary import OFFICIAL, RunOrder

_RECORD = [column for column in table.c if column.name not in ("counts", "discarded_at", "serial")]
_LIVE = table.c.discarded_at.is_(None)
# Statements of every request are built once, because building one costs more than executing it.
_OF_COLLECTION = select(*_RECORD).where(table.c.collection_id == bindparam("collection_id"), _LIVE)
_OF_SET = _OF_COLLECTION.where(table.c.judgments == bindparam("judgments"))
_BY_VERSION = _OF_SET.where(table.c.version == bindparam("version"))
_NEWEST = (
    _OF_SET.where(table.c.published_at.is_not(None))
    .order_by(table.c.published_at.desc(), table.c.version.desc())
    .limit(1)
)


def _select(collection_id: int) -> Select[Any]:
    return select(*_RECORD).where(table.c.collection_id == collection_id, _LIVE)


def _record(row: Row[Any]) -> Qrels:
    return read_row(Qrels, row._mapping)


def add(tx: Transaction, collection_id: int, judgments: str = OFFICIAL, **values: Any) -> Qrels:
    """Add the next version of a set. The caller has locked the collection, so its number is free."""
    last = tx.execute(select(func.max(table.c.serial)).where(table.c.collection_id == collection_id)).scalar() or 0
    numbers = {"serial": last + 1, "version": next_version(tx, collection_id, judgments)}
    query = insert(table).values(collection_id=collection_id, judgments=judgments, **numbers, **values)
    return _record(tx.execute(query.returning(*_RECORD)).one())


def add_again(tx: Transaction, version: Qrels, **values: Any) -> Qrels:
    """Add the same judgments as the next version, with these values changed."""
    own = {
        name: value
        for name, value in asdict(version).items()
        if name not in ("id", "collection_id", "version", "damage")
    }
    return add(tx, version.collection_id, **own | {"counts": counts(tx, version.id)} | values)


def next_version(tx: Transaction, collection_id: int, judgments: str = OFFICIAL) -> int:
    """Return the number of a set's next version. Numbers of discarded versions are not used again."""
    own = (table.c.collection_id == collection_id, table.c.judgments == judgments)
    return (tx.execute(select(func.max(table.c.version)).where(*own)).scalar() or 0) + 1


def find(tx: Transaction, collection_id: int, named: VersionName = NEWEST) -> Qrels | None:
    """Return a version, or a draft; without a number, the version of the set published last, which is in use."""
    values = {"collection_id": collection_id, "judgments": named.judgments}
    if named.version:
        found = tx.execute(_BY_VERSION, {**values, "version": named.version})
    else:
        found = tx.execute(_NEWEST, values)
    row = found.first()
    return _record(row) if row else None


def find_draft(
    tx: Transaction, collection_id: int, judgments: str, sha256: str, columns: str, order: RunOrder
) -> Qrels | None:
    """Return the set's first draft with exactly this content, read in this layout, with runs in this order."""
    content = (table.c.judgments == judgments, table.c.sha256 == sha256, table.c.columns == columns)
    ordered = (getattr(table.c, name) == value for name, value in order._asdict().items())
    same = (table.c.published_at.is_(None), *content, *ordered)
    row = tx.execute(_select(collection_id).where(*same).order_by(table.c.version).limit(1)).first()
    return _record(row) if row else None


def drafts(tx: Transaction, collection_id: int) -> list[Qrels]:
    """Return the drafts of all sets, in the order in which they came."""
    query = _select(collection_id).where(table.c.published_at.is_(None)).order_by(table.c.serial)
    return [_record(row) for row in tx.execute(query)]


def exist(tx: Transaction, collection_id: int) -> bool:
    """Return whether the collection has any version or draft."""
    return tx.execute(_select(collection_id).limit(1)).first() is not None


def publish(tx: Transaction, qrels_id: int, now: datetime) -> Qrels:
    """Return the version, published at this time: for the first time, or again."""
    query = update(table).where(table.c.id == qrels_id).values(published_at=now)
    return _record(tx.execute(query.returning(*_RECORD)).one())


def discard(tx: Transaction, qrels_id: int, now: datetime) -> None:
    """Discard a version, with the joins of runs."""
    tx.execute(delete(judged_runs).where(judged_runs.c.qrels_id == qrels_id))
    tx.execute(update(table).where(table.c.id == qrels_id).values(discarded_at=now))


def of_id(tx: Transaction, qrels_id: int) -> Qrels:
    """Return the version with this id."""
    return _record(tx.execute(select(*_RECORD).where(table.c.id == qrels_id)).one())


def page(
    tx: Transaction, collection_id: int, judgments: str = OFFICIAL, *, drafts: bool, after: int | None, limit: int
) -> list[Qrels]:
    """Return a set's versions by number, with or without its drafts."""
    query = _select(collection_id).where(table.c.judgments == judgments, table.c.version > (after or 0))
    if not drafts:
        query = query.where(table.c.published_at.is_not(None))
    return [_record(row) for row in tx.execute(query.order_by(table.c.version).limit(limit))]


def counts(tx: Transaction, qrels_id: int) -> bytes:
    """Return the packed topics and numbers of judged documents that `add` was given."""
    packed: bytes = tx.execute(select(table.c.counts).where(table.c.id == qrels_id)).scalar_one()
    return packed
