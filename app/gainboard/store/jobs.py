"""Stored jobs: the truth about them, whichever process runs them. Their chunks are in `claims`.

Tickets call the workers of a fleet: Procrastinate's tables in a PostgreSQL database. A ticket says that there is work,
and nothing else: jobs, chunks, claims and results are in our own tables. So a ticket that is lost, or given twice, does
no harm: a worker that has nothing to do looks for chunks by itself now and then.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any, get_args

from sqlalchemy import ColumnElement, Select, bindparam, case, delete, exists, func, insert, or_, select, text, update

from gainboard.store.damage import find_record, get_record, list_records
from gainboard.store.database import Transaction, exclude_others, insert_for
from gainboard.store.job_records import DERIVED_KINDS, Claim, StoredJob, derived_id
from gainboard.store.qrels import is_hidden
from gainboard.store.tables import collections, job_qrels, qrels, report_chapters, report_jobs, reports
from gainboard.store.tables import job_chunks as chunks
from gainboard.store.tables import jobs as table
from gainboard.vocabulary import OFFICIAL, DerivedKind, JobState

QUEUE = "gainboard"
"""The name of the queue of tickets, and of the task that a ticket stands for."""
MOST_TICKETS = 64
"""The most tickets of one job that wait. Whichever ticket a worker gets, it works on all jobs."""

_HAS_TICKETS = text("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
_TICKETS_MADE_BY = text("SELECT obj_description(to_regclass('procrastinate_jobs'))")
# The lock allows one waiting ticket for each number of a job, so tickets may be put out again and again.
_PUT_OUT_TICKETS = text(
    "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock) "
    "SELECT :queue, :queue, CAST(:job AS text) || '/' || slot FROM generate_series(1, :count) AS slot "
    "ON CONFLICT DO NOTHING"
)
# As a worker starts, Procrastinate takes the names of the dead off their tickets, but keeps these as under way.
_FORGET_LOST_TICKETS = text(
    "DELETE FROM procrastinate_jobs WHERE queue_name = :queue AND status <> 'todo' AND worker_id IS NULL"
)

OPEN = table.c.state.in_(("queued", "running"))
_other = qrels.alias("other_qrels")


def _other_version(*which: ColumnElement[bool]) -> ColumnElement[bool]:
    """Return the condition that a job compares its qrels version with one of which this is true."""
    compared = (job_qrels.c.job_number == table.c.number, _other.c.id == job_qrels.c.qrels_id)
    return exists().where(*compared, *which)


_IS_LIVE = qrels.c.discarded_at.is_(None) & ~_other_version(_other.c.discarded_at.is_not(None))
_IS_ABOUT_RUNS_ALONE = table.c.qrels_id.is_(None)
_ON_HIDDEN = _IS_ABOUT_RUNS_ALONE | is_hidden(qrels) | _other_version(is_hidden(_other))
_ON_SETS = (~_IS_ABOUT_RUNS_ALONE & (qrels.c.judgments != OFFICIAL)) | _other_version(_other.c.judgments != OFFICIAL)


def _select() -> Select[Any]:
    worked = select(func.sum(chunks.c.parts_done)).where(chunks.c.job_number == table.c.number).scalar_subquery()
    # A job that has succeeded has no chunks any more.
    done = case((table.c.state == "succeeded", table.c.parts), else_=func.coalesce(worked, 0))
    of_version = (qrels.c.version.label("qrels_version"), qrels.c.judgments.label("judgment_set"))
    kept = select(
        table, *of_version, _ON_HIDDEN.label("on_hidden"), _ON_SETS.label("on_sets"), done.label("parts_done")
    )
    return kept.outerjoin(qrels, qrels.c.id == table.c.qrels_id)


_AMONG = _select().where(table.c.id.in_(bindparam("ids", expanding=True)))
_BY_ID = _select().where(table.c.id == bindparam("id"), _IS_LIVE)


def find(tx: Transaction, identity: str) -> StoredJob | None:
    """Return the job with this id, unless it is about a discarded version."""
    return find_record(tx, StoredJob, _BY_ID, {"id": identity})


def among(tx: Transaction, identities: Container[str]) -> dict[str, StoredJob]:
    """Return those of the jobs that exist, by id."""
    return {job.id: job for job in list_records(tx, StoredJob, _AMONG, {"ids": list(identities)})}


def of_numbers(tx: Transaction, numbers: Container[int]) -> dict[int, StoredJob]:
    """Return those of the jobs that exist, by number, without jobs about discarded versions."""
    query = _select().where(table.c.number.in_(numbers), _IS_LIVE)
    return {job.number: job for job in list_records(tx, StoredJob, query)}


def page(
    tx: Transaction,
    *,
    before: int | None,
    limit: int,
    collection_id: int | None,
    hidden: bool = False,
    sets: bool = False,
    kind: str | None = None,
    state: JobState | None = None,
) -> list[StoredJob]:
    """Return jobs of one live collection or of all, newest first; of one kind and state, or of all.

    `hidden` includes those about qrels that only organisers see, and `sets` those about other sets than the official.
    """
    live = collections.c.deleted_at.is_(None) & _IS_LIVE & table.c.kind.not_in(DERIVED_KINDS)
    query = _select().join(collections, collections.c.id == table.c.collection_id).where(live)
    if not hidden:
        query = query.where(~_ON_HIDDEN)
    if not sets:
        query = query.where(~_ON_SETS)
    if before is not None:
        query = query.where(table.c.number < before)
    for column, wanted in ((table.c.collection_id, collection_id), (table.c.kind, kind), (table.c.state, state)):
        if wanted is not None:
            query = query.where(column == wanted)
    return list_records(tx, StoredJob, query.order_by(table.c.number.desc()).limit(limit))


def count_open(tx: Transaction, token_id: str) -> dict[int, int]:
    """Count the open jobs that this token asked for, by collection."""
    opened = select(table.c.collection_id, func.count().label("jobs")).where(table.c.token_id == token_id, OPEN)
    return {row.collection_id: row.jobs for row in tx.execute(opened.group_by(table.c.collection_id))}


def oldest_open(tx: Transaction) -> datetime | None:
    """Return when the oldest job was asked for that is not over; None if all are."""
    query = select(table.c.created_at).where(OPEN).order_by(table.c.created_at).limit(1)
    oldest: datetime | None = tx.execute(query).scalar()
    return oldest


def count_done(tx: Transaction) -> tuple[int, int]:
    """Count the jobs that are over, and all, with those that make files of results."""
    done, every = tx.execute(select(func.count().filter(~OPEN), func.count()).select_from(table)).one()
    return done, every


def count_by_state(tx: Transaction) -> dict[JobState, int]:
    """Count the jobs in each state that any job has."""
    query = (
        select(table.c.state, func.count().label("jobs"))
        .where(table.c.kind.not_in(DERIVED_KINDS))
        .group_by(table.c.state)
    )
    return {row.state: row.jobs for row in tx.execute(query.group_by(table.c.state))}


def add(
    tx: Transaction, now: datetime, sizes: Sequence[int], *, other_qrels: Container[int] = (), **values: Any
) -> tuple[StoredJob, bool]:
    """Return the job with this id, and whether this call queued it: it is new, or had failed or been cancelled.

    `sizes` are the numbers of parts of its chunks, and `other_qrels` the ids of the versions that it compares with its
    own. A job that is queued, running or finished is not changed.
    """
    values |= {"state": "queued", "parts": sum(sizes), "created_at": now}
    # Of two equal requests at the same time only one inserts the job; the other one finds it.
    query = insert_for(tx)(table).values(**values).on_conflict_do_nothing(index_elements=["id"])
    number = tx.execute(query.returning(table.c.number)).scalar()
    if number is not None:
        firsts = accumulate(sizes, initial=0)
        new = {"job_number": number, "parts_done": 0, "done": False, "attempts": 0, "interruptions": 0}
        places = enumerate(zip(firsts, sizes, strict=False))
        tx.execute(insert(chunks), [new | {"position": p, "first_part": f, "parts": n} for p, (f, n) in places])
        if other_qrels:
            tx.execute(
                insert(job_qrels), [{"job_number": number, "qrels_id": qrels_id} for qrels_id in sorted(other_qrels)]
            )
    else:
        over = table.c.state.in_(("failed", "cancelled"))
        # the token that asks now may cancel it
        again = {"state": "queued", "token_id": values["token_id"]}
        again |= dict.fromkeys(("error", "started_at", "finished_at"))
        changed = update(table).where(table.c.id == values["id"], over).values(**again)
        number = tx.execute(changed.returning(table.c.number)).scalar()
        if number is not None:
            # finished chunks stay, because they would have the same findings again
            undone = (chunks.c.job_number == number) & ~chunks.c.done
            tx.execute(update(chunks).where(undone).values(claim=None, attempts=0, interruptions=0, parts_done=0))
    job = get_record(tx, StoredJob, _select().where(table.c.id == values["id"]))
    if number is not None:
        put_out_tickets(tx, job.number, len(sizes))
    return job, number is not None


def versions_of(tx: Transaction, job: StoredJob) -> list[int]:
    """Return the ids of all qrels versions that a job is about: its own, and those that it compares with it."""
    others = tx.execute(select(job_qrels.c.qrels_id).where(job_qrels.c.job_number == job.number)).scalars()
    return sorted({*others, *([job.qrels_id] if job.qrels_id is not None else [])})


def job_of(tx: Transaction, held: Claim) -> StoredJob:
    return get_record(tx, StoredJob, _select().where(table.c.number == held.job_number))


def lock(tx: Transaction, numbers: Container[int], *, keys_only: bool = False) -> None:
    """Wait until nobody else changes these jobs, always in the same order.

    With `keys_only`, wait until nobody ends them.
    """
    wanted = select(table.c.number).where(table.c.number.in_(numbers)).order_by(table.c.number)
    tx.execute(wanted.with_for_update(read=keys_only, key_share=keys_only)).all()


def remove(tx: Transaction, job: StoredJob) -> None:
    """Delete a job, the job that made its files, and the reports that need it."""
    derived = {derived_id(files, job.id) for files in get_args(DerivedKind)}
    numbers = select(table.c.number).where((table.c.number == job.number) | table.c.id.in_(derived))
    lost = select(report_jobs.c.report_number).where(report_jobs.c.job_number == job.number)
    remove_reports(tx, set(tx.execute(lost).scalars()))
    # Rows go before those that they refer to.
    tx.execute(delete(chunks).where(chunks.c.job_number.in_(numbers)))
    tx.execute(delete(table).where(table.c.number.in_(numbers)))


def remove_reports(tx: Transaction, numbers: Container[int]) -> None:
    """Delete the reports with these numbers."""
    for of_report in (report_jobs, report_chapters):
        tx.execute(delete(of_report).where(of_report.c.report_number.in_(numbers)))
    tx.execute(delete(reports).where(reports.c.number.in_(numbers)))


def cancel_all(tx: Transaction, collection_id: int, now: datetime, qrels_id: int | None = None) -> None:
    """Cancel the open jobs about a collection, or about one of its qrels versions."""
    about = table.c.collection_id == collection_id
    if qrels_id is not None:
        about &= or_(table.c.qrels_id == qrels_id, _other_version(_other.c.id == qrels_id))
    tx.execute(update(table).where(about, OPEN).values(state="cancelled", finished_at=now))


def cancel_numbers(tx: Transaction, numbers: Container[int], now: datetime) -> None:
    """Cancel those of the jobs that are open."""
    tx.execute(update(table).where(table.c.number.in_(numbers), OPEN).values(state="cancelled", finished_at=now))


def cancel(tx: Transaction, identity: str, now: datetime) -> StoredJob | None:
    """Return the job, cancelled unless it was over already."""
    over = {"state": "cancelled", "finished_at": now}
    tx.execute(update(table).where(table.c.id == identity, OPEN).values(**over))
    return find(tx, identity)


def has_tickets(tx: Transaction) -> bool:
    """Return whether the database has the tables of tickets, because a worker was started on it once."""
    return tx.dialect.name == "postgresql" and bool(tx.execute(_HAS_TICKETS).scalar_one())


def install_tickets(tx: Transaction, version: str, schema: str) -> str:
    """Make the tables by Procrastinate's own `schema`, once. Return the version of Procrastinate that made them."""
    exclude_others(tx)
    if not has_tickets(tx):
        # psycopg reads a single % as the place of a parameter.
        tx.exec_driver_sql(schema.replace("%", "%%"))
        tx.exec_driver_sql(f"COMMENT ON TABLE procrastinate_jobs IS '{version}'")
    return str(tx.execute(_TICKETS_MADE_BY).scalar_one())


def put_out_tickets(tx: Transaction, job_number: int, count: int) -> None:
    """Put out tickets for a job, one for each chunk that may be started; nothing without a fleet."""
    if count and has_tickets(tx):
        tx.execute(_PUT_OUT_TICKETS, {"queue": QUEUE, "job": job_number, "count": min(count, MOST_TICKETS)})


def forget_lost_tickets(tx: Transaction) -> None:
    """Delete the tickets that dead workers had."""
    tx.execute(_FORGET_LOST_TICKETS, {"queue": QUEUE})
