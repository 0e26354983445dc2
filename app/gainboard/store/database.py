"""The engine and the transactions of the database. Only this module treats SQLite and PostgreSQL differently."""

from __future__ import annotations

import logging
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, Dialect, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, TimeoutError
from sqlalchemy.pool import NullPool, Pool, QueuePool

from gainboard.errors import NO_SPACE, BadSetting, DatabaseBusy, DatabaseUnusable, NoSpace, Unavailable
from gainboard.store.machine import Machine, make_private_file
from gainboard.store.objects import Objects
from gainboard.store.tables import read_json

BUSY_SECONDS = 30
CONNECT_SECONDS = 5
ADDRESS = "postgresql+psycopg://user:password@host/name"
_WRITES = {"gainboard_writes": True}
_HURRIES = {**_WRITES, "gainboard_hurries": True}
_POOLED = 10
MOST_REMEMBERED = 200
"""The most things that a connection remembers."""
_REMEMBERED = "gainboard_remembered"
# By default, PostgreSQL shows each statement of a transaction a newer state.
_READS = {"postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}}
SPARE_BYTES: Final = 1 << 20
"""The room that a service must have on each of its disks to be ready."""
# SQLite tells of a quota, or of a limit on files, as of any write that failed.
_FULL: Final = (
    *(sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_SHMSIZE),
    *("53100", "database or disk is full"),
)
"""The codes of SQLite, and of PostgreSQL, for a disk that is full, and what SQLite says where it gives no code."""
_ADVISORY_LOCK = 0x6761696E
"""The key of the advisory lock. No other program on the same PostgreSQL database may use the same number."""

_TRY_ROOM = text(
    "INSERT INTO idempotency_keys (principal, route, key, fingerprint, body, created_at) "
    "VALUES ('', '', :key, '', :filler, CURRENT_TIMESTAMP)"
)
_LEAVE_ROOM = text("DELETE FROM idempotency_keys WHERE principal = '' AND key = :key")

log = logging.getLogger("gainboard")

_MUST_BE_QUICK: ContextVar[bool] = ContextVar("must_be_quick", default=False)


class NotQuick(Exception):
    """Work that must be quick would take long after all. Nothing of it has been done."""


@contextmanager
def quickly() -> Iterator[None]:
    """Raise NotQuick in the block before anything that may take long, or wait."""
    before = _MUST_BE_QUICK.set(True)
    try:
        yield
    finally:
        _MUST_BE_QUICK.reset(before)


def may_take_long() -> None:
    """Raise NotQuick where work must be quick. Call it before what writes, waits, or is not in memory."""
    if _MUST_BE_QUICK.get():
        raise NotQuick


Transaction = Connection
"""The first argument of the functions in `store`. Other packages only pass it on."""


MACHINE: Final = Machine()


class Database:
    """A database and its two kinds of transaction.

    On every database, a reading transaction sees one consistent state, and a writing transaction is atomic. Writing
    transactions on the same collection run one after the other (`collections.lock`).
    """

    def __init__(
        self, url: str, busy_seconds: float = BUSY_SECONDS, *, objects: str | None = None, machine: Machine = MACHINE
    ) -> None:
        self.machine = machine
        self._busy_seconds = busy_seconds
        self.objects = Objects(objects) if objects else None
        """The place to which the content of new files is written; None means the database itself."""
        try:
            self.engine = _engine(
                url, busy_seconds, QueuePool, pool_size=_POOLED, max_overflow=20, pool_timeout=busy_seconds
            )
        except ModuleNotFoundError as error:
            raise BadSetting(
                f"The driver for PostgreSQL is missing ({error}). Install it, in the folder of Gainboard's source: "
                "pip install '.[postgres]'"
            ) from error
        if self.engine.dialect.name == "sqlite":
            event.listen(self.engine, "begin", _begin_sqlite)
        reads = _READS.get(self.engine.dialect.name, {})
        self._reads = self.engine.execution_options(gainboard_machine=machine, **reads)
        self._writes = self.engine.execution_options(gainboard_machine=machine, **_WRITES)
        self._hurries = self.engine.execution_options(gainboard_machine=machine, **_HURRIES)
        self._writes_once = self._writes
        if self.engine.dialect.name == "postgresql":
            self._writes_once = self._writes.execution_options(isolation_level="AUTOCOMMIT")
        # A separate engine, because listeners on transactions make each statement of an engine a quarter slower. It
        # must not share the pool: an engine's isolation level applies to every new connection of its pool.
        self._plain = _engine(url, 0, NullPool, isolation_level="AUTOCOMMIT")
        self._had_file = False
        self._lacks_room = False

    @property
    def is_quick(self) -> bool:
        """True if reading takes only microseconds, so that using another thread would cost more."""
        return self.engine.dialect.name == "sqlite"

    @property
    def _is_crowded(self) -> bool:
        """True if whoever wants a connection may have to wait for it."""
        pool = self.engine.pool
        return isinstance(pool, QueuePool) and pool.checkedout() >= _POOLED

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """Open a transaction that only reads."""
        if self._is_crowded:
            may_take_long()
        with self.translated(), self._reads.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """Open a transaction that is committed at the end of the block, or rolled back after an error."""
        may_take_long()
        self._require_file()
        with self.translated(), self._writes.begin() as connection:
            self._end_if_it_stands_still(connection)
            last: list[Callable[[Transaction], None]] = []
            connection.execution_options(gainboard_last=last)
            yield connection
            for act in last:
                act(connection)

    @contextmanager
    def writing_once(self) -> Iterator[Transaction]:
        """Open a transaction of one statement, which PostgreSQL takes without those that begin and end it."""
        self._require_file()
        with self.translated(), self._writes_once.begin() as connection:
            yield connection

    @contextmanager
    def hurrying(self) -> Iterator[Transaction]:
        """Open a writing transaction that does not wait for others. Use it for data that may be lost.

        Raises DatabaseBusy, without a log entry, if others are writing or use all connections, and NoSpace.
        """
        may_take_long()
        self._require_file()
        # Waiting for a free connection would be waiting for others, too.
        if self._is_crowded:
            raise DatabaseBusy("Nothing was written, because others are writing.")
        try:
            with self._hurries.begin() as connection:
                self._end_if_it_stands_still(connection)
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SET LOCAL lock_timeout = '20ms'"))
                    # The data may be lost, so nobody waits for the disk.
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                yield connection
        except (DBAPIError, TimeoutError) as error:
            self._refuse_full(error)
            raise DatabaseBusy("Nothing was written, because others are writing.") from error

    def _end_if_it_stands_still(self, tx: Transaction) -> None:
        # Others start again what a process that stands still has begun, but not while its transaction has the locks.
        if tx.dialect.name == "postgresql":
            tx.exec_driver_sql(f"SET LOCAL idle_in_transaction_session_timeout = {int(self._busy_seconds * 1000)}")

    def connected(self) -> Connection:
        """Return a connection that the caller keeps. It has no transactions, so each statement sees the newest state.

        On SQLite, its statements do not wait for locks, because others may be waiting for the caller.
        """
        with self.translated():
            return self._plain.connect()

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database; None for PostgreSQL or a database in memory."""
        name = self.engine.url.database
        return Path(name) if self.engine.dialect.name == "sqlite" and name and name != ":memory:" else None

    def require_made(self) -> None:
        """Raise DatabaseUnusable if the file of a SQLite database does not exist."""
        if self.path is not None and not self.path.exists():
            raise DatabaseUnusable(f"There is no database {self.path}. Name its folder with --data.")

    @property
    def url(self) -> str:
        """The database's address, with its password. Pass it only to other processes of Gainboard, and never log it."""
        return self.engine.url.render_as_string(hide_password=False)

    @property
    def libpq_url(self) -> str:
        """The address of a PostgreSQL database as other drivers and programs take it, with its password."""
        return self.engine.url.set(drivername="postgresql").render_as_string(hide_password=False)

    def _require_file(self) -> None:
        # A deleted file stays usable while it is open: the database would answer, but its data would be lost.
        if (path := self.path) is not None:
            is_there = path.exists()
            if self._had_file and not is_there:
                raise DatabaseBusy("The file of the database was deleted or moved. Nothing was stored.")
            self._had_file = is_there

    def ping(self) -> None:
        """Raise DatabaseBusy if the database does not answer or its file was deleted."""
        self._require_file()
        with self.reading() as connection:
            # A table of ours: without one, an empty database would seem to be well.
            connection.execute(text("SELECT version_num FROM alembic_version"))

    def note_lack(self, reason: object) -> None:
        """Note in the log, and for `require_room`, that a disk of the service is full."""
        log.error("no space left on a disk: %s", reason)
        self._lacks_room = True

    def _refuse_full(self, error: DBAPIError | TimeoutError) -> None:
        cause = getattr(error, "orig", None)
        codes = {getattr(cause, "sqlite_errorcode", None), getattr(cause, "sqlstate", None), str(cause)}
        if not codes.isdisjoint(_FULL):
            self.note_lack(cause)
            raise NoSpace(NO_SPACE) from error

    def require_room(self) -> None:
        """Raise NoSpace while a disk of the service is full: that of the database, of temporary or of outside files.

        Once a write has found no room, one of SPARE_BYTES must find it: a quota or another machine's disk shows itself
        only so.
        """
        folders = [self.path.parent] if self.path else []
        folders += [self.objects.folder] if self.objects and self.objects.folder else []
        # Whatever else is wrong with a folder is told by what needs it.
        with suppress(OSError):
            folders.append(Path(tempfile.gettempdir()))
        for folder in folders:
            with suppress(OSError):
                usage = shutil.disk_usage(folder)
                # Some file systems do not count, and say 0.
                if usage.total and usage.free < SPARE_BYTES:
                    if not self._lacks_room:
                        self.note_lack(f"{folder} has {usage.free:,} bytes")
                    raise NoSpace(NO_SPACE)
        if self._lacks_room:
            self._try_room(folders)
            self._lacks_room = False
            log.warning("there is room on all disks again")

    def _try_room(self, folders: Sequence[Path]) -> None:
        # Random bytes, because PostgreSQL compresses anything else, and would need less room.
        filler, key = os.urandom(SPARE_BYTES), uuid4().hex
        try:
            for folder in folders:
                with tempfile.TemporaryFile(dir=folder) as file:
                    file.write(filler)
            with self.hurrying() as tx:
                tx.execute(_TRY_ROOM, {"key": key, "filler": filler})
        except OSError as error:
            if (refusal := NoSpace.of(error)) is not None:
                raise refusal from error
        except DatabaseBusy as error:
            # Somebody else is writing, so nobody knows yet.
            raise NoSpace(NO_SPACE) from error
        # If this fails, the row goes like an old key.
        with suppress(Unavailable), self.hurrying() as tx:
            tx.execute(_LEAVE_ROOM, {"key": key})

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise the driver's errors as errors of Gainboard."""
        try:
            yield
        except (OperationalError, TimeoutError) as error:
            self._refuse_full(error)
            # The driver's message may contain hosts and users. It belongs into the log, not into an answer.
            log.warning("the database did not answer: %s", getattr(error, "orig", error))
            raise DatabaseBusy("The database did not answer. Nothing was stored. Try again shortly.") from error
        except DBAPIError as error:
            self._refuse_full(error)
            if error.connection_invalidated:
                raise DatabaseBusy("The connection to the database was lost. Nothing was stored. Try again.") from error
            raise

    def close(self) -> None:
        """Close all connections. Do not use the object afterwards."""
        self.engine.dispose()


def machine_of(tx: Transaction) -> Machine:
    """Return the machine on which the transaction is: its clock and its source of chance."""
    machine: Machine = tx.get_execution_options()["gainboard_machine"]
    return machine


def exclude_others(tx: Transaction, key: int = _ADVISORY_LOCK) -> None:
    """Take a lock until the writing transaction ends. Other transactions wait here, in all processes, for the same key.

    On SQLite this does nothing, because only one writing transaction can be open.
    """
    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def at_the_end(tx: Transaction, act: Callable[[Transaction], None]) -> None:
    """Call `act` at the end of the writing transaction, after everything else in the transaction.

    Use it to take locks that many transactions need. A transaction that holds such a lock must not wait for another
    lock, because two transactions could wait for each other forever.
    """
    tx.get_execution_options()["gainboard_last"].append(act)


def recall(tx: Transaction) -> dict[Any, Any] | None:
    """Return what this connection has read since anything was committed. Whoever reads more of the same adds to it.

    Return None in a writing transaction, and where a database does not tell of commits. SQLite does, at a tenth of the
    cost of a statement. Its answer begins the snapshot of a reading transaction, so what follows is of the same state.
    """
    if tx.dialect.name != "sqlite" or "gainboard_writes" in tx.get_execution_options():
        return None
    connection = tx.connection
    version = connection.cursor().execute("PRAGMA data_version").fetchone()
    memory: dict[Any, Any]
    at, memory = connection.info.get(_REMEMBERED, (None, {}))
    if at != version or len(memory) >= MOST_REMEMBERED:
        memory = {}
        connection.info[_REMEMBERED] = version, memory
    return memory


def insert_for(tx: Transaction) -> Callable[[Table], Any]:
    """Return the database's own INSERT, which has ON CONFLICT.

    Use RETURNING to find out what was inserted, because psycopg does not count the rows.
    """
    return sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert


def _engine(url: str, busy_seconds: float, pool: type[Pool], **options: Any) -> Engine:
    try:
        backend = make_url(url).get_backend_name()
    # It is a ValueError if the port is not a number.
    except (ArgumentError, ValueError) as error:
        raise BadSetting(f"The address of the database is invalid. A valid address is {ADDRESS}") from error
    if backend not in ("sqlite", "postgresql"):
        raise BadSetting(
            f"The database {backend!r} is not supported. Use SQLite or PostgreSQL; a valid address is {ADDRESS}"
        )
    # Parameters of statements contain uploaded data. Hiding them keeps the data out of error texts and the log.
    common = {"hide_parameters": True, "json_deserializer": read_json, **options}
    if backend == "postgresql":
        # If a host disappears, its connections stay open. Without these limits, TCP waits for 15 minutes.
        patience = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": int(BUSY_SECONDS * 1000)}
        return create_engine(url, poolclass=pool, pool_pre_ping=True, connect_args=patience, **common)
    engine = create_engine(url, poolclass=pool, connect_args={"timeout": busy_seconds}, **common)
    event.listen(engine, "do_connect", _make_file)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _make_file(dialect: Dialect, record: Any, arguments: Sequence[str], parameters: Any) -> None:
    # SQLite itself would follow the umask. It gives its other files, such as the write-ahead log, the mode of this one.
    # An existing file is not opened: to close it would drop all locks that this process has on it.
    name = arguments[0]
    if name != ":memory:" and not name.startswith("file:"):
        # The file exists, or SQLite says why it cannot be created.
        with suppress(OSError):
            make_private_file(Path(name))


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    # The driver must not open transactions by itself. It would open deferred transactions, which fail with SQLITE_BUSY
    # at their first write, in spite of the timeout. So writing transactions use BEGIN IMMEDIATE below.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("gainboard_writes"):
        # This statement takes no lock and cannot fail. Without SQLAlchemy, it takes a quarter of the time.
        connection.connection.cursor().execute("BEGIN")
        return
    # SQLite does not count what a connection commits itself.
    connection.connection.info.pop(_REMEMBERED, None)
    if not options.get("gainboard_hurries"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    # The connection goes back to the pool, where others need its patience.
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")
