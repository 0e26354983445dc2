"""Jobs and their chunks, as stored: the truth about them, whoever works them.

A chunk is worked under a claim. Whatever a worker writes names its claim, and is dropped where that no longer
holds: because the job was cancelled, or because the worker was taken for dead and the chunk given to another.
"""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Sequence
from datetime import datetime
from itertools import accumulate
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Select, and_, case, delete, func, insert, or_, select, update

from app.store.database import Transaction, insert_for
from app.store.records import Claim, Job
from app.store.tables import collections, qrels
from app.store.tables import job_chunks as chunks
from app.store.tables import jobs as table

ATTEMPTS = 3
"""How often a chunk is begun again after the process that worked it died or raised an error."""
INTERRUPTIONS = 20
"""How often a chunk is begun again after whoever owned that process died with it."""
_OPEN = table.c.state.in_(("queued", "running"))


def _select() -> Select[Any]:
    worked = select(func.sum(chunks.c.parts_done)).where(chunks.c.job_number == table.c.number).scalar_subquery()
    done = case((table.c.state == "succeeded", table.c.parts), else_=func.coalesce(worked, 0))
    kept = select(table, qrels.c.version.label("qrels_version"), done.label("parts_done"))
    return kept.join(qrels, qrels.c.id == table.c.qrels_id)


def _record(row: Row[Any]) -> Job:
    return Job(**row._mapping)


def find(tx: Transaction, identity: str) -> Job | None:
    """The job of this id."""
    row = tx.execute(_select().where(table.c.id == identity)).first()
    return _record(row) if row else None


def among(tx: Transaction, identities: Container[str]) -> dict[str, Job]:
    """Those of the jobs that there are, by id."""
    return {row.id: _record(row) for row in tx.execute(_select().where(table.c.id.in_(identities)))}


def page(tx: Transaction, *, before: int | None, limit: int, collection_id: int | None) -> list[Job]:
    """Jobs of one live collection, or of all of them, newest first."""
    live = collections.c.deleted_at.is_(None)
    query = _select().join(collections, collections.c.id == table.c.collection_id).where(live)
    if collection_id is not None:
        query = query.where(table.c.collection_id == collection_id)
    if before is not None:
        query = query.where(table.c.number < before)
    return [_record(row) for row in tx.execute(query.order_by(table.c.number.desc()).limit(limit))]


def add(tx: Transaction, now: datetime, sizes: Sequence[int], **values: Any) -> Job:
    """The job of this id, queued: a new one, or one that failed or was cancelled once more.

    `sizes` are the numbers of parts of its chunks. One that is queued, running or finished stays as it is.
    """
    values |= {"state": "queued", "parts": sum(sizes), "created_at": now}
    query = insert_for(tx)(table).values(**values).on_conflict_do_nothing(index_elements=["id"])
    number = tx.execute(query.returning(table.c.number)).scalar()
    if number is not None:
        firsts = accumulate(sizes, initial=0)
        new = {"job_number": number, "parts_done": 0, "done": False, "attempts": 0, "interruptions": 0}
        places = enumerate(zip(firsts, sizes, strict=False))
        tx.execute(insert(chunks), [new | {"position": p, "first_part": f, "parts": n} for p, (f, n) in places])
    else:
        _queue_again(tx, values["id"])
    return _record(tx.execute(_select().where(table.c.id == values["id"])).one())


def _queue_again(tx: Transaction, identity: str) -> None:
    over = table.c.state.in_(("failed", "cancelled"))
    again = {"state": "queued", "error": None, "started_at": None, "finished_at": None}
    query = update(table).where(table.c.id == identity, over).values(**again).returning(table.c.number)
    if (number := tx.execute(query).scalar()) is not None:
        # What was worked before stays: it would come out the same.
        undone = (chunks.c.job_number == number) & ~chunks.c.done
        tx.execute(update(chunks).where(undone).values(claim=None, attempts=0, interruptions=0, parts_done=0))


