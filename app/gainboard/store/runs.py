"""Stored runs and their judged rankings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Interval,
    Select,
    Table,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal,
    or_,
    select,
    update,
)

from gainboard.errors import RunExists
from gainboard.store.arrays import pack_names
from gainboard.store.damage import columns_of, find_record, get_record, list_records
from gainboard.store.database import Transaction, insert_for
from gainboard.store.records import Judging, Run
from gainboard.store.tables import answers, blobs, jobs, judged_runs, run_metadata, teams
from gainboard.store.tables import runs as table

RUNS_AT_ONCE = 10_000
"""The most rows in one statement, because databases limit the number of its parameters."""
_TOPICS_AT_ONCE = 100
"""The number of runs whose topics are in memory at once: a run may have 100,000."""
PRUNED_AT_ONCE = 100
FREE_TO_WITHDRAW = timedelta(minutes=10)
"""The time after its upload in which a run that was never scored can be withdrawn at no cost."""


def _select_all() -> Select[Any]:
    # The topics of a run may be 100,000 names, and few callers need them: see `list_topics`.
    return select(*columns_of(Run, table, team=teams.c.name)).join(teams, teams.c.id == table.c.team_id)


def _select() -> Select[Any]:
    return _select_all().where(table.c.withdrawn_at.is_(None))


# Statements of every upload are built once: to build one takes as long as SQLite needs for it.
_BY_ID = _select().where(table.c.id == bindparam("id"))
_SAME = (
    _select()
    .where(
        table.c.collection_id == bindparam("collection_id"),
        teams.c.name == bindparam("team"),
        table.c.sha256 == bindparam("sha256"),
    )
    .order_by(table.c.id)
)
_ALL_BY_NAME = _select().where(table.c.collection_id == bindparam("collection_id")).order_by(table.c.name)


def add(tx: Transaction, **values: Any) -> Run:
    """Add a run. Raise RunExists if a live one of the collection has its name."""
    identity = tx.execute(_add_new(insert_for(tx)), values).scalar()
    if identity is None:
        raise taken(values["name"])
    return get_record(tx, Run, _BY_ID, {"id": identity})


def add_all(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add many runs, whose names are free."""
    if rows:
        tx.execute(insert(table), rows)


@cache
def _add_new(insert_into: Callable[[Table], Any]) -> Any:
    return insert_into(table).on_conflict_do_nothing().returning(table.c.id)


def taken(name: str) -> RunExists:
    """Return the error for a name that another run has."""
    return RunExists(
        f"A run named {name!r} exists, of another team or with other content. Choose another `name`, for example one "
        "that begins with your team's name."
    )


def is_of_another_team(tx: Transaction, collection_id: int, system: str, team: str) -> bool:
    """Return whether a live run of another team has this name, or is a replicate of a system that has it."""
    here = (table.c.collection_id == collection_id, table.c.withdrawn_at.is_(None), teams.c.name != team)
    named = or_(table.c.name == system, table.c.system == system)
    return tx.execute(select(table.c.id).join(teams).where(*here, named).limit(1)).first() is not None


def find(tx: Transaction, collection_id: int, name: str) -> Run | None:
    """Return the live run with this name."""
    return find_record(tx, Run, _select().where(table.c.collection_id == collection_id, table.c.name == name))


def find_same(tx: Transaction, collection_id: int, team: str, sha256: str, replicate: str | None = None) -> Run | None:
    """Return the team's first live run with exactly this content. Two replicates of a system may have the same."""
    same = list_records(tx, Run, _SAME, {"collection_id": collection_id, "team": team, "sha256": sha256})
    return next((run for run in same if replicate in (None, run.replicate)), None)


def page(
    tx: Transaction,
    collection_id: int,
    *,
    team_id: int | None = None,
    after: str | None = None,
    before: datetime | None = None,
    limit: int | None = None,
) -> list[Run]:
    """Return live runs by name in byte order, of all teams or of one.

    Names come after `after`, and times of arrival before `before`.
    """
    query = _ALL_BY_NAME if limit is None else _ALL_BY_NAME.limit(limit)
    if team_id is not None:
        query = query.where(table.c.team_id == team_id)
    if after is not None:
        query = query.where(table.c.name > after)
    if before is not None:
        query = query.where(table.c.created_at < before)
    return list_records(tx, Run, query, {"collection_id": collection_id})


def list_newest(tx: Transaction, collection_id: int, since: datetime, limit: int) -> list[Run]:
    """Return the live runs that came at this time or later, the newest first."""
    query = _select().where(table.c.collection_id == collection_id, table.c.created_at >= since)
    return list_records(tx, Run, query.order_by(table.c.created_at.desc()).limit(limit))


