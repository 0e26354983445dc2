"""Locks that end with the process that holds them: for the owner of a database's jobs, and for every server.

Only one of the processes that serve a database runs its jobs. A server that names itself in a row of a SQLite database
also locks a file of its own, so that the others see whether the server still lives.
"""

from __future__ import annotations

import os
from contextlib import suppress
from glob import escape
from pathlib import Path

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from gainboard.errors import DatabaseBusy
from gainboard.store.database import Database

# One PostgreSQL database may hold several services, each in a schema of its own.
LOCK_KEY = "hashtextextended('gainboard jobs ' || current_schema(), 0)"
_KEEPALIVE = {"tcp_keepalives_idle": 10, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 3}
"""Seconds and tries of keep-alives. Otherwise an owner whose machine vanished would stay the owner for two hours."""


class Ownership:
    """Ownership, held by at most one object over the same database at any time. It ends when its process dies.

    On PostgreSQL, the workers of a fleet share it (`shared`). Then there is no single owner beside them.

    On SQLite it is a lock of a file beside the database. On PostgreSQL it is a lock of a connection, and is lost with
    that connection, so call `holds` before acting on it.
    """

    def __init__(self, database: Database, *, shared: bool = False) -> None:
        self._database = database
        self._lock = "pg_try_advisory_lock_shared" if shared else "pg_try_advisory_lock"
        self._file: int | None = None
        self._connection: Connection | None = None

    def acquire(self) -> bool:
        """Take the ownership if it is free, and return whether this object holds it now."""
        if self.holds():
            return True
        if (path := self._database.path) is not None:
            # A file of its own: whoever opens and closes the database's file drops SQLite's locks on it.
            self._file = _lock_file(path.with_name(f"{path.name}-jobs"))
        elif self._database.engine.dialect.name == "postgresql":
            self._connection = self._lock_connection()
        else:
            # No other process can have a database in memory.
            self._file = -1
        return self.holds()

    def holds(self) -> bool:
        """Return whether the ownership is still held."""
        if self._connection is None:
            return self._file is not None
        # A lost connection is noticed only when it is used.
        try:
            self._connection.execute(text("SELECT 1"))
        except DBAPIError:
            self._forget_connection()
            return False
        return True

    def release(self) -> None:
        """Give up the ownership, so that another process can take it."""
        if self._connection is not None:
            self._forget_connection()
        if self._file is not None and self._file >= 0:
            _unlock_file(self._file)
        self._file = None

    def _lock_connection(self) -> Connection | None:
        with self._database.translated():
            # A transaction as long as the ownership would keep PostgreSQL from removing old rows.
            connection = self._database.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            is_held = False
            try:
                # The connection leaves the pool, because it must live as long as the ownership.
                connection.detach()
                for setting, value in _KEEPALIVE.items():
                    connection.execute(text(f"SET {setting} = {value}"))
                is_held = bool(connection.execute(text(f"SELECT {self._lock}({LOCK_KEY})")).scalar())
            finally:
                if not is_held:
                    connection.close()
        return connection if is_held else None

    def _forget_connection(self) -> None:
        assert self._connection is not None
        with suppress(DBAPIError):
            # The connection may be lost already.
            self._connection.close()
        self._connection = None


class ServerLock:
    """The lock of one server's own file beside a SQLite database. It is held until the server's process ends."""

    def __init__(self, database: Path, server: str) -> None:
        self._path = _path_of(database, server)
        self._file: int | None = None

    def acquire(self) -> None:
        """Create the file and lock it, unless that is done."""
        while self._file is None:
            file = _lock_file(self._path)
            # Another server may have removed the file before it was locked (`forget_dead_servers`).
            if file is not None and self._path.exists() and self._path.stat().st_ino == os.fstat(file).st_ino:
                self._file = file
            elif file is not None:
                _unlock_file(file)

    def release(self) -> None:
        """Remove the file, and unlock it."""
        if self._file is not None:
            # Removed while it is locked, so that nobody locks the file in between.
            self._path.unlink(missing_ok=True)
            _unlock_file(self._file)
            self._file = None


def is_server_alive(database: Path, server: str) -> bool:
    """Return whether the server with this id holds its lock."""
    return is_locked(_path_of(database, server))


def forget_dead_servers(database: Path) -> None:
    """Remove the files of the servers that are dead."""
    for path in database.parent.glob(f"{escape(_path_of(database, '').name)}*"):
        # Its own server cannot lock a file while it is removed here.
        if (file := _lock_file(path)) is not None:
            path.unlink(missing_ok=True)
            _unlock_file(file)


def _path_of(database: Path, server: str) -> Path:
    return database.with_name(f"{database.name}-server-{server}")


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock of a file. Return False if there is no such file."""
    import fcntl  # noqa: PLC0415 (not on Windows, where all else may work)

    with suppress(FileNotFoundError):
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # This takes a shared lock for a moment. A server that starts at this moment tries again a little later.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(file)
    return False


def _lock_file(path: Path) -> int | None:
    import fcntl  # noqa: PLC0415 (as above)

    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise DatabaseBusy(
            f"The lock file beside the database cannot be opened: {error.strerror}. Check the rights of the data "
            "folder."
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        return None
    return file


def _unlock_file(file: int) -> None:
    import fcntl  # noqa: PLC0415 (as above)

    # Closing is not enough: a child that was just forked has the file open, too, until it becomes another program.
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)