def claim(tx: Transaction, owner: str, now: datetime) -> Claim | None:
    """A chunk to be worked now, from the job of which least has been worked, so that short jobs do not wait for
    long ones; the chunk that puts a result together only when all others are done."""
    sibling = chunks.alias()
    of_job = sibling.c.job_number == chunks.c.job_number
    earlier = select(func.count()).where(of_job, sibling.c.position < chunks.c.position, ~sibling.c.done)
    begun = select(func.count()).where(of_job, or_(sibling.c.done, sibling.c.claim.is_not(None)))
    is_last = chunks.c.first_part + chunks.c.parts == table.c.parts
    ready = and_(_OPEN, ~chunks.c.done, chunks.c.claim.is_(None))
    ready = and_(ready, or_(~is_last, earlier.scalar_subquery() == 0))
    query = (
        select(chunks.c.job_number, chunks.c.position, chunks.c.first_part, chunks.c.parts, is_last.label("is_last"))
        .join(table, table.c.number == chunks.c.job_number)
        .where(ready)
        .order_by(begun.scalar_subquery(), chunks.c.job_number, chunks.c.position)
        .limit(1)
        .with_for_update(of=chunks, skip_locked=True)
    )
    if (row := tx.execute(query).first()) is None:
        return None
    found = Claim(f"{owner}/{uuid4().hex}", *row)
    taken = {"claim": found.name, "attempts": chunks.c.attempts + 1, "parts_done": 0}
    tx.execute(update(chunks).where(_of(found.job_number, found.position)).values(**taken))
    begin = {"state": "running", "started_at": func.coalesce(table.c.started_at, now)}
    tx.execute(update(table).where(table.c.number == found.job_number, _OPEN).values(**begin))
    return found


def _of(job_number: int, position: int) -> Any:
    return (chunks.c.job_number == job_number) & (chunks.c.position == position)


def _holds(held: Claim) -> Any:
    is_open = select(table.c.number).where(table.c.number == held.job_number, _OPEN)
    return _of(held.job_number, held.position) & (chunks.c.claim == held.name) & chunks.c.job_number.in_(is_open)


def holding(tx: Transaction, names: Container[str]) -> set[str]:
    """Those of the claims that still hold."""
    query = select(chunks.c.claim).join(table, table.c.number == chunks.c.job_number)
    return set(tx.execute(query.where(chunks.c.claim.in_(names), _OPEN)).scalars())


def job_of(tx: Transaction, held: Claim) -> Job:
    """The job that a claim is about."""
    return _record(tx.execute(_select().where(table.c.number == held.job_number)).one())


def progress(tx: Transaction, held: Claim, parts_done: int) -> None:
    """Notes how many parts of the chunk are done."""
    tx.execute(update(chunks).where(_holds(held)).values(parts_done=parts_done))


def complete(tx: Transaction, held: Claim, found: bytes) -> bool:
    """Keeps what the chunk came to; False where the claim no longer holds."""
    worked = {"done": True, "claim": None, "parts_done": held.parts, "found": found}
    query = update(chunks).where(_holds(held)).values(**worked)
    return tx.execute(query.returning(chunks.c.position)).first() is not None


def found(tx: Transaction, job_number: int) -> list[bytes]:
    """What the finished chunks of a job came to, in order."""
    query = select(chunks.c.found).where(chunks.c.job_number == job_number, chunks.c.done).order_by(chunks.c.position)
    return list(tx.execute(query).scalars())


def finish(tx: Transaction, held: Claim, sha256: str, now: datetime) -> bool:
    """The job has its result, and its chunks have served; False where the claim no longer holds."""
    if tx.execute(select(chunks.c.position).where(_holds(held)).with_for_update()).first() is None:
        return False
    tx.execute(delete(chunks).where(chunks.c.job_number == held.job_number))
    over = {"state": "succeeded", "result_sha256": sha256, "finished_at": now}
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
    tx.execute(update(table).where(table.c.number.in_(job_numbers), _OPEN).values(**over))


def release(tx: Transaction, now: datetime, owner: str | None = None) -> None:
    """Frees the chunks of an owner that stops, or else of all owners, which are known to be dead.

    The attempt that was cut short does not count. A chunk that many owners died over fails, for it may be why.
    """
    died = owner is None
    taken = chunks.c.claim.is_not(None) if died else chunks.c.claim.startswith(f"{owner}/", autoescape=True)
    freed = {"claim": None, "attempts": chunks.c.attempts - 1, "parts_done": 0}
    freed["interruptions"] = chunks.c.interruptions + (1 if died else 0)
    tx.execute(update(chunks).where(taken).values(**freed))
    worn = select(chunks.c.job_number).where(chunks.c.interruptions >= INTERRUPTIONS, ~chunks.c.done)
    if died and (numbers := list(tx.execute(worn).scalars())):
        _fail(tx, numbers, now, f"The service died {INTERRUPTIONS} times while it worked this job.")


def cancel(tx: Transaction, identity: str, now: datetime) -> Job | None:
    """The job, cancelled unless it was over already."""
    over = {"state": "cancelled", "finished_at": now}
    tx.execute(update(table).where(table.c.id == identity, _OPEN).values(**over))
    return find(tx, identity)


def is_anything_open(tx: Transaction) -> bool:
    """Whether any job is queued or running."""
    return tx.execute(select(table.c.number).where(_OPEN).limit(1)).first() is not None
