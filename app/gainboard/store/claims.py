"""Chunks of jobs, and who works them.

A chunk is worked under a claim. Whatever a worker writes names its claim, and is dropped where that no longer
holds: because the job was cancelled, or because the worker was taken for dead and the chunk given to another.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Select, Subquery, case, delete, func, or_, select, update

from gainboard.store.database import Transaction
from gainboard.store.job_records import Claim
from gainboard.store.job_tables import job_chunks as chunks
from gainboard.store.job_tables import jobs as table
from gainboard.store.jobs import OPEN

ATTEMPTS = 3
"""How often a chunk is begun again after the process that worked it died or raised an error."""
INTERRUPTIONS = 20
"""How often a chunk is begun again after whoever owned that process died with it."""


def _ready() -> Select[Any]:
    """The chunk to be worked next: from the job of which least was begun, so that short jobs do not wait for long
    ones; the one that puts a result together only when all others of its job are done."""
    is_last = chunks.c.first_part + chunks.c.parts == table.c.parts
    progress = _open_jobs()
    return (
        select(chunks.c.job_number, chunks.c.position, chunks.c.first_part, chunks.c.parts, is_last.label("is_last"))
        .join(table, table.c.number == chunks.c.job_number)
        .join(progress, progress.c.job_number == chunks.c.job_number)
        .where(OPEN, ~chunks.c.done, chunks.c.claim.is_(None), or_(~is_last, progress.c.undone == 1))
        .order_by(progress.c.begun, chunks.c.job_number, chunks.c.position)
        .limit(1)
    )


def _open_jobs() -> Subquery:
    # One look at each chunk. Counting its siblings for each would hold SQLite's only writer for seconds.
    is_begun = or_(chunks.c.done, chunks.c.claim.is_not(None))
    begun, undone = (func.sum(case((what, 1), else_=0)) for what in (is_begun, ~chunks.c.done))
    counted = select(chunks.c.job_number, begun.label("begun"), undone.label("undone"))
    joined = counted.join(table, table.c.number == chunks.c.job_number).where(OPEN)
    return joined.group_by(chunks.c.job_number).subquery()


def is_anything_ready(tx: Transaction) -> bool:
    """Whether `claim` would find a chunk now; for a reading transaction, which stands in nobody's way."""
    return tx.execute(_ready()).first() is not None


def claim(tx: Transaction, owner: str, now: datetime) -> Claim | None:
    """A chunk to be worked now, if there is one."""
    row = tx.execute(_ready().with_for_update(of=chunks, skip_locked=True)).first()
    if row is None:
        return None
    found = Claim(f"{owner}/{uuid4().hex}", *row)
    taken = {"claim": found.name, "attempts": chunks.c.attempts + 1, "parts_done": 0}
    tx.execute(update(chunks).where(_of(found)).values(**taken))
    is_first = (table.c.number == found.job_number) & (table.c.state == "queued")
    tx.execute(update(table).where(is_first).values(state="running", started_at=now))
    return found


def _of(held: Claim) -> Any:
    return (chunks.c.job_number == held.job_number) & (chunks.c.position == held.position)


def _holds(held: Claim) -> Any:
    is_open = select(table.c.number).where(table.c.number == held.job_number, OPEN)
    return _of(held) & (chunks.c.claim == held.name) & chunks.c.job_number.in_(is_open)


def holds(tx: Transaction, held: Claim) -> bool:
    """Whether what is worked under the claim is still wanted, and wanted from its holder.

    For a writing transaction: nobody ends the claim, or the job, before that ends.
    """
    if tx.execute(select(chunks.c.position).where(_holds(held)).with_for_update()).first() is None:
        return False
    is_open = select(table.c.number).where(table.c.number == held.job_number, OPEN).with_for_update()
    return tx.execute(is_open).first() is not None


def is_lost(tx: Transaction, held: Claim) -> bool:
    """Whether somebody else ended the claim: the job is over without a result, or the chunk is to be worked anew."""
    state = tx.execute(select(table.c.state).where(table.c.number == held.job_number)).scalar()
    anew = select(chunks.c.position).where(_of(held), ~chunks.c.done, chunks.c.claim.is_distinct_from(held.name))
    return state in ("failed", "cancelled") or tx.execute(anew).first() is not None


