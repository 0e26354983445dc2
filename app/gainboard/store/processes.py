"""The register of living processes: the one answer to the question who lives.

Each server and each worker has a row with a lease, which a thread renews by the clock of the database, so that clocks
of hosts may differ. On SQLite, a process also locks a file of its own, so that others see a crash at once. Claims on
chunks, upload slots, idempotency keys and imports under way name their process. One function, `sweep`, frees what the
dead held, in whichever process notices. The docstring of `jobs/worker.py` says what must stay true.
"""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, delete, func, insert, literal, literal_column, select, update

from gainboard.errors import DatabaseBusy, Unavailable
from gainboard.store import claims
from gainboard.store.collections import IMPORTING
from gainboard.store.database import Database, Transaction, exclude_others, machine_of
from gainboard.store.jobs import forget_lost_tickets, has_tickets, put_out_tickets
from gainboard.store.tables import UtcTime, collections, idempotency_keys, uploads
from gainboard.store.tables import processes as table
from gainboard.vocabulary import ProcessKind

LEASE_SECONDS = 15
"""Seconds after the last renewal until a process counts as dead."""
RENEW_SECONDS = 4.0
"""Seconds between two renewals. Several may fail before a lease ends."""
TROUBLE_SECONDS = 1.0
"""Seconds before the next try, after the database did not answer."""
_SWEEP_LOCK = 0x73776570

log = logging.getLogger("gainboard")


@dataclass(frozen=True, slots=True)
class Process:
    """A living process: where it runs, since when, and in how many slots it may run jobs."""

    id: str
    kind: ProcessKind
    host: str
    pid: int
    release: str
    slots: int
    started_at: datetime
    leased_until: datetime
    now: datetime

    @property
    def silent(self) -> float:
        """The time in seconds since the last renewal of the lease."""
        return LEASE_SECONDS - (self.leased_until - self.now).total_seconds()


def _clock(tx: Transaction, seconds: int = 0) -> ColumnElement[Any]:
    # A transaction may have waited for a lock, so on PostgreSQL the time at which it began is too early.
    now = {
        "postgresql": f"(clock_timestamp() AT TIME ZONE 'UTC' + interval '{seconds} seconds')",
        "sqlite": f"strftime('%Y-%m-%d %H:%M:%f000', 'now', '{seconds:+} seconds')",
    }
    return literal_column(now[tx.dialect.name], UtcTime)


def _list_unlocked(tx: Transaction, path: Path | None) -> list[str]:
    """Return the ids of the processes on a SQLite file whose own files nobody has locked, because they have ended."""
    ids = tx.execute(select(table.c.id)).scalars() if path is not None else ()
    return [identity for identity in ids if path is not None and not _is_locked(_path_of(path, identity))]


def is_dead(tx: Transaction, path: Path | None) -> ColumnElement[bool]:
    """Return the condition that a process of the register is dead. `path` is that of a SQLite database."""
    return table.c.id.in_(_list_unlocked(tx, path)) | (table.c.leased_until <= _clock(tx))


def list_processes(tx: Transaction, path: Path | None) -> list[Process]:
    """Return the living processes in the order in which they registered."""
    living = select(table, _clock(tx).label("now")).where(~is_dead(tx, path))
    return [Process(*row) for row in tx.execute(living.order_by(table.c.started_at, table.c.id))]


def sweep(tx: Transaction, dead: ColumnElement[bool]) -> tuple[Sequence[str], int]:
    """Forget the processes that meet the condition, and free everything that no process of the register holds.

    Return the ids of these processes, and the number of chunks that were freed. Chunks are started again, and a late
    result is refused, because its claim is gone. An import that was under way is deleted, so that its last transaction
    finds nothing (`imports.hold`). Jobs with chunks to start get tickets.
    """
    # One sweep at a time: a second one could free what was freed and is held again.
    exclude_others(tx, _SWEEP_LOCK)
    died = list(tx.execute(delete(table).where(dead).returning(table.c.id)).scalars())
    registered, now = select(table.c.id), machine_of(tx).now()
    # Collections come before chunks and jobs, as in every transaction that locks both.
    importer = registered.where(collections.c.name.startswith(literal(IMPORTING) + table.c.id + "/"))
    is_import = collections.c.name.startswith(IMPORTING) & collections.c.deleted_at.is_(None)
    tx.execute(update(collections).where(is_import, ~importer.exists()).values(deleted_at=now))
    tx.execute(delete(uploads).where(uploads.c.process.not_in(registered)))
    # Keys from before this register name no process.
    holder = registered.where(table.c.id == idempotency_keys.c.process).exists()
    tx.execute(delete(idempotency_keys).where(idempotency_keys.c.status.is_(None), ~holder))
    freed = claims.free_dead(tx, now)
    if has_tickets(tx):
        forget_lost_tickets(tx)
        # The other workers may be idle.
        for number, count in claims.ready(tx).items():
            put_out_tickets(tx, number, count)
    return died, freed


