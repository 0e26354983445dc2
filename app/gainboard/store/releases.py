"""Stored releases: rows that never change, and which runs, versions and score matrices each of them holds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import func, insert, select

from gainboard.store.damage import find_record, get_record, list_records
from gainboard.store.database import Transaction
from gainboard.store.records import Release
from gainboard.store.tables import qrels, release_matrices, release_qrels, release_runs, score_matrices
from gainboard.store.tables import releases as table


def find(tx: Transaction, collection_id: int, number: int) -> Release | None:
    """Return the release with this number."""
    return find_record(
        tx, Release, select(table).where(table.c.collection_id == collection_id, table.c.number == number)
    )


def page(tx: Transaction, collection_id: int, *, before: int | None = None, limit: int | None = None) -> list[Release]:
    """Return releases, newest first; all of them if there is no limit."""
    query = select(table).where(table.c.collection_id == collection_id).order_by(table.c.number.desc()).limit(limit)
    if before is not None:
        query = query.where(table.c.number < before)
    return list_records(tx, Release, query)


def last_number(tx: Transaction, collection_id: int) -> int:
    """Return the number of the newest release, or 0."""
    query = select(func.coalesce(func.max(table.c.number), 0)).where(table.c.collection_id == collection_id)
    return int(tx.execute(query).scalar_one())


def add(
    tx: Transaction, run_ids: Iterable[int], qrels_ids: Iterable[int], matrix_ids: Iterable[int], **values: Any
) -> Release:
    """Store a release with what it holds, in a transaction that has locked the collection."""
    release = get_record(tx, Release, insert(table).values(**values).returning(table))
    release_id = {"release_id": release.id}
    if held := [release_id | {"run_id": held_id} for held_id in run_ids]:
        tx.execute(insert(release_runs), held)
    if held := [release_id | {"qrels_id": held_id} for held_id in qrels_ids]:
        tx.execute(insert(release_qrels), held)
    if held := [release_id | {"matrix_id": held_id} for held_id in matrix_ids]:
        tx.execute(insert(release_matrices), held)
    return release


def holding_run(tx: Transaction, run_id: int) -> list[Release]:
    """Return the releases that hold a run, by number."""
    held = select(release_runs.c.release_id).where(release_runs.c.run_id == run_id)
    return list_records(tx, Release, select(table).where(table.c.id.in_(held)).order_by(table.c.number))


def holding_set(tx: Transaction, collection_id: int, judgments: str) -> list[Release]:
    """Return the releases that hold a version of a judgment set, by number."""
    of_set = (qrels.c.collection_id == collection_id, qrels.c.judgments == judgments)
    join = release_qrels.join(qrels, qrels.c.id == release_qrels.c.qrels_id)
    held = select(release_qrels.c.release_id).select_from(join).where(*of_set)
    return list_records(tx, Release, select(table).where(table.c.id.in_(held)).order_by(table.c.number))


def holding_matrix(tx: Transaction, collection_id: int, name: str) -> list[Release]:
    """Return the releases that hold a version of a score matrix, by number."""
    of_matrix = (score_matrices.c.collection_id == collection_id, score_matrices.c.name == name)
    join = release_matrices.join(score_matrices, score_matrices.c.id == release_matrices.c.matrix_id)
    held = select(release_matrices.c.release_id).select_from(join).where(*of_matrix)
    return list_records(tx, Release, select(table).where(table.c.id.in_(held)).order_by(table.c.number))
