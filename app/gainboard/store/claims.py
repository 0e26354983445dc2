"""Chunks of jobs, and the claims of processes on them.

A process works on a chunk under a claim. Everything it writes names the claim, and is dropped if the claim is lost: the
job was cancelled, or the process was taken for dead and its chunk given to another one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection as Container
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import uuid4

from sqlalchemy import Row, Select, String, bindparam, case, cast, delete, func, literal, or_, select, update

from gainboard.store.database import Transaction
from gainboard.store.job_records import Claim
from gainboard.store.jobs import OPEN
from gainboard.store.tables import job_chunks as chunks
from gainboard.store.tables import jobs as table
from gainboard.store.tables import processes, tokens

ATTEMPTS = 3
"""The number of times that a chunk is started again after its process died or raised an error."""
INTERRUPTIONS = 20
"""The number of times that a chunk is started again after the process that had claimed it died, too."""


_IS_LAST = chunks.c.first_part + chunks.c.parts == table.c.parts
_VISITS = tokens.c.collection_id.is_not(None) & (tokens.c.collection_id != table.c.collection_id)
_PRINCIPAL = case(
    (tokens.c.id.is_(None), literal("service")),
    (_VISITS, literal("visitors from ") + cast(tokens.c.collection_id, String)),
    (tokens.c.team_id.is_not(None), literal("team ") + cast(tokens.c.team_id, String)),
    (tokens.c.role == "organiser", literal("organisers of ") + cast(table.c.collection_id, String)),
    else_=literal("token ") + tokens.c.id,
)
"""The principal whose job it is: a team, all organisers of the job's collection together, or else a token.

