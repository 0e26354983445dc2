"""Uploads under way, for teams with a limited number of simultaneous uploads.

Each upload is a row that names the process which receives the file. It counts only while this process lives.
"""

from __future__ import annotations

from threading import Lock
from uuid import uuid4

from sqlalchemy import delete, func, insert, select

from gainboard.store.database import Database, Transaction
from gainboard.store.processes import Lease, is_dead
from gainboard.store.tables import processes
from gainboard.store.tables import uploads as table


class UploadSlots:
    """The slots that the uploads to this process hold."""

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
            ours = table.c.id.in_(list(self._held))
        living = select(processes.c.id).where(~is_dead(tx, self._database.path))
        others = (table.c.process != self._lease.id) & table.c.process.in_(living)
        query = select(func.count()).where(table.c.team_id == team_id, ours | others)
        return tx.execute(query).scalar_one()

    def take(self, tx: Transaction, team_id: int) -> str:
        """Take a slot for an upload, and return its id. The caller gives it back, even if `tx` fails later."""
        identity = uuid4().hex
        tx.execute(insert(table).values(id=identity, team_id=team_id, process=self._lease.id))
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
                tx.execute(delete(table).where(table.c.id.in_(left)))
            with self._guard:
                self._left -= left
