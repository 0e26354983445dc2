"""Teams, as stored."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import insert, select

from app.store.database import Transaction
from app.store.records import Team
from app.store.tables import teams as table


def find(tx: Transaction, collection_id: int, name: str) -> Team | None:
    """The team of this name in the collection."""
    row = tx.execute(select(table).where(table.c.collection_id == collection_id, table.c.name == name)).first()
    return Team(**row._mapping) if row else None


def find_or_create(tx: Transaction, collection_id: int, name: str, now: datetime) -> Team:
    """The team of this name, made where there is none. The collection is locked by the caller."""
    if team := find(tx, collection_id, name):
        return team
    values = {"collection_id": collection_id, "name": name, "created_at": now}
    return Team(**tx.execute(insert(table).values(**values).returning(table)).one()._mapping)
