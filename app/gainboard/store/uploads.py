"""Uploads under way, for teams with a limited number of simultaneous uploads.

Each upload is a row that names the server which receives the file. A row counts only while this server lives: on
PostgreSQL, while the server renews the row's lease, by the clock of PostgreSQL; on SQLite, while the server holds its
lock (`ownership`). No clocks of two machines are compared.
"""

from __future__ import annotations

import logging
from threading import Event, Lock, Thread
from typing import Any
from uuid import uuid4

from sqlalchemy import ColumnElement, delete, func, insert, literal_column, select, update

from gainboard.errors import DatabaseBusy, Unavailable
from gainboard.store.database import Database, Transaction
from gainboard.store.ownership import ServerLock, forget_dead_servers, is_server_alive
from gainboard.store.tables import uploads as table

LEASE_SECONDS = 15
"""Seconds after the last renewal until the slots of a server are free again."""
RENEW_SECONDS = 4.0
"""Seconds between two renewals. Several may fail before a lease ends."""
# A transaction may have waited for a lock, so the time at which it began is too early.
_NOW: ColumnElement[Any] = literal_column("(clock_timestamp() AT TIME ZONE 'UTC')")
_LATER: ColumnElement[Any] = literal_column(
    f"(clock_timestamp() AT TIME ZONE 'UTC' + interval '{LEASE_SECONDS} seconds')"
)

log = logging.getLogger("gainboard")


class UploadSlots:
    """The slots that the uploads to one server hold. A thread renews their leases while there are any."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._owner = uuid4().hex
        self._path = database.path
        self._has_leases = database.engine.dialect.name == "postgresql"
        self._lock = ServerLock(self._path, self._owner) if self._path else None
        self._guard, self._stop = Lock(), Event()
        self._held: set[str] = set()
        self._left: set[str] = set()
        """Slots that are free, whose rows are not deleted yet."""
        self._thread: Thread | None = None

    def count(self, tx: Transaction, team_id: int) -> int:
        """Count the team's uploads under way."""
        with self._guard:
            # Own slots count as long as they are held here, even if a renewal is late.
            ours = table.c.id.in_(list(self._held))
        others = (table.c.owner != self._owner) & self._is_alive(tx)
        query = select(func.count()).where(table.c.team_id == team_id, ours | others)
        return tx.execute(query).scalar_one()

    def take(self, tx: Transaction, team_id: int) -> str:
        """Take a slot for an upload, and return its id. The caller gives it back, even if `tx` fails later."""
        identity = uuid4().hex
        with self._guard:
            if self._stop.is_set():
                raise DatabaseBusy("The server is stopping.")
            if self._lock is not None:
                self._lock.acquire()
            self._held.add(identity)
            if self._thread is None:
                self._thread = Thread(target=self._renew_repeatedly, name="upload slots", daemon=True)
                self._thread.start()
        lease = _LATER if self._has_leases else None
        row = {"id": identity, "team_id": team_id, "owner": self._owner, "leased_until": lease}
        try:
            self._delete_dead(tx)
            tx.execute(insert(table).values(row))
        except BaseException:
            self.leave(identity)
            raise
        return identity

    def leave(self, identity: str) -> None:
        """Give a slot back. It counts no more; `sweep` deletes its row."""
        with self._guard:
            self._held.discard(identity)
            self._left.add(identity)

    def sweep(self) -> None:
        """Delete the rows of the slots that were given back. If the database is busy, a later call does it."""
        with self._guard:
            left = set(self._left)
        if not left:
            return
        with self._database.writing() as tx:
            tx.execute(delete(table).where(table.c.id.in_(left)))
        with self._guard:
            self._left -= left

    def free_dead(self) -> None:
        """Delete the slots of servers that are dead, so that they are free."""
        with self._database.writing() as tx:
            self._delete_dead(tx)
        if self._path is not None:
            forget_dead_servers(self._path)

    def _delete_dead(self, tx: Transaction) -> None:
        tx.execute(delete(table).where(table.c.owner != self._owner, ~self._is_alive(tx)))

    def close(self) -> None:
        """Give all slots back, because the server stops."""
        self._stop.set()
        with self._guard:
            self._left |= self._held
            self._held.clear()
            thread = self._thread
        if thread is not None:
            # It may be waiting for the database. It is a daemon, so the stop need not wait for its end.
            thread.join(RENEW_SECONDS)
        try:
            self.sweep()
        finally:
            if self._lock is not None:
                # Even if the rows are still there: without the lock they count no more.
                self._lock.release()

    def _is_alive(self, tx: Transaction) -> ColumnElement[bool]:
        if self._has_leases:
            return table.c.leased_until > _NOW
        if self._path is None:
            # No other process can have a database in memory.
            return table.c.owner == self._owner
        owners = tx.execute(select(table.c.owner).distinct()).scalars()
        return table.c.owner.in_([owner for owner in owners if is_server_alive(self._path, owner)])

    def _renew_repeatedly(self) -> None:
        while not self._stop.wait(RENEW_SECONDS):
            with self._guard:
                # Decided under the guard: `take` sees this thread, or starts another one.
                if not (self._held or self._left):
                    self._thread = None
                    return
            try:
                self._renew()
                self.sweep()
            except Unavailable as busy:
                log.warning("leases of uploads cannot be renewed until the database answers: %s", busy.message)
            # Whatever it is, the next renewal must come.
            except Exception:
                log.exception("unexpected error in the renewal of leases")

    def _renew(self) -> None:
        with self._guard:
            held = set(self._held)
        if self._has_leases and held:
            with self._database.writing() as tx:
                tx.execute(update(table).where(table.c.id.in_(held)).values(leased_until=_LATER))