class Lease:
    """This process in the register, from `begin` to `end`. A thread renews its lease, and sweeps after the dead.

    A process that was taken for dead, because it stood still or did not reach the database, notices at its next
    renewal. It begins anew under another id: what it held is gone.
    """

    def __init__(self, database: Database) -> None:
        self.id = uuid4().hex[:12]
        """The name under which this process holds things; another one once it has begun anew."""
        self.chores: list[Callable[[], None]] = []
        """Functions that are called after each renewal."""
        self._database, self._path = database, database.path
        self._row: dict[str, Any] = {}
        self._note_freed: Callable[[int], None] = lambda count: None
        self._until: datetime | None = None
        self._file: int | None = None
        self._stop = Event()
        self._thread: Thread | None = None

    @property
    def is_held(self) -> bool:
        """True once this process is registered, until it finds that it was taken for dead."""
        return self._until is not None

    def begin(
        self, kind: ProcessKind, release: str, slots: int = 0, note_freed: Callable[[int], None] = lambda count: None
    ) -> None:
        """Register this process, which is of this release. `note_freed` is told how many chunks a sweep has freed.

        If the database does not answer, the thread registers the process later.
        """
        self._row = {"kind": kind, "host": socket.gethostname(), "pid": os.getpid(), "release": release, "slots": slots}
        self._note_freed = note_freed
        self._stop.clear()
        with suppress(Unavailable):
            self._register()
        self._thread = Thread(target=self._renew_repeatedly, name="lease", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Release everything that this process holds, and its row. No chunk counts as interrupted."""
        self._stop.set()
        if self._thread is not None:
            # It may be waiting for the database. It is a daemon, so the stop need not wait for its end.
            self._thread.join(RENEW_SECONDS)
        try:
            # If the database does not answer now, the others find this process dead.
            with suppress(Unavailable), self._database.writing() as tx:
                claims.put_back_all(tx, self.id)
                sweep(tx, table.c.id == self.id)
        finally:
            self._until = None
            self._unlock()

    def _register(self) -> None:
        if self._path is not None and self._file is None:
            import fcntl  # noqa: PLC0415 (not on Windows, where all else may work)

            try:
                self._file = os.open(_path_of(self._path, self.id), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except OSError as error:
                raise DatabaseBusy(
                    f"The lock file beside the database cannot be opened: {error.strerror}. Check the rights of the "
                    "data folder."
                ) from error
            # This waits at most for somebody who looks at the lock (`_is_locked`).
            fcntl.flock(self._file, fcntl.LOCK_EX)
        with self._database.writing() as tx:
            row = self._row | {"id": self.id, "started_at": _clock(tx), "leased_until": _clock(tx, LEASE_SECONDS)}
            until = tx.execute(insert(table).values(**row).returning(table.c.leased_until)).scalar_one()
            # Only by files: after an outage of the database, the others need a moment to renew their leases.
            swept = sweep(tx, table.c.id.in_(_list_unlocked(tx, self._path)))
        self._until = until
        self._tell(*swept)

    def _renew_repeatedly(self) -> None:
        pause, is_troubled = RENEW_SECONDS, False
        while not self._stop.wait(pause):
            pause = RENEW_SECONDS
            try:
                self._renew()
                for chore in self.chores:
                    chore()
                is_troubled = False
            except Unavailable as busy:
                pause = TROUBLE_SECONDS
                if not is_troubled:
                    log.warning("the lease cannot be renewed until the database answers: %s", busy.message)
                is_troubled = True
            # Whatever it is, the next renewal must come.
            except Exception:
                log.exception("unexpected error in the renewal of the lease")

    def _renew(self) -> None:
        if self._until is None:
            self._begin_anew()
            return
        other = table.alias()
        with self._database.writing_once() as tx:
            over = select(func.count()).where(other.c.leased_until <= _clock(tx)).scalar_subquery()
            renewal = update(table).where(table.c.id == self.id).values(leased_until=_clock(tx, LEASE_SECONDS))
            # In one statement, because every process sends it all the time.
            row = tx.execute(renewal.returning(table.c.leased_until, over.label("over"))).first()
        if row is None:
            log.warning("this process was taken for dead, and begins anew")
            self._begin_anew()
            return
        # Who was late itself judges nobody: perhaps no process could reach the database.
        was_late = row.leased_until - timedelta(seconds=LEASE_SECONDS) > self._until
        self._until = row.leased_until
        if was_late or not (row.over or self._path is not None):
            return
        with self._database.reading() as tx:
            is_any_dead = tx.execute(select(table.c.id).where(is_dead(tx, self._path))).first() is not None
        if is_any_dead:
            with self._database.writing() as tx:
                swept = sweep(tx, is_dead(tx, self._path))
            self._tell(*swept)

    def _begin_anew(self) -> None:
        self._until = None
        self._unlock()
        # Also after a registration without an answer, because nobody knows whether it was stored.
        self.id = uuid4().hex[:12]
        self._register()

    def _tell(self, died: Sequence[str], freed: int) -> None:
        for identity in died:
            log.warning("process %s has died; its chunks are started again", identity)
            if self._path is not None:
                _path_of(self._path, identity).unlink(missing_ok=True)
        if freed:
            self._note_freed(freed)

    def _unlock(self) -> None:
        if self._path is not None and self._file is not None:
            import fcntl  # noqa: PLC0415 (as above)

            _path_of(self._path, self.id).unlink(missing_ok=True)
            # Closing is not enough: a child that was just forked has the file open until it becomes another program.
            fcntl.flock(self._file, fcntl.LOCK_UN)
            os.close(self._file)
            self._file = None


def _path_of(database: Path, identity: str) -> Path:
    return database.with_name(f"{database.name}-process-{identity}")


def _is_locked(path: Path) -> bool:
    import fcntl  # noqa: PLC0415 (as above)

    with suppress(FileNotFoundError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
    return False


class UploadSlots:
    """The slots that the uploads to this process hold, for teams with a limited number of simultaneous uploads.

    Each upload is a row that names the process which receives the file. It counts only while this process lives.
    """

    def __init__(self, database: Database, lease: Lease) -> None:
        self._database, self._lease = database, lease
        self._guard = Lock()
        self._held: set[str] = set()
        self._left: set[str] = set()
        """Slots that are free, whose rows are not deleted yet."""
        lease.chores.append(self.delete_left)

    def count(self, tx: Transaction, team_id: int) -> int:
        """Count the team's uploads under way."""
        with self._guard:
            # Own slots count as long as they are held here, even if a renewal is late.
            ours = uploads.c.id.in_(list(self._held))
        living = select(table.c.id).where(~is_dead(tx, self._database.path))
        others = (uploads.c.process != self._lease.id) & uploads.c.process.in_(living)
        query = select(func.count()).where(uploads.c.team_id == team_id, ours | others)
        return tx.execute(query).scalar_one()

    def take(self, tx: Transaction, team_id: int) -> str:
        """Take a slot for an upload, and return its id. The caller gives it back, even if `tx` fails later."""
        identity = uuid4().hex
        tx.execute(insert(uploads).values(id=identity, team_id=team_id, process=self._lease.id))
        with self._guard:
            self._held.add(identity)
        return identity

    def leave(self, identity: str) -> None:
        """Give a slot back. It counts no more; `delete_left` deletes its row."""
        with self._guard:
            self._held.discard(identity)
            self._left.add(identity)

    def delete_left(self) -> None:
        """Delete the rows of the slots that were given back. If the database is busy, the next renewal does it."""
        with self._guard:
            left = set(self._left)
        if left:
            with self._database.writing() as tx:
                tx.execute(delete(uploads).where(uploads.c.id.in_(left)))
            with self._guard:
                self._left -= left