def progress(tx: Transaction, held: Claim, parts_done: int) -> None:
    """Notes how many parts of the chunk are done."""
    tx.execute(update(chunks).where(_holds(held)).values(parts_done=parts_done))


def complete(tx: Transaction, held: Claim, found: bytes) -> bool:
    """Keeps what the chunk came to; False where the claim no longer holds."""
    worked = {"done": True, "claim": None, "parts_done": held.parts, "found": found}
    query = update(chunks).where(_holds(held)).values(**worked)
    return tx.execute(query.returning(chunks.c.position)).first() is not None


def results_of_chunks(tx: Transaction, job_number: int) -> list[bytes]:
    """What the finished chunks of a job came to, in order."""
    query = select(chunks.c.found).where(chunks.c.job_number == job_number, chunks.c.done).order_by(chunks.c.position)
    return list(tx.execute(query).scalars())


def finish(
    tx: Transaction,
    held: Claim,
    sha256: str | None,
    now: datetime,
    exhibits: Mapping[str, Sequence[Mapping[str, Any]]],
) -> bool:
    """The job has its result, and its chunks have served; False where the claim no longer holds.

    `exhibits` are the names and captions of the result's tables and figures. A job that adds figures to another's
    result has no result of its own: `sha256` is None.
    """
    if not holds(tx, held):
        return False
    tx.execute(delete(chunks).where(chunks.c.job_number == held.job_number))
    over = {"state": "succeeded", "result_sha256": sha256, "exhibits": exhibits, "finished_at": now}
    tx.execute(update(table).where(table.c.number == held.job_number).values(**over))
    return True


def give_back(tx: Transaction, held: Claim, now: datetime, error: str, is_final: bool = False) -> None:
    """The process that worked the chunk died or raised: it is begun again, or the job fails after `ATTEMPTS`."""
    freed = update(chunks).where(_holds(held)).values(claim=None, parts_done=0).returning(chunks.c.attempts)
    attempts = tx.execute(freed).scalar()
    if attempts is not None and (is_final or attempts >= ATTEMPTS):
        _fail(tx, [held.job_number], now, error if is_final else f"{error} ({attempts} attempts)")


def _fail(tx: Transaction, job_numbers: Sequence[int], now: datetime, error: str) -> None:
    over = {"state": "failed", "error": error, "finished_at": now}
    tx.execute(update(table).where(table.c.number.in_(job_numbers), OPEN).values(**over))


def put_back(tx: Transaction, held: Claim, now: datetime) -> None:
    """The database did not answer the process that worked the chunk: an interruption, and no attempt."""
    _interrupt(tx, _holds(held), now, f"The database failed this job {INTERRUPTIONS} times; is its disk full?")


def put_back_all(tx: Transaction, owner: str, but: Container[str] = ()) -> None:
    """The owner works none of its chunks any more, but for those under these claims."""
    _free(tx, chunks.c.claim.startswith(f"{owner}/", autoescape=True) & chunks.c.claim.not_in(but))


def take_over(tx: Transaction, now: datetime, but: Container[str] = ()) -> None:
    """All owners are known to be dead, and what they had begun is begun anew; the attempt does not count.

    Claims named in `but` are those of the new owner. A chunk that many owners died over fails, for it may be why.
    """
    theirs = chunks.c.claim.is_not(None) & chunks.c.claim.not_in(but)
    _interrupt(tx, theirs, now, f"The service died {INTERRUPTIONS} times while it worked this job.")


def _interrupt(tx: Transaction, which: Any, now: datetime, error: str) -> None:
    _free(tx, which, interruptions=chunks.c.interruptions + 1)
    worn = select(chunks.c.job_number).where(chunks.c.interruptions >= INTERRUPTIONS, ~chunks.c.done)
    if numbers := list(tx.execute(worn).scalars()):
        _fail(tx, numbers, now, error)


def _free(tx: Transaction, which: Any, **also: Any) -> None:
    freed = {"claim": None, "attempts": chunks.c.attempts - 1, "parts_done": 0}
    tx.execute(update(chunks).where(which).values(**freed, **also))
