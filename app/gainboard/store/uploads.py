"""Uploads under way, for teams with a limited number of simultaneous uploads."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from sqlalchemy import delete, func, insert, select

from gainboard.store.database import Transaction
from gainboard.store.tables import uploads as table

ABANDONED = timedelta(hours=1)
"""No upload takes this long. The process that received it has died."""


def count(tx: Transaction, team_id: int, now: datetime) -> int:
    """Count the team's uploads under way."""
    fresh = (table.c.team_id == team_id, table.c.created_at >= now - ABANDONED)
    return tx.execute(select(func.count()).where(*fresh)).scalar_one()


def begin(tx: Transaction, team_id: int, now: datetime) -> str:
    """Note another upload, and return the name by which it ends."""
    tx.execute(delete(table).where(table.c.created_at < now - ABANDONED))
    identity = str(uuid4())
    tx.execute(insert(table).values(id=identity, team_id=team_id, created_at=now))
    return identity


def end(tx: Transaction, identity: str) -> None:
    """Note that the upload is over, whatever its outcome."""
    tx.execute(delete(table).where(table.c.id == identity))
