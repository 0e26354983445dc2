"""Tickets, which call the workers of a fleet: Procrastinate's tables in a PostgreSQL database.

A ticket says that there is work, and nothing else: jobs, chunks, claims and results are in our own tables. So a ticket
that is lost, or given twice, does no harm. `fleet.sweep` puts out new ones.
"""

from __future__ import annotations

from sqlalchemy import text

from gainboard.store.database import Transaction, exclude_others

QUEUE = "gainboard"
"""The name of the queue of tickets, and of the task that a ticket stands for."""
MOST_TICKETS = 64
"""The most tickets of one job that wait. Whichever ticket a worker gets, it works on all jobs."""

_IS_THERE = text("SELECT to_regclass('procrastinate_jobs') IS NOT NULL")
_VERSION = text("SELECT obj_description(to_regclass('procrastinate_jobs'))")
# The lock allows one waiting ticket for each number of a job, so tickets may be put out again and again.
_PUT_OUT = text(
    "INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock) "
    "SELECT :queue, :queue, CAST(:job AS text) || '/' || slot FROM generate_series(1, :count) AS slot "
    "ON CONFLICT DO NOTHING"
)
# Procrastinate takes the name of a dead worker off its tickets. It would keep them as tickets under way.
_FORGET_LOST = text(
    "DELETE FROM procrastinate_jobs WHERE queue_name = :queue AND status <> 'todo' AND worker_id IS NULL"
)


def is_there(tx: Transaction) -> bool:
    """Return whether the database has the tables of tickets, because a worker was started on it once."""
    return tx.dialect.name == "postgresql" and bool(tx.execute(_IS_THERE).scalar_one())


def install(tx: Transaction, version: str, schema: str) -> str:
    """Make the tables by Procrastinate's own `schema`, once. Return the version of Procrastinate that made them."""
    exclude_others(tx)
    if not is_there(tx):
        # psycopg reads a single % as the place of a parameter.
        tx.exec_driver_sql(schema.replace("%", "%%"))
        tx.exec_driver_sql(f"COMMENT ON TABLE procrastinate_jobs IS '{version}'")
    return str(tx.execute(_VERSION).scalar_one())


def put_out(tx: Transaction, job_number: int, count: int) -> None:
    """Put out tickets for a job, one for each chunk that may be started; nothing without a fleet."""
    if count and is_there(tx):
        tx.execute(_PUT_OUT, {"queue": QUEUE, "job": job_number, "count": min(count, MOST_TICKETS)})


def forget_lost(tx: Transaction) -> None:
    """Delete the tickets that dead workers had."""
    tx.execute(_FORGET_LOST, {"queue": QUEUE})