Jobs that make derived files are the service's. All tokens of another collection are one principal, since its organisers
can make any number.
"""


class Turns:
    """The principals in the order in which this process last gave them a chunk. Who got none yet comes first."""

    _MOST = 1_000

    def __init__(self) -> None:
        self._last: dict[str, int] = {}
        self._given = 0

    def last(self, principal: str) -> int:
        """Return the number of the last chunk that the principal got; 0 if it got none."""
        return self._last.get(principal, 0)

    def note(self, principal: str) -> None:
        """Note that the principal got a chunk."""
        self._given += 1
        # Entered again at the end, so that the first entry is the oldest one.
        self._last.pop(principal, None)
        self._last[principal] = self._given
        # Who is forgotten comes first the next time, which costs the others one chunk.
        if len(self._last) > self._MOST:
            del self._last[next(iter(self._last))]


def _open_jobs() -> Select[Any]:
    """Return the query for the open jobs of each principal, and whether a chunk of them is ready.

    The chunk that puts a result together is ready when all others of its job are done.
    """
    # This reads each chunk once. Counting the other chunks for each of them would block SQLite's only writer for
    # seconds.
    is_free = ~chunks.c.done & chunks.c.claim.is_(None)
    numbers = {
        "begun": ~is_free,
        "running": chunks.c.claim.is_not(None),
        "undone": ~chunks.c.done,
        "free": is_free & ~_IS_LAST,
        "last_free": is_free & _IS_LAST,
    }
    counts = [func.sum(case((what, 1), else_=0)).label(name) for name, what in numbers.items()]
    joined = select(chunks.c.job_number, *counts).join(table, table.c.number == chunks.c.job_number)
    counted = joined.where(OPEN).group_by(chunks.c.job_number).subquery()
    is_at_last = ((counted.c.undone == 1) & (counted.c.last_free == 1)).label("is_at_last")
    is_ready = or_(counted.c.free > 0, is_at_last).label("is_ready")
    startable = case((is_at_last, 1), else_=counted.c.free).label("startable")
    shown = (counted.c.begun, counted.c.running, startable, is_ready, is_at_last)
    query = select(table.c.number, _PRINCIPAL.label("principal"), *shown)
    query = query.join(counted, counted.c.job_number == table.c.number)
    return query.outerjoin(tokens, tokens.c.id == table.c.token_id)


def _next() -> Select[Any]:
    """Return the query for the next chunk of a job: the last one, if `is_at_last`, or else the first other one."""
    shown = (chunks.c.job_number, chunks.c.position, chunks.c.first_part, chunks.c.parts, _IS_LAST.label("is_last"))
    joined = select(*shown).join(table, table.c.number == chunks.c.job_number)
    of_job = joined.where(table.c.number == bindparam("number"), OPEN, bindparam("is_at_last") == _IS_LAST)
    free = of_job.where(~chunks.c.done, chunks.c.claim.is_(None))
    # Of the chunk alone: if the job were locked, too, its other chunks would be skipped meanwhile.
    return free.order_by(chunks.c.position).limit(1).with_for_update(of=chunks, skip_locked=True)


_OPEN_JOBS, _NEXT = _open_jobs(), _next()


def ready(tx: Transaction) -> dict[int, int]:
    """Return the number of chunks that can be started now, by number of the job, if there are any."""
    return {row.number: row.startable for row in tx.execute(_OPEN_JOBS) if row.is_ready}


def count(tx: Transaction) -> tuple[int, int]:
    """Return how many chunks can be started now, and how many are running."""
    opened = list(tx.execute(_OPEN_JOBS))
    return sum(job.startable for job in opened if job.is_ready), sum(job.running for job in opened)


def list_work(tx: Transaction) -> dict[str, list[str]]:
    """Return the kinds of the jobs whose chunks each process has, a kind for each chunk, by id of the process."""
    kinds: dict[str, list[str]] = {}
    claimed = select(chunks.c.claim, table.c.kind).join(table, table.c.number == chunks.c.job_number)
    for name, kind in tx.execute(claimed.where(chunks.c.claim.is_not(None))):
        kinds.setdefault(name.partition("/")[0], []).append(kind)
    return kinds


def claim(tx: Transaction, owner: str, now: datetime, turns: Turns | None = None) -> Claim | None:
    """Claim a chunk that can be started now, and return the claim; None if there is no such chunk.

    It belongs to the principal of whom the fewest chunks are running. Among equals it is the turn of the one who got
    nothing for the longest time. So a principal waits for one chunk of each other one, however many jobs they queued.
    Of a principal's jobs, the one with the fewest started chunks is next, so that short jobs do not wait for long ones.
    """
    turns = turns or Turns()
    opened = list(tx.execute(_OPEN_JOBS))
    running = Counter[str]()
    for job in opened:
        running[job.principal] += job.running

    def turn_of(job: Row[Any]) -> tuple[int, ...]:
        return running[job.principal], turns.last(job.principal), job.begun, job.number

    for job in sorted((job for job in opened if job.is_ready), key=turn_of):
        # On PostgreSQL another transaction may hold a chunk at the moment. The next one is taken instead of waiting.
        row = tx.execute(_NEXT, {"number": job.number, "is_at_last": job.is_at_last}).first()
        if row is not None:
            turns.note(job.principal)
            held = Claim(f"{owner}/{uuid4().hex}", *row)
            # The attempt is counted before the work, because a process that dies cannot count it.
            attempt = {"claim": held.name, "attempts": chunks.c.attempts + 1, "parts_done": 0}
            tx.execute(update(chunks).where(_of(held)).values(**attempt))
            is_first = (table.c.number == held.job_number) & (table.c.state == "queued")
            tx.execute(update(table).where(is_first).values(state="running", started_at=now))
            return held
    return None


def _of(held: Claim) -> Any:
    return (chunks.c.job_number == held.job_number) & (chunks.c.position == held.position)


def _holds(held: Claim) -> Any:
    is_open = select(table.c.number).where(table.c.number == held.job_number, OPEN)
    return _of(held) & (chunks.c.claim == held.name) & chunks.c.job_number.in_(is_open)


def holds(tx: Transaction, held: Claim) -> bool:
    """Return whether the work under the claim is still wanted from its holder.

    Use it in a writing transaction: then nobody ends the claim or the job before the transaction ends.
    """
    # Both rows stay locked until the transaction ends. Until then neither the claim nor the job can end.
    if tx.execute(select(chunks.c.position).where(_holds(held)).with_for_update()).first() is None:
        return False
    is_open = select(table.c.number).where(table.c.number == held.job_number, OPEN).with_for_update()
    return tx.execute(is_open).first() is not None


def is_lost(tx: Transaction, held: Claim) -> bool:
    """Return whether the claim was ended: the job is over without a result, or the chunk must be started again."""
    state = tx.execute(select(table.c.state).where(table.c.number == held.job_number)).scalar()
    # `!=` would be null for a chunk without a claim, and null is not true.
    anew = select(chunks.c.position).where(_of(held), ~chunks.c.done, chunks.c.claim.is_distinct_from(held.name))
    return state in ("failed", "cancelled") or tx.execute(anew).first() is not None


def progress(tx: Transaction, held: Claim, parts_done: int) -> None:
    """Note how many parts of the chunk are done."""
    tx.execute(update(chunks).where(_holds(held)).values(parts_done=parts_done))


def complete(tx: Transaction, held: Claim, findings: bytes) -> bool:
    """Store the findings of the chunk. Return False if the claim is lost."""
    worked = {"done": True, "claim": None, "parts_done": held.parts, "found": findings}
    query = update(chunks).where(_holds(held)).values(**worked)
    return tx.execute(query.returning(chunks.c.position)).first() is not None


def results_of_chunks(tx: Transaction, job_number: int) -> list[bytes]:
    """Return the findings of a job's finished chunks, in order."""
    query = select(chunks.c.found).where(chunks.c.job_number == job_number, chunks.c.done).order_by(chunks.c.position)
    return list(tx.execute(query).scalars())


