"""The rows that an import writes beside uploads: times, numbers, results and a release, as they were elsewhere."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import delete, insert, select, update

from gainboard.store.collections import IMPORTING
from gainboard.store.database import Transaction
from gainboard.store.tables import (
    collections,
    job_qrels,
    jobs,
    judged_runs,
    judgment_sets,
    qrels,
    report_chapters,
    report_jobs,
    reports,
    run_metadata,
    runs,
    score_matrices,
    teams,
    topic_groups,
    uploads,
)

DELETED_AT_ONCE = 100
"""The most runs that are deleted in one transaction, during which nobody else can write."""


def uuid_exists(tx: Transaction, uuid: str) -> bool:
    """Return whether a collection has this uuid, deleted or not."""
    return tx.execute(select(collections.c.id).where(collections.c.uuid == uuid)).first() is not None


def set_version(tx: Transaction, qrels_id: int, version: int, created_at: datetime, published_at: datetime) -> None:
    """Give a version its number and times. Versions with higher numbers must have theirs already."""
    values = {"version": version, "created_at": created_at, "published_at": published_at}
    tx.execute(update(qrels).where(qrels.c.id == qrels_id).values(**values))


def set_released(tx: Transaction, collection_id: int, judgments: str, at: datetime) -> None:
    """Release a judgment set at this time."""
    this_set = (judgment_sets.c.collection_id == collection_id, judgment_sets.c.name == judgments)
    tx.execute(update(judgment_sets).where(*this_set).values(created_at=at, released_at=at))


def set_arrival(tx: Transaction, run_id: int, at: datetime) -> None:
    tx.execute(update(runs).where(runs.c.id == run_id).values(created_at=at))


def set_matrix(tx: Transaction, matrix_id: int, version: int) -> None:
    """Give a version of a score matrix its number."""
    tx.execute(update(score_matrices).where(score_matrices.c.id == matrix_id).values(version=version))


def add_job(tx: Transaction, at: datetime, others: list[int], **values: Any) -> int:
    """Add a job that has succeeded, and return its number."""
    times = dict.fromkeys(("created_at", "started_at", "finished_at"), at)
    row = {"state": "succeeded", "parts": 1, "token_id": None, **times, **values}
    number: int = tx.execute(insert(jobs).values(**row).returning(jobs.c.number)).scalar_one()
    if others:
        tx.execute(insert(job_qrels), [{"job_number": number, "qrels_id": qrels_id} for qrels_id in others])
    return number


def set_verified(tx: Transaction, identities: Container[str]) -> None:
    """Note that imported results were computed again here, with the same numbers."""
    imported = jobs.c.id.in_(identities) & (jobs.c.origin == "imported")
    tx.execute(update(jobs).where(imported).values(origin="verified"))


def add_report(
    tx: Transaction,
    at: datetime,
    collection_id: int,
    chapter: Mapping[str, Any],
    needed: Mapping[str, int],
    **report_values: Any,
) -> None:
    """Add a report about one collection. `needed` are the numbers of its jobs, by the report's names for them."""
    values = {"token_id": None, "created_at": at, **report_values}
    number = tx.execute(insert(reports).values(**values).returning(reports.c.number)).scalar_one()
    position = {"report_number": number, "position": 0}
    tx.execute(insert(report_chapters).values(**position, collection_id=collection_id, **chapter))
    rows = [{**position, "key": key, "job_number": job, "queued": False} for key, job in needed.items()]
    tx.execute(insert(report_jobs), rows)


def hold(tx: Transaction, collection_id: int) -> bool:
    """Return whether an import is still under way, and let nobody delete its collection before the transaction ends."""
    under_way = select(collections.c.id).where(collections.c.id == collection_id, collections.c.deleted_at.is_(None))
    return tx.execute(under_way.with_for_update()).first() is not None


def find_abandoned(tx: Transaction) -> int | None:
    """Return the id of a collection whose import failed, or whose process died (`processes`); None if there is none."""
    is_over = collections.c.name.startswith(IMPORTING) & collections.c.deleted_at.is_not(None)
    return tx.execute(select(collections.c.id).where(is_over).order_by(collections.c.id).limit(1)).scalar()


def delete_some(tx: Transaction, collection_id: int) -> list[str]:
    """Delete some runs of such a collection, or the rest and the collection itself once it has none.

    Return the hashes of their files, which the caller deletes. No other row refers to one of these: the log has no
    entry, and jobs and releases come in the last transaction of an import.
    """
    some = select(runs.c.id, runs.c.sha256).where(runs.c.collection_id == collection_id).limit(DELETED_AT_ONCE)
    if rows := tx.execute(some).all():
        ids = [row.id for row in rows]
        for table in (judged_runs, run_metadata):
            tx.execute(delete(table).where(table.c.run_id.in_(ids)))
        tx.execute(delete(runs).where(runs.c.id.in_(ids)))
        return [row.sha256 for row in rows]
    of_team = uploads.c.team_id.in_(select(teams.c.id).where(teams.c.collection_id == collection_id))
    tx.execute(delete(uploads).where(of_team))
    gone = delete(qrels).where(qrels.c.collection_id == collection_id).returning(qrels.c.sha256)
    hashes = list(tx.execute(gone).scalars())
    for of_collection in (judgment_sets, topic_groups, teams):
        tx.execute(delete(of_collection).where(of_collection.c.collection_id == collection_id))
    tx.execute(delete(collections).where(collections.c.id == collection_id))
    return hashes
