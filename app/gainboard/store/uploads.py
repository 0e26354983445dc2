"""Uploads under way, of teams that may only have so many at once."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import delete, func, insert, select

from gainboard.store.database import Transaction
from gainboard.store.tables import uploads as table

ABANDONED = timedelta(hours=1)
"""No upload takes that long: the process that received it died."""


def count(tx: Transaction, team_id: int, now: datetime) -> int:
    """How many of the team are under way."""
    fresh = (table.c.team_id == team_id, table.c.created_at >= now - ABANDONED)
    return tx.execute(select(func.count()).where(*fresh)).scalar_one()


def begin(tx: Transaction, team_id: int, now: datetime) -> str:
    """Notes one more, and gives the name by which it ends."""
    tx.execute(delete(table).where(table.c.created_at < now - ABANDONED))
    identity = str(uuid4())
    tx.execute(insert(table).values(id=identity, team_id=team_id, created_at=now))
    return identity


def end(tx: Transaction, identity: str) -> None:
    """It is over, however it went."""
    tx.execute(delete(table).where(table.c.id == identity))
