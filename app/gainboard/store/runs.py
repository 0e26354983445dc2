"""Stored runs and their judged rankings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row, Select, func, insert, select, update

from gainboard.errors import RunExists
from gainboard.store.database import Transaction, insert_for
from gainboard.store.records import Judging, Run
from gainboard.store.tables import answers, judged_runs, teams
from gainboard.store.tables import runs as table

RUNS_AT_ONCE = 10_000
"""The most rows in one statement, because databases limit the number of its parameters."""


def _select_all() -> Select[Any]:
    kept = [column for column in table.c if column.name not in ("topics", "withdrawn_at")]
    return select(*kept, teams.c.name.label("team")).join(teams, teams.c.id == table.c.team_id)


def _select() -> Select[Any]:
    return _select_all().where(table.c.withdrawn_at.is_(None))


def _record(row: Row[Any]) -> Run:
    return Run(**row._mapping)


def add(tx: Transaction, **values: Any) -> Run:
    """Add a run. Raise RunExists if a live one of the collection has its name."""
    query = insert_for(tx)(table).values(**values).on_conflict_do_nothing()
    identity = tx.execute(query.returning(table.c.id)).scalar()
    if identity is None:
        raise RunExists(
            f"A run named {values['name']!r} exists with other content. Choose another `name`, for example one that "
            "begins with your team's name."
        )
    return _record(tx.execute(_select().where(table.c.id == identity)).one())


def find(tx: Transaction, collection_id: int, name: str) -> Run | None:
    """Return the live run with this name."""
    row = tx.execute(_select().where(table.c.collection_id == collection_id, table.c.name == name)).first()
    return _record(row) if row else None


def find_same(tx: Transaction, collection_id: int, team: str, sha256: str) -> Run | None:
    """Return the team's live run with exactly this content."""
    same = (table.c.collection_id == collection_id, teams.c.name == team, table.c.sha256 == sha256)
    row = tx.execute(_select().where(*same).order_by(table.c.id)).first()
    return _record(row) if row else None


def page(
    tx: Transaction,
    collection_id: int,
    *,
    team_id: int | None = None,
    after: str | None = None,
    limit: int | None = None,
) -> list[Run]:
    """Return live runs by name in byte order, of all teams or of one."""
    query = _select().where(table.c.collection_id == collection_id).order_by(table.c.name).limit(limit)
    if team_id is not None:
        query = query.where(table.c.team_id == team_id)
    if after is not None:
        query = query.where(table.c.name > after)
    return [_record(row) for row in tx.execute(query)]


def of_ids(tx: Transaction, run_ids: Sequence[int]) -> list[Run]:
    """Return the runs with these ids, in this order. Withdrawn runs are included, because a job keeps its runs."""
    found: dict[int, Run] = {}
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = table.c.id.in_(run_ids[start : start + RUNS_AT_ONCE])
        found |= {row.id: _record(row) for row in tx.execute(_select_all().where(these))}
    return [found[run_id] for run_id in run_ids]


def topics(tx: Transaction, run_id: int) -> bytes:
    """Return the packed names of the run's topics."""
    packed: bytes = tx.execute(select(table.c.topics).where(table.c.id == run_id)).scalar_one()
    return packed


def sent(tx: Transaction, team_id: int, since: datetime | None = None) -> int:
    """Count a team's runs for its quota: live runs, and runs withdrawn after a score was given."""
    scored = select(answers.c.run_id).where(answers.c.team_id == team_id)
    counted = table.c.withdrawn_at.is_(None) | table.c.id.in_(scored)
    query = select(func.count()).where(table.c.team_id == team_id, counted)
    return tx.execute(query if since is None else query.where(table.c.created_at >= since)).scalar_one()


def withdraw(tx: Transaction, run_id: int, now: datetime) -> None:
    """Withdraw the run. Its name may be used again."""
    tx.execute(update(table).where(table.c.id == run_id).values(withdrawn_at=now))


def add_judged(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store the joins of runs with a qrels version."""
    if rows:
        tx.execute(insert(judged_runs), [dict(row) for row in rows])


def judgings(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, Judging]:
    """Return the findings of the joins of these runs with the version, by the run's id."""
    names = ("retrieved", "unjudged", "topics_missing", "topics_unknown")
    return {run_id: Judging(*found) for run_id, *found in _judged(tx, run_ids, qrels_id, *names)}


def rankings(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, bytes]:
    """Return the packed judged rankings of these runs, by the run's id."""
    return dict(_judged(tx, run_ids, qrels_id, "rankings"))


def retrieval_scores(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, bytes]:
    """Return the packed retrieval scores that belong to `rankings`, by the run's id."""
    return dict(_judged(tx, run_ids, qrels_id, "retrieval_scores"))


def _judged(tx: Transaction, run_ids: Sequence[int], qrels_id: int, *columns: str) -> Iterator[tuple[Any, ...]]:
    query = select(judged_runs.c.run_id, *(judged_runs.c[name] for name in columns))
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = judged_runs.c.run_id.in_(run_ids[start : start + RUNS_AT_ONCE])
        yield from map(tuple, tx.execute(query.where(judged_runs.c.qrels_id == qrels_id, these)))
