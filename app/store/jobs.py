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

from sqlalchemy import Row, Select, case, delete, func, insert, or_, select, update

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


def _ready() -> Select[Any]:
    """The chunk to be worked next: from the job of which least was begun, so that short jobs do not wait for long
    ones; the one that puts a result together only when all others of its job are done."""
    sibling = chunks.alias()
    of_job = sibling.c.job_number == chunks.c.job_number
    earlier = select(func.count()).where(of_job, sibling.c.position < chunks.c.position, ~sibling.c.done)
    begun = select(func.count()).where(of_job, or_(sibling.c.done, sibling.c.claim.is_not(None)))
    is_last = chunks.c.first_part + chunks.c.parts == table.c.parts
    return (
        select(chunks.c.job_number, chunks.c.position, chunks.c.first_part, chunks.c.parts, is_last.label("is_last"))
        .join(table, table.c.number == chunks.c.job_number)
        .where(_OPEN, ~chunks.c.done, chunks.c.claim.is_(None), or_(~is_last, earlier.scalar_subquery() == 0))
        .order_by(begun.scalar_subquery(), chunks.c.job_number, chunks.c.position)
        .limit(1)
    )


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
    begin = {"state": "running", "started_at": func.coalesce(table.c.started_at, now)}
    tx.execute(update(table).where(table.c.number == found.job_number, _OPEN).values(**begin))
    return found


def _of(held: Claim) -> Any:
    return (chunks.c.job_number == held.job_number) & (chunks.c.position == held.position)


def _holds(held: Claim) -> Any:
    is_open = select(table.c.number).where(table.c.number == held.job_number, _OPEN)
    return _of(held) & (chunks.c.claim == held.name) & chunks.c.job_number.in_(is_open)


def holds(tx: Transaction, held: Claim) -> bool:
    """Whether what is worked under the claim is still wanted, and wanted from its holder."""
    return tx.execute(select(chunks.c.position).where(_holds(held))).first() is not None


def is_lost(tx: Transaction, held: Claim) -> bool:
    """Whether somebody else ended the claim: the job is over without a result, or the chunk is to be worked anew."""
    state = tx.execute(select(table.c.state).where(table.c.number == held.job_number)).scalar()
    anew = select(chunks.c.position).where(_of(held), ~chunks.c.done, chunks.c.claim.is_distinct_from(held.name))
    return state in ("failed", "cancelled") or tx.execute(anew).first() is not None


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


def put_back(tx: Transaction, held: Claim) -> None:
    """The chunk was not worked, through no fault of its own: the attempt does not count."""
    _free(tx, _holds(held))


def put_back_all(tx: Transaction, owner: str, but: Container[str] = ()) -> None:
    """The owner works none of its chunks any more, but for those under these claims."""
    _free(tx, chunks.c.claim.startswith(f"{owner}/", autoescape=True) & chunks.c.claim.not_in(but))


def take_over(tx: Transaction, now: datetime) -> None:
    """All owners are known to be dead, and what they had begun is begun anew; the attempt does not count.

    A chunk that many owners died over fails, for it may be why.
    """
    _free(tx, chunks.c.claim.is_not(None), interruptions=chunks.c.interruptions + 1)
    worn = select(chunks.c.job_number).where(chunks.c.interruptions >= INTERRUPTIONS, ~chunks.c.done)
    if numbers := list(tx.execute(worn).scalars()):
        _fail(tx, numbers, now, f"The service died {INTERRUPTIONS} times while it worked this job.")


def _free(tx: Transaction, which: Any, **also: Any) -> None:
    freed = {"claim": None, "attempts": chunks.c.attempts - 1, "parts_done": 0}
    tx.execute(update(chunks).where(which).values(**freed, **also))


def cancel(tx: Transaction, identity: str, now: datetime) -> Job | None:
    """The job, cancelled unless it was over already."""
    over = {"state": "cancelled", "finished_at": now}
    tx.execute(update(table).where(table.c.id == identity, _OPEN).values(**over))
    return find(tx, identity)