def of_ids(tx: Transaction, run_ids: Sequence[int]) -> list[Run]:
    """Return the runs with these ids, in this order. Withdrawn runs are included, because a job keeps its runs."""
    by_id: dict[int, Run] = {}
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = table.c.id.in_(run_ids[start : start + RUNS_AT_ONCE])
        by_id |= {run.id: run for run in list_records(tx, Run, _select_all().where(these))}
    return [by_id[run_id] for run_id in run_ids]


def list_topics(tx: Transaction, run_ids: Sequence[int]) -> Iterator[tuple[int, bytes]]:
    """Yield the id of each of the runs, in any order, with the packed names of its topics."""
    for start in range(0, len(run_ids), _TOPICS_AT_ONCE):
        these = table.c.id.in_(run_ids[start : start + _TOPICS_AT_ONCE])
        yield from map(tuple, tx.execute(select(table.c.id, table.c.topics).where(these)))


def count_sent(tx: Transaction, team_ids: Sequence[int], since: datetime | None = None) -> dict[int, int]:
    """Count each team's runs for its quota: all but those that were withdrawn at once and never scored."""
    # A score that was given has told something about the judgments, which a withdrawal does not take back.
    is_scored = exists().where(answers.c.run_id == table.c.id, answers.c.team_id == table.c.team_id)
    query = select(table.c.team_id, func.count()).group_by(table.c.team_id)
    query = query.where(table.c.team_id.in_(team_ids), ~_withdrawn_at_once(tx) | is_scored)
    rows = tx.execute(query if since is None else query.where(table.c.created_at >= since))
    return dict.fromkeys(team_ids, 0) | dict(map(tuple, rows))


# Never null: the negation of null would be null, and no live run would count.
def _withdrawn_at_once(tx: Transaction) -> ColumnElement[bool]:
    # SQLite has no intervals.
    if tx.dialect.name == "sqlite":
        days = func.julianday(table.c.withdrawn_at) - func.julianday(table.c.created_at)
        return func.coalesce(days <= FREE_TO_WITHDRAW / timedelta(days=1), False)
    return func.coalesce(table.c.withdrawn_at - table.c.created_at <= literal(FREE_TO_WITHDRAW, Interval), False)


def stored_bytes(tx: Transaction, team_id: int) -> int:
    """Return the decompressed size of a team's runs, live and withdrawn, whose content is not deleted yet."""
    query = select(func.coalesce(func.sum(blobs.c.size), 0)).join_from(table, blobs, blobs.c.sha256 == table.c.sha256)
    return int(tx.execute(query.where(table.c.team_id == team_id, table.c.pruned_at.is_(None))).scalar_one())


def unjudged_bytes(tx: Transaction, collection_id: int, qrels_id: int | None) -> int:
    """Return the decompressed size of the runs that are not joined with a version; of all runs if it is None."""
    query = select(func.coalesce(func.sum(blobs.c.size), 0)).join_from(table, blobs, blobs.c.sha256 == table.c.sha256)
    query = query.where(table.c.collection_id == collection_id, table.c.withdrawn_at.is_(None))
    if qrels_id is not None:
        joined = judged_runs.c.run_id == table.c.id, judged_runs.c.qrels_id == qrels_id
        query = query.where(~exists().where(*joined))
    return int(tx.execute(query).scalar_one())


def withdraw(tx: Transaction, run_id: int, now: datetime) -> None:
    """Withdraw the run. Its name may be used again."""
    tx.execute(update(table).where(table.c.id == run_id).values(withdrawn_at=now))


def withdraw_all(tx: Transaction, run_ids: Sequence[int], now: datetime) -> None:
    """Withdraw these runs."""
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = table.c.id.in_(run_ids[start : start + RUNS_AT_ONCE])
        tx.execute(update(table).where(these).values(withdrawn_at=now))


def change(tx: Transaction, run_id: int, changes: Mapping[str, Any]) -> None:
    """Set the priority of the run, its family, or both."""
    tx.execute(update(table).where(table.c.id == run_id).values(**changes))


def put_metadata(tx: Transaction, run_id: int, sha256: str, content: bytes) -> None:
    """Store the file of ir_metadata that came beside a run, in place of an earlier one."""
    values = {"sha256": sha256, "content": content}
    query = insert_for(tx)(run_metadata).values(run_id=run_id, **values)
    tx.execute(query.on_conflict_do_update(index_elements=["run_id"], set_=values))


