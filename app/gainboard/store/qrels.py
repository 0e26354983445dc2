"""Stored qrels versions, and the sets of judgments beside the official one."""

from __future__ import annotations

from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Select, bindparam, delete, exists, func, insert, select, update

from gainboard.store.damage import columns_of, find_record, get_record, list_records
from gainboard.store.database import Transaction, insert_for
from gainboard.store.records import NEWEST, JudgmentSet, Qrels, VersionName
from gainboard.store.tables import judged_runs
from gainboard.store.tables import judgment_sets as sets
from gainboard.store.tables import qrels as table
from gainboard.vocabulary import OFFICIAL, RunOrder

_RECORD = columns_of(Qrels, table)
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


def add(tx: Transaction, collection_id: int, judgments: str = OFFICIAL, **values: Any) -> Qrels:
    """Add the next version of a set. The caller has locked the collection, so its number is free."""
    # Over discarded versions, too: their rows keep their numbers, which are not used again.
    last = tx.execute(select(func.max(table.c.serial)).where(table.c.collection_id == collection_id)).scalar() or 0
    numbers = {"serial": last + 1, "version": next_version(tx, collection_id, judgments)}
    query = insert(table).values(collection_id=collection_id, judgments=judgments, **numbers, **values)
    return get_record(tx, Qrels, query.returning(*_RECORD))


def add_again(tx: Transaction, version: Qrels, **values: Any) -> Qrels:
    """Add the same judgments as the next version, with these values changed."""
    same = {
        name: value
        for name, value in asdict(version).items()
        if name not in ("id", "collection_id", "version", "damage")
    }
    return add(tx, version.collection_id, **same | {"counts": counts(tx, version.id)} | values)


def next_version(tx: Transaction, collection_id: int, judgments: str = OFFICIAL) -> int:
    """Return the number of a set's next version. Numbers of discarded versions are not used again."""
    of_set = (table.c.collection_id == collection_id, table.c.judgments == judgments)
    return (tx.execute(select(func.max(table.c.version)).where(*of_set)).scalar() or 0) + 1


def find(tx: Transaction, collection_id: int, named: VersionName = NEWEST) -> Qrels | None:
    """Return a version, or a draft; without a number, the version of the set published last, which is in use."""
    values = {"collection_id": collection_id, "judgments": named.judgments}
    if named.version:
        return find_record(tx, Qrels, _BY_VERSION, {**values, "version": named.version})
    return find_record(tx, Qrels, _NEWEST, values)


def find_draft(
    tx: Transaction, collection_id: int, judgments: str, sha256: str, columns: str, order: RunOrder
) -> Qrels | None:
    """Return the set's first draft with exactly this content, read in this layout, with runs in this order."""
    content = (table.c.judgments == judgments, table.c.sha256 == sha256, table.c.columns == columns)
    ordered = (getattr(table.c, name) == value for name, value in order._asdict().items())
    same = (table.c.published_at.is_(None), *content, *ordered)
    return find_record(tx, Qrels, _select(collection_id).where(*same).order_by(table.c.version).limit(1))


def list_drafts(tx: Transaction, collection_id: int) -> list[Qrels]:
    """Return the drafts of all sets, in the order in which they came."""
    query = _select(collection_id).where(table.c.published_at.is_(None)).order_by(table.c.serial)
    return list_records(tx, Qrels, query)


def exist(tx: Transaction, collection_id: int) -> bool:
    """Return whether the collection has any version or draft."""
    return tx.execute(_select(collection_id).limit(1)).first() is not None


def publish(tx: Transaction, qrels_id: int, now: datetime) -> Qrels:
    """Return the version, published at this time: for the first time, or again."""
    query = update(table).where(table.c.id == qrels_id).values(published_at=now)
    return get_record(tx, Qrels, query.returning(*_RECORD))


def discard(tx: Transaction, qrels_id: int, now: datetime) -> None:
    """Discard a version, with the joins of runs."""
    tx.execute(delete(judged_runs).where(judged_runs.c.qrels_id == qrels_id))
    tx.execute(update(table).where(table.c.id == qrels_id).values(discarded_at=now))


def of_id(tx: Transaction, qrels_id: int) -> Qrels:
    return get_record(tx, Qrels, select(*_RECORD).where(table.c.id == qrels_id))


def page(
    tx: Transaction, collection_id: int, judgments: str = OFFICIAL, *, drafts: bool, after: int | None, limit: int
) -> list[Qrels]:
    """Return a set's versions by number, with or without its drafts."""
    query = _select(collection_id).where(table.c.judgments == judgments, table.c.version > (after or 0))
    if not drafts:
        query = query.where(table.c.published_at.is_not(None))
    return list_records(tx, Qrels, query.order_by(table.c.version).limit(limit))


def counts(tx: Transaction, qrels_id: int) -> bytes:
    """Return the packed topics and numbers of judged documents that `add` was given."""
    packed: bytes = tx.execute(select(table.c.counts).where(table.c.id == qrels_id)).scalar_one()
    return packed


def find_set(tx: Transaction, collection_id: int, name: str) -> JudgmentSet | None:
    """Return the set with this name; None for the official set, which has no row."""
    return find_record(tx, JudgmentSet, select(sets).where(sets.c.collection_id == collection_id, sets.c.name == name))


def page_sets(
    tx: Transaction, collection_id: int, *, hidden: bool, after: str | None = None, limit: int | None = None
) -> list[JudgmentSet]:
    """Return sets by name in byte order: all of them, or the released ones."""
    query = select(sets).where(sets.c.collection_id == collection_id)
    if not hidden:
        query = query.where(sets.c.released_at.is_not(None))
    if after is not None:
        query = query.where(sets.c.name > after)
    return list_records(tx, JudgmentSet, query.order_by(sets.c.name).limit(limit))


def list_sets_in_use(tx: Transaction, collection_id: int, *, hidden: bool) -> list[str]:
    """Return the names of sets with a published version, in byte order: of all of them, or of those not hidden."""
    query = select(table.c.judgments).where(
        table.c.collection_id == collection_id, _LIVE, table.c.published_at.is_not(None)
    )
    if not hidden:
        query = query.where(~is_hidden(table))
    return list(tx.execute(query.distinct().order_by(table.c.judgments)).scalars())


def add_set(tx: Transaction, collection_id: int, name: str, now: datetime) -> None:
    """Add a set that is not released, unless the collection has it, or the name is that of the official set."""
    if name != OFFICIAL:
        values = {"collection_id": collection_id, "name": name, "created_at": now}
        tx.execute(insert_for(tx)(sets).values(**values).on_conflict_do_nothing())


def release_set(tx: Transaction, collection_id: int, name: str, at: datetime | None) -> None:
    """Release a set, or hide it again if the time is None."""
    this_set = (sets.c.collection_id == collection_id, sets.c.name == name)
    tx.execute(update(sets).where(*this_set).values(released_at=at))


def remove_set(tx: Transaction, collection_id: int, name: str) -> None:
    """Remove a set. Its versions are discarded by the caller."""
    tx.execute(delete(sets).where(sets.c.collection_id == collection_id, sets.c.name == name))


def is_hidden(versions: FromClause) -> ColumnElement[bool]:
    """Return the condition that only organisers see a version: it is a draft, or its set is not released.

    `versions` is the table of qrels, or an alias of it.
    """
    of_version = (sets.c.collection_id == versions.c.collection_id, sets.c.name == versions.c.judgments)
    released = exists().where(*of_version, sets.c.released_at.is_not(None))
    return versions.c.published_at.is_(None) | ((versions.c.judgments != OFFICIAL) & ~released)