def finish(
    tx: Transaction, held: Claim, sha256: str | None, now: datetime, exhibits: Mapping[str, Sequence[Mapping[str, Any]]]
) -> bool:
    """Store that the job has its result, and delete its chunks. Return False if the claim is lost.

    `exhibits` has the names and captions of the result's tables and figures. `sha256` is None for a job that adds
    figures to another job's result and has none of its own.
    """
    if not holds(tx, held):
        return False
    # The result has all that the chunks found.
    tx.execute(delete(chunks).where(chunks.c.job_number == held.job_number))
    over = {"state": "succeeded", "result_sha256": sha256, "exhibits": exhibits, "finished_at": now}
    tx.execute(update(table).where(table.c.number == held.job_number).values(**over))
    return True


def give_back(tx: Transaction, held: Claim, now: datetime, error: str, is_final: bool = False) -> None:
    """Return a chunk whose process died or raised an error. It is started again; after `ATTEMPTS` the job fails."""
    freed = update(chunks).where(_holds(held)).values(claim=None, parts_done=0).returning(chunks.c.attempts)
    attempts = tx.execute(freed).scalar()
    if attempts is not None and (is_final or attempts >= ATTEMPTS):
        _fail(tx, [held.job_number], now, error if is_final else f"{error} ({attempts} attempts)")


def _fail(tx: Transaction, job_numbers: Sequence[int], now: datetime, error: str) -> None:
    over = {"state": "failed", "error": error, "finished_at": now}
    tx.execute(update(table).where(table.c.number.in_(job_numbers), OPEN).values(**over))


def put_back(tx: Transaction, held: Claim, now: datetime) -> None:
    """Return a chunk whose process got no answer from the database. This is an interruption, not a failed attempt."""
    _interrupt(
        tx,
        _holds(held),
        now,
        f"The database failed {INTERRUPTIONS} times during this job. Check that its disk is not full, and send the "
        "request again.",
    )


def put_back_all(tx: Transaction, owner: str, but: Container[str] = ()) -> None:
    """Return all chunks of the owner, except those under these claims."""
    # With the slash, because `worker-1` begins `worker-12`, too.
    _free(tx, chunks.c.claim.startswith(f"{owner}/", autoescape=True) & chunks.c.claim.not_in(but))


def free_dead(tx: Transaction, now: datetime) -> int:
    """Return the chunks whose process is not in the register, and their number. This counts as no failed attempt.

    A chunk over which many processes died fails, because it may be the cause.
    """
    lives = select(processes.c.id).where(chunks.c.claim.startswith(processes.c.id + "/")).exists()
    return _interrupt(
        tx,
        chunks.c.claim.is_not(None) & ~lives,
        now,
        f"The service died {INTERRUPTIONS} times during this job, perhaps because memory ran out. Ask for a smaller "
        "job.",
    )


def _interrupt(tx: Transaction, which: Any, now: datetime, error: str) -> int:
    freed = _free(tx, which, interruptions=chunks.c.interruptions + 1)
    worn = select(chunks.c.job_number).where(chunks.c.interruptions >= INTERRUPTIONS, ~chunks.c.done)
    if numbers := list(tx.execute(worn).scalars()):
        _fail(tx, numbers, now, error)
    return freed


def _free(tx: Transaction, which: Any, **also: Any) -> int:
    # The claim has counted an attempt, and this was none.
    freed = {"claim": None, "attempts": chunks.c.attempts - 1, "parts_done": 0}
    return tx.execute(update(chunks).where(which).values(**freed, **also)).rowcount
