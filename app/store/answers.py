"""Scores that teams have been given while they are rationed. Each is there once, however often it is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from sqlalchemy import func, select

from app.store.database import Transaction, insert_for
from app.store.tables import answers as table

Answer = tuple[str, int, int]
"""Of a label, a qrels version (its id) and a run (its id)."""


def count(tx: Transaction, team_id: int) -> int:
    """How many distinct ones the team has been given."""
    return tx.execute(select(func.count()).where(table.c.team_id == team_id)).scalar_one()


def new_among(tx: Transaction, team_id: int, asked: Iterable[Answer]) -> set[Answer]:
    """Those that the team has not been given yet."""
    asked = set(asked)
    known = select(table.c.label, table.c.qrels_id, table.c.run_id).where(table.c.team_id == team_id)
    wanted = known.where(table.c.run_id.in_({run_id for _, _, run_id in asked}))
    return asked - {(row.label, row.qrels_id, row.run_id) for row in tx.execute(wanted)}


def give(tx: Transaction, team_id: int, new: Iterable[Answer], now: datetime) -> None:
    """Notes that the team has these now. The collection is locked by the caller."""
    names = ("label", "qrels_id", "run_id")
    rows = [dict(zip(names, answer, strict=True)) | {"team_id": team_id, "created_at": now} for answer in sorted(new)]
    if rows:
        tx.execute(insert_for(tx)(table).values(rows).on_conflict_do_nothing())
