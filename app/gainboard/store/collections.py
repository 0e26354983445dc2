"""Stored collections and their topic groups."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Row, bindparam, delete, insert, or_, select, update

from gainboard.errors import CollectionExists
from gainboard.store.damage import columns_of, find_record, get_record, list_records, read_row
from gainboard.store.database import Transaction, insert_for, machine_of
from gainboard.store.records import Collection, TopicGroup
from gainboard.store.tables import collections as table
from gainboard.store.tables import topic_groups as groups

IMPORTING = "~"
"""The beginning of the name of a collection that is being imported. No request can name it, and no list shows it."""
_LIVE = table.c.deleted_at.is_(None)
_COLUMNS = columns_of(Collection, table)
_BY_NAME = select(*_COLUMNS).where(table.c.name == bindparam("name"), _LIVE)
_LOCKED = select(*_COLUMNS).where(table.c.id == bindparam("id"), _LIVE).with_for_update(key_share=True)
# SQLAlchemy reserves `id` for a new value of the column.
_TOUCH = update(table).where(table.c.id == bindparam("of_id")).values(revision=table.c.revision + 1)


def create(tx: Transaction, now: datetime, **values: Any) -> Collection:
    """Create a collection. Raise CollectionExists if a live one has its name."""
    values |= {"uuid": machine_of(tx).new_uuid(), "revision": 0, "created_at": now}
    # Of two requests with the same name only the index can tell, and an error would end a transaction of PostgreSQL.
    query = insert_for(tx)(table).values(**values).on_conflict_do_nothing()
    row = tx.execute(query.returning(*_COLUMNS)).first()
    if row is None:
        raise CollectionExists(f"A collection named {values['name']!r} exists already. Choose another name.")
    return read_row(Collection, row._mapping)


def find(tx: Transaction, name: str) -> Collection | None:
    """Return the live collection with this name."""
    return find_record(tx, Collection, _BY_NAME, {"name": name})


def page(
    tx: Transaction,
    *,
    after: str | None,
    limit: int,
    now: datetime,
    collection_id: int | None = None,
    everything: bool = False,
) -> list[Collection]:
    """Return live collections by name in byte order: all of them, or the public released ones and one more."""
    is_whole = ~table.c.name.startswith(IMPORTING)
    query = select(*_COLUMNS).where(_LIVE, is_whole).order_by(table.c.name).limit(limit)
    if not everything:
        is_open = table.c.public & ((table.c.phase == "released") | (table.c.releases_at <= now))
        query = query.where(or_(is_open, table.c.id == (collection_id or 0)))
    if after is not None:
        query = query.where(table.c.name > after)
    return list_records(tx, Collection, query)


def lock(tx: Transaction, read: Collection) -> Collection | None:
    """Return a collection that this writing transaction has read, locked and as it is now; None if it was deleted.

    The lock holds until the transaction ends, so that uploads and publications do not interleave.
    """
    # SQLite has one writer at a time, so nobody has changed the row since this transaction has read it.
    if tx.dialect.name == "sqlite":
        return read
    # A row lock of the kind that lets others refer to the row: transactions that add a job or an audit entry hold locks
    # of their own, so they must not wait for this one.
    return find_record(tx, Collection, _LOCKED, {"id": read.id})


def change(tx: Transaction, collection_id: int, **values: Any) -> Collection:
    """Return the collection with new values, and increase its revision."""
    values["revision"] = table.c.revision + 1
    query = update(table).where(table.c.id == collection_id).values(**values).returning(*_COLUMNS)
    return get_record(tx, Collection, query)


def touch(tx: Transaction, collection_id: int) -> None:
    """Increase the revision: some answer about the collection may now be different."""
    tx.execute(_TOUCH, {"of_id": collection_id})


def of_id(tx: Transaction, collection_id: int) -> Collection:
    """Return the collection with this id, deleted or not."""
    return get_record(tx, Collection, select(*_COLUMNS).where(table.c.id == collection_id))


def find_queries(tx: Transaction, collection_id: int) -> dict[str, str] | None:
    """Return the texts of the queries, by topic. Return None if there are none, or if they cannot be read."""
    stored = tx.execute(select(table.c.queries).where(table.c.id == collection_id)).scalar()
    is_readable = isinstance(stored, dict) and all(isinstance(text, str) for text in stored.values())
    return stored if is_readable else None


def _group(row: Row[Any]) -> TopicGroup:
    group = read_row(TopicGroup, {"name": row.name, "topics": row.topics})
    return replace(group, topics=tuple(group.topics))


def find_group(tx: Transaction, collection_id: int, name: str) -> TopicGroup | None:
    """Return the topic group with this name."""
    row = tx.execute(select(groups).where(groups.c.collection_id == collection_id, groups.c.name == name)).first()
    return _group(row) if row else None


def page_groups(
    tx: Transaction, collection_id: int, *, after: str | None = None, limit: int | None = None
) -> list[TopicGroup]:
    """Return topic groups by name in byte order; all groups if there is no limit."""
    query = select(groups).where(groups.c.collection_id == collection_id).order_by(groups.c.name).limit(limit)
    if after is not None:
        query = query.where(groups.c.name > after)
    return [_group(row) for row in tx.execute(query)]


def list_group_names(tx: Transaction, collection_id: int) -> list[str]:
    """Return the names of the topic groups, in byte order. Their topics may be hundreds of thousands."""
    query = select(groups.c.name).where(groups.c.collection_id == collection_id).order_by(groups.c.name)
    return list(tx.execute(query).scalars())


def remove_groups(tx: Transaction, collection_id: int, names: Iterable[str]) -> None:
    tx.execute(delete(groups).where(groups.c.collection_id == collection_id, groups.c.name.in_(list(names))))


def put_groups(tx: Transaction, collection_id: int, new: Sequence[TopicGroup]) -> None:
    """Store topic groups in place of those with the same names. The caller has locked the collection."""
    remove_groups(tx, collection_id, [group.name for group in new])
    if new:
        rows = [{"collection_id": collection_id, "name": group.name, "topics": list(group.topics)} for group in new]
        tx.execute(insert(groups), rows)
