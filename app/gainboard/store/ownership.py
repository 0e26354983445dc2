"""Being the one process, of all that serve a database, which has its jobs worked."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from gainboard.errors import DatabaseBusy
from gainboard.store.database import Database

LOCK_KEY = "hashtextextended('gainboard jobs ' || current_schema(), 0)"
_KEEPALIVE = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}
"""Seconds and tries. An owner whose machine vanished would else stay the owner for two hours."""


class Ownership:
    """Held by at most one object over the same database at any time, and given up by the death of its process.

    On SQLite it is a lock of a file beside the database's, on PostgreSQL a lock of a connection, which is lost
    with that connection: ask `holds` before acting on it.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._file: int | None = None
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        """Whether it is held now, by this object."""
        if self.holds():
            return True
        if (path := self._database.path) is not None:
            self._file = _lock_file(path.with_name(f"{path.name}-jobs"))
        elif self._database.engine.dialect.name == "postgresql":
            self._connection = self._lock_connection()
        else:
            self._file = -1  # a database in memory, which no other process has
        return self.holds()

    def holds(self) -> bool:
        """Whether it is still held."""
        if self._connection is None:
            return self._file is not None
        try:
            self._connection.execute(text("SELECT 1"))
        except DBAPIError:
            self._forget_connection()
            return False
        return True

    def release(self) -> None:
        """Gives it up, for another process to take."""
        if self._connection is not None:
            self._forget_connection()
        if self._file is not None and self._file >= 0:
            _unlock_file(self._file)
        self._file = None

    def _lock_connection(self) -> Connection | None:
        with self._database.translated():
            connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            is_held = False
            try:
                # Not one of the pool's from now on: it lives as long as the ownership.
                connection.detach()
                for setting, value in _KEEPALIVE.items():
                    connection.execute(text(f"SET {setting} = {value}"))
                is_held = bool(connection.execute(text(f"SELECT pg_try_advisory_lock({LOCK_KEY})")).scalar())
            finally:
                if not is_held:
                    connection.close()
        return connection if is_held else None

    def _forget_connection(self) -> None:
        assert self._connection is not None
        with suppress(DBAPIError):
            self._connection.close()
        self._connection = None


def _lock_file(path: Path) -> int | None:
    import fcntl  # noqa: PLC0415 (not on Windows, where all else may work)

    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseBusy(f"The lock file beside the database cannot be opened: {error.strerror}.") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _unlock_file(file: int) -> None:
    import fcntl  # noqa: PLC0415 (as above)

    # Closing it would not do where a child that was just forked has it too, until it becomes another program.
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)
