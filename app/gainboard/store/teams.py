"""Stored teams, and the scores that each has received while scores are rationed.

Each score is stored once, however often it is requested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from sqlalchemy import ColumnElement, ScalarSelect, Table, bindparam, delete, exists, func, insert, or_, select, update

from gainboard.store.damage import find_record, get_record, list_records
from gainboard.store.database import Transaction, insert_for
from gainboard.store.records import INVITED, CountedTeam, TeamRecord
from gainboard.store.runs import RUNS_AT_ONCE
from gainboard.store.tables import answers, runs, tokens, uploads
from gainboard.store.tables import teams as table

Answer = tuple[str, int]
"""A label and the id of a run. It is the same score under every qrels version."""


# Statements of every upload are built once.
_BY_NAME = select(table).where(table.c.collection_id == bindparam("collection_id"), table.c.name == bindparam("name"))
_ADD = insert(table).returning(table)


def find(tx: Transaction, collection_id: int, name: str) -> TeamRecord | None:
    """Return the team with this name in the collection."""
    return find_record(tx, TeamRecord, _BY_NAME, {"collection_id": collection_id, "name": name})


def create(tx: Transaction, collection_id: int, name: str, now: datetime) -> TeamRecord:
    """Create a team. The caller has locked the collection, and found that no team has this name."""
    values = {"collection_id": collection_id, "name": name, "created_at": now}
    return get_record(tx, TeamRecord, _ADD, values)


def ensure_all(tx: Transaction, collection_id: int, names: Sequence[str], now: datetime) -> dict[str, int]:
    """Return the ids of all teams of the collection by name, among them these, created if they are missing."""
    if names:
        rows = [{"collection_id": collection_id, "name": name, "created_at": now} for name in names]
        tx.execute(insert_for(tx)(table).on_conflict_do_nothing(), rows)
    query = select(table.c.name, table.c.id).where(table.c.collection_id == collection_id)
    return dict(map(tuple, tx.execute(query)))


def has_uploads(tx: Transaction, team_id: int) -> bool:
    """Return whether the team has ever sent a run, or sends one now. A withdrawn run is one, too."""
    sent, under_way = exists().where(runs.c.team_id == team_id), exists().where(uploads.c.team_id == team_id)
    return bool(tx.execute(select(or_(sent, under_way))).scalar_one())


def delete_unused(tx: Transaction, team_id: int, now: datetime) -> None:
    """Delete a team without uploads. The caller has locked the collection.

    The records of its tokens stay, because jobs and the audit log refer to them. They end now, and have no team.
    """
    of_team = tokens.c.team_id == team_id
    tx.execute(update(tokens).where(of_team).values(team_id=None, revoked_at=func.coalesce(tokens.c.revoked_at, now)))
    tx.execute(delete(table).where(table.c.id == team_id))


def page(
    tx: Transaction, now: datetime, *, collection_id: int, team_id: int | None, after: str | None, limit: int
) -> list[CountedTeam]:
    """Return a collection's teams by name in byte order, or one of them, with their numbers of runs and tokens."""
    live_runs = _count(runs, runs.c.withdrawn_at.is_(None))
    is_valid = tokens.c.revoked_at.is_(None) & or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > now)
    is_valid &= tokens.c.origin != INVITED
    counts = (live_runs.label("runs"), _count(tokens, is_valid).label("tokens"))
    query = select(table.c.id, table.c.name, table.c.created_at, *counts).where(table.c.collection_id == collection_id)
    if team_id is not None:
        query = query.where(table.c.id == team_id)
    if after is not None:
        query = query.where(table.c.name > after)
    return list_records(tx, CountedTeam, query.order_by(table.c.name).limit(limit))


def _count(rows: Table, condition: ColumnElement[bool]) -> ScalarSelect[int]:
    return select(func.count()).select_from(rows).where(rows.c.team_id == table.c.id, condition).scalar_subquery()


def count_disclosed(tx: Transaction, team_id: int, labels: Sequence[str] = (), run_ids: Sequence[int] = ()) -> int:
    """Count the distinct scores that the team has received, and those of these runs under these labels."""
    disclosed = select(answers.c.label, answers.c.run_id).where(answers.c.team_id == team_id).distinct()
    received = tx.execute(select(func.count()).select_from(disclosed.subquery())).scalar_one()
    if not labels:
        return received
    # Scores that were given under these labels are in both numbers, and must count once.
    both = 0
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = disclosed.where(
            answers.c.label.in_(labels), answers.c.run_id.in_(run_ids[start : start + RUNS_AT_ONCE])
        )
        both += tx.execute(select(func.count()).select_from(these.subquery())).scalar_one()
    return received + len(labels) * len(run_ids) - both


def find_undisclosed(tx: Transaction, scores: Iterable[Answer]) -> set[Answer]:
    """Return the scores that have not been given yet."""
    scores = set(scores)
    wanted = select(answers.c.label, answers.c.run_id).where(answers.c.run_id.in_({run_id for _, run_id in scores}))
    return scores - {(row.label, row.run_id) for row in tx.execute(wanted)}


def disclose(tx: Transaction, new: Mapping[Answer, int], qrels_id: int, now: datetime) -> None:
    """Note that these scores are given now, each to the team of its run. The caller has locked the collection."""
    rows = [
        {"label": label, "qrels_id": qrels_id, "run_id": run_id, "team_id": team_id, "created_at": now}
        for (label, run_id), team_id in sorted(new.items())
    ]
    if rows:
        tx.execute(insert_for(tx)(answers).values(rows).on_conflict_do_nothing())
