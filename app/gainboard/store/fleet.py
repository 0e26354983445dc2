"""The fleet: workers on any number of hosts, on PostgreSQL alone.

Tickets call them (`jobs`). A worker lives while its heartbeat, a time of the database's clock, is fresh. So the clocks
of hosts may differ. Procrastinate keeps the heartbeats, and this module knows what a dead worker leaves behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import delete, func, insert, select, text

from gainboard.store import claims
from gainboard.store.database import Transaction
from gainboard.store.jobs import forget_lost_tickets, has_tickets, put_out_tickets
from gainboard.store.tables import job_chunks as chunks
from gainboard.store.tables import jobs
from gainboard.store.tables import workers as table

DEAD_AFTER = 30.0
"""Seconds after which a worker without a heartbeat counts as dead, unless it is set otherwise."""
_PRUNE = text("SELECT worker_id FROM procrastinate_prune_stalled_workers_v1(:seconds)")
_FORGET_DEAD = text("DELETE FROM workers WHERE id NOT IN (SELECT id FROM procrastinate_workers)")
_LIVING = text(
    "SELECT id FROM procrastinate_workers WHERE last_heartbeat > now() - make_interval(secs => :seconds) ORDER BY id"
)
_HEARTBEATS = text("SELECT id, EXTRACT(EPOCH FROM now() - last_heartbeat) FROM procrastinate_workers")


@dataclass(frozen=True, slots=True)
class FleetWorker:
    """A worker: where it runs, since when, and on how many chunks it works now.

    `silent` is the time in seconds since its heartbeat.
    """

    id: int
    host: str
    pid: int
    release: str
    slots: int
    started_at: datetime
    working: int = 0
    jobs: Sequence[str] = ()
    silent: float = 0.0


def name_of_owner(worker: int) -> str:
    """Return the name under which a worker claims chunks."""
    return f"worker-{worker}"


def register(tx: Transaction, worker: FleetWorker) -> None:
    """Note where a worker runs. Procrastinate has given it its id."""
    shown = {"host": worker.host, "pid": worker.pid, "release": worker.release, "slots": worker.slots}
    tx.execute(insert(table).values(id=worker.id, started_at=worker.started_at, **shown))


def leave(tx: Transaction, worker: int) -> None:
    """Forget a worker, and return the chunks that it has not finished."""
    claims.put_back_all(tx, name_of_owner(worker))
    tx.execute(delete(table).where(table.c.id == worker))
    # The other workers may be idle, and the next sweep may be far away.
    _call_for(tx)


def _call_for(tx: Transaction) -> None:
    for number, count in claims.ready(tx).items():
        put_out_tickets(tx, number, count)


def list_living(tx: Transaction, seconds: float) -> list[int]:
    """Return the ids of the workers whose heartbeat is at most so many seconds old, in order."""
    return list(tx.execute(_LIVING, {"seconds": seconds}).scalars())


class Swept(NamedTuple):
    """The findings of a sweep: the ids of dead workers, and the number of their chunks."""

    died: Sequence[int]
    freed: int


def sweep(tx: Transaction, now: datetime, seconds: float) -> Swept:
    """Delete dead workers, and start their chunks again.

    A worker is dead if its heartbeat is older than `seconds`. Its chunks are started again, and a late result of it is
    refused, because its claims are gone. Jobs with chunks to start get tickets.
    """
    died = list(tx.execute(_PRUNE, {"seconds": seconds}).scalars())
    forget_lost_tickets(tx)
    # Each of these is one statement, so that a worker which registers meanwhile is not taken for dead.
    tx.execute(_FORGET_DEAD)
    lives = chunks.c.claim.startswith(func.concat("worker-", table.c.id, "/"))
    freed = claims.free_dead(tx, now, ~select(table.c.id).where(lives).exists())
    _call_for(tx)
    return Swept(died, freed)


def list_living_workers(tx: Transaction) -> list[FleetWorker]:
    """Return the workers of whom something was heard lately, by id."""
    return [worker for worker in list_workers(tx) if worker.silent < DEAD_AFTER]


def list_workers(tx: Transaction) -> list[FleetWorker]:
    """Return the workers that nobody has found dead yet, and what they work on, by id."""
    if not has_tickets(tx):
        return []
    # All times are of the database's clock, since those of hosts may differ.
    silent = {number: float(seconds) for number, seconds in tx.execute(_HEARTBEATS)}
    held: dict[str, list[str]] = {}
    query = select(chunks.c.claim, jobs.c.kind).join(jobs, jobs.c.number == chunks.c.job_number)
    for claim, kind in tx.execute(query.where(chunks.c.claim.is_not(None))):
        held.setdefault(claim.partition("/")[0], []).append(kind)
    rows = tx.execute(select(table).where(table.c.id.in_(list(silent))).order_by(table.c.id))
    return [
        FleetWorker(
            **row._mapping,
            working=len(held.get(name_of_owner(row.id), ())),
            jobs=sorted(set(held.get(name_of_owner(row.id), ()))),
            silent=silent[row.id],
        )
        for row in rows
    ]
