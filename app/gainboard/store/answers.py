"""Scores given for teams' runs while scores are rationed. Each score is stored once, however often it is requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime

from sqlalchemy import func, select

from gainboard.store.database import Transaction, insert_for
from gainboard.store.tables import answers as table

Answer = tuple[str, int, int]
"""A label, the id of a qrels version, and the id of a run."""


def count(tx: Transaction, team_id: int) -> int:
    """Count the distinct scores that the team has received."""
    return tx.execute(select(func.count()).where(table.c.team_id == team_id)).scalar_one()


def counts(tx: Transaction, team_ids: Iterable[int]) -> dict[int, int]:
    """Count the distinct scores that were given for the runs of each team."""
    team_ids = set(team_ids)
    query = select(table.c.team_id, func.count().label("given")).where(table.c.team_id.in_(team_ids))
    return dict.fromkeys(team_ids, 0) | {row.team_id: row.given for row in tx.execute(query.group_by(table.c.team_id))}


def new_among(tx: Transaction, asked: Iterable[Answer]) -> set[Answer]:
    """Return the scores that have not been given yet."""
    asked = set(asked)
    known = select(table.c.label, table.c.qrels_id, table.c.run_id)
    wanted = known.where(table.c.run_id.in_({run_id for _, _, run_id in asked}))
    return asked - {(row.label, row.qrels_id, row.run_id) for row in tx.execute(wanted)}


def give(tx: Transaction, new: Mapping[Answer, int], now: datetime) -> None:
    """Note that these scores are given now, each to the team of its run. The caller has locked the collection."""
    rows = [
        {"label": label, "qrels_id": qrels_id, "run_id": run_id, "team_id": team_id, "created_at": now}
        for (label, qrels_id, run_id), team_id in sorted(new.items())
    ]
    if rows:
        tx.execute(insert_for(tx)(table).values(rows).on_conflict_do_nothing())
