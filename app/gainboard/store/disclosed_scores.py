"""Scores given for teams' runs while scores are rationed. Each score is stored once, however often it is requested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import func, select

from gainboard.store.database import Transaction, insert_for
from gainboard.store.runs import RUNS_AT_ONCE
from gainboard.store.tables import answers as table

Answer = tuple[str, int]
"""A label and the id of a run. It is the same score under every qrels version."""


def count(tx: Transaction, team_id: int, labels: Sequence[str] = (), run_ids: Sequence[int] = ()) -> int:
    """Count the distinct scores that the team has received, and those of these runs under these labels."""
    given = select(table.c.label, table.c.run_id).where(table.c.team_id == team_id).distinct()
    received = tx.execute(select(func.count()).select_from(given.subquery())).scalar_one()
    if not labels:
        return received
    # Scores that were given under these labels are in both numbers, and must count once.
    both = 0
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = given.where(table.c.label.in_(labels), table.c.run_id.in_(run_ids[start : start + RUNS_AT_ONCE]))
        both += tx.execute(select(func.count()).select_from(these.subquery())).scalar_one()
    return received + len(labels) * len(run_ids) - both


def new_among(tx: Transaction, asked: Iterable[Answer]) -> set[Answer]:
    """Return the scores that have not been given yet."""
    asked = set(asked)
    wanted = select(table.c.label, table.c.run_id).where(table.c.run_id.in_({run_id for _, run_id in asked}))
    return asked - {(row.label, row.run_id) for row in tx.execute(wanted)}


def give(tx: Transaction, new: Mapping[Answer, int], qrels_id: int, now: datetime) -> None:
    """Note that these scores are given now, each to the team of its run. The caller has locked the collection."""
    rows = [
        {"label": label, "qrels_id": qrels_id, "run_id": run_id, "team_id": team_id, "created_at": now}
        for (label, run_id), team_id in sorted(new.items())
    ]
    if rows:
        tx.execute(insert_for(tx)(table).values(rows).on_conflict_do_nothing())
