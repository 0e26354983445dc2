"""Stored topic groups. Whoever changes one has locked the collection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Row, delete, insert, select

from gainboard.store.damage import read_row
from gainboard.store.database import Transaction
from gainboard.store.records import TopicGroup
from gainboard.store.tables import topic_groups as table


def _record(row: Row[Any]) -> TopicGroup:
    group = read_row(TopicGroup, {"name": row.name, "topics": row.topics})
    return replace(group, topics=tuple(group.topics))


def find(tx: Transaction, collection_id: int, name: str) -> TopicGroup | None:
    """Return the group with this name."""
    row = tx.execute(select(table).where(table.c.collection_id == collection_id, table.c.name == name)).first()
    return _record(row) if row else None


def page(
    tx: Transaction, collection_id: int, *, after: str | None = None, limit: int | None = None
) -> list[TopicGroup]:
    """Return groups by name in byte order; all groups if there is no limit."""
    query = select(table).where(table.c.collection_id == collection_id).order_by(table.c.name).limit(limit)
    if after is not None:
        query = query.where(table.c.name > after)
    return [_record(row) for row in tx.execute(query)]


def remove(tx: Transaction, collection_id: int, names: Iterable[str]) -> None:
    """Delete the groups with these names."""
    tx.execute(delete(table).where(table.c.collection_id == collection_id, table.c.name.in_(list(names))))


def put(tx: Transaction, collection_id: int, groups: Sequence[TopicGroup]) -> None:
    """Store groups in place of those with the same names."""
    remove(tx, collection_id, [group.name for group in groups])
    if groups:
        rows = [{"collection_id": collection_id, "name": each.name, "topics": list(each.topics)} for each in groups]
        tx.execute(insert(table), rows)