def metadata_hashes(tx: Transaction, collection_id: int) -> dict[int, str]:
    """Return the SHA-256 of each file of ir_metadata of a collection, by the run's id."""
    join = run_metadata.join(table, table.c.id == run_metadata.c.run_id)
    query = select(run_metadata.c.run_id, run_metadata.c.sha256).select_from(join)
    return dict(map(tuple, tx.execute(query.where(table.c.collection_id == collection_id))))


def find_metadata(tx: Transaction, run_id: int) -> bytes | None:
    """Return the file of ir_metadata that came beside a run."""
    content: bytes | None = tx.execute(select(run_metadata.c.content).where(run_metadata.c.run_id == run_id)).scalar()
    return content


def find_metadata_by_hash(tx: Transaction, collection_id: int, sha256: str) -> bytes | None:
    """Return the file of ir_metadata with this SHA-256, beside any run of a collection."""
    join = run_metadata.join(table, table.c.id == run_metadata.c.run_id)
    same = (table.c.collection_id == collection_id, run_metadata.c.sha256 == sha256)
    content: bytes | None = tx.execute(select(run_metadata.c.content).select_from(join).where(*same).limit(1)).scalar()
    return content


def is_prunable(before: datetime) -> ColumnElement[bool]:
    """Return the condition that nobody needs the content of a run, because it was withdrawn before this time.

    Jobs keep the runs that they were started with, so nothing of a collection with open jobs is prunable.
    """
    busy = select(jobs.c.collection_id).where(jobs.c.state.in_(("queued", "running")))
    # Without the first part this is null for a live run, and so is its negation.
    is_old = table.c.withdrawn_at.is_not(None) & (table.c.withdrawn_at < before)
    return is_old & table.c.pruned_at.is_(None) & table.c.collection_id.not_in(busy)


def count_prunable(tx: Transaction, before: datetime) -> int:
    """Count the runs that `mark_pruned` would mark."""
    return tx.execute(select(func.count()).select_from(table).where(is_prunable(before))).scalar_one()


def mark_pruned(tx: Transaction, before: datetime, now: datetime) -> list[str]:
    """Mark some prunable runs and delete their judged rankings, topics and metadata. Return the hashes of their files.

    The hashes are as many as there are marked runs; at most `PRUNED_AT_ONCE`. The caller deletes the files.
    """
    some = select(table.c.id, table.c.sha256).where(is_prunable(before)).order_by(table.c.id).limit(PRUNED_AT_ONCE)
    pruned = tx.execute(some).all()
    ids = [row.id for row in pruned]
    tx.execute(update(table).where(table.c.id.in_(ids)).values(pruned_at=now, topics=pack_names(())))
    tx.execute(delete(judged_runs).where(judged_runs.c.run_id.in_(ids)))
    tx.execute(delete(run_metadata).where(run_metadata.c.run_id.in_(ids)))
    return [row.sha256 for row in pruned]


def add_judged(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store the joins of runs with a qrels version."""
    if rows:
        tx.execute(insert(judged_runs), [dict(row) for row in rows])


def find_judgings(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, Judging]:
    """Return the findings of the joins of these runs with the version, by the run's id."""
    names = ("retrieved", "unjudged", "topics_missing", "topics_unknown")
    return {run_id: Judging(*counts) for run_id, *counts in _judged(tx, run_ids, qrels_id, *names)}


def rankings(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, bytes]:
    """Return the packed judged rankings of these runs, by the run's id."""
    return dict(_judged(tx, run_ids, qrels_id, "rankings"))


def retrieval_scores(tx: Transaction, run_ids: Sequence[int], qrels_id: int) -> dict[int, bytes]:
    """Return the packed retrieval scores that belong to `rankings`, by the run's id."""
    return dict(_judged(tx, run_ids, qrels_id, "retrieval_scores"))


def _judged(tx: Transaction, run_ids: Sequence[int], qrels_id: int, *columns: str) -> Iterator[tuple[Any, ...]]:
    for start in range(0, len(run_ids), RUNS_AT_ONCE):
        these = {"qrels_id": qrels_id, "run_ids": run_ids[start : start + RUNS_AT_ONCE]}
        yield from map(tuple, tx.execute(_of_judged(columns), these))


@cache
def _of_judged(columns: tuple[str, ...]) -> Select[Any]:
    of_version = judged_runs.c.qrels_id == bindparam("qrels_id")
    these = judged_runs.c.run_id.in_(bindparam("run_ids", expanding=True))
    return select(judged_runs.c.run_id, *(judged_runs.c[name] for name in columns)).where(of_version, these)
