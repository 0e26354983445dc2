"""Engine and transactions: one place that knows which database it is talking to."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Table, create_engine, event, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, TimeoutError
from sqlalchemy.pool import NullPool, Pool, QueuePool

from gainboard.errors import BadSetting, DatabaseBusy

BUSY_SECONDS = 30
CONNECT_SECONDS = 5
ADDRESS = "postgresql+psycopg://user:password@host/name"
_WRITES = {"gainboard_writes": True}
_HURRIES = {**_WRITES, "gainboard_hurries": True}
_POOLED = 10
_READS = {"postgresql": {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}}
_ADVISORY_LOCK = 0x6761696E
"""Any number will do, as long as nobody else on the same PostgreSQL database takes it."""

log = logging.getLogger("gainboard")

Transaction = Connection
"""What the functions of this ring take first. Other rings pass it on and never look inside."""


class Database:
    """A database and its two kinds of transaction.

    What holds on every database: a reading transaction sees one consistent state; a writing transaction is
    atomic, and two of them that touch the same collection do not overlap (`collections.lock`).
    """

    def __init__(self, url: str, busy_seconds: float = BUSY_SECONDS) -> None:
        try:
            self.engine = _pooled_engine(url, busy_seconds)
        except ModuleNotFoundError as error:
            raise BadSetting(f"No driver for PostgreSQL: pip install 'gainboard[postgres]' ({error})") from error
        self._reads = self.engine.execution_options(**_READS.get(self.engine.dialect.name, {}))
        self._writes = self.engine.execution_options(**_WRITES)
        self._hurries = self.engine.execution_options(**_HURRIES)
        # An engine of its own, for each statement of one that has listeners on transactions takes a quarter longer.
        # It must not share the pool: an engine's isolation level becomes that of every new connection of its pool.
        self._plain = _engine(url, 0, NullPool, isolation_level="AUTOCOMMIT")
        self._had_file = False

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that changes nothing."""
        with self.translated(), self._reads.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that is committed on leaving, and rolled back by any error."""
        self._require_file()
        with self.translated(), self._writes.begin() as connection:
            last: list[Callable[[Transaction], None]] = []
            connection.execution_options(gainboard_last=last)
            yield connection
            for act in last:
                act(connection)

    @contextmanager
    def hurrying(self) -> Iterator[Transaction]:
        """A writing transaction that waits for nobody, for what may as well stay unwritten.

        Raises DatabaseBusy, which is not logged, where others are writing, or have all the connections.
        """
        self._require_file()
        pool = self.engine.pool
        if isinstance(pool, QueuePool) and pool.checkedout() >= _POOLED:
            raise DatabaseBusy("Nothing was written, for others are.")
        try:
            with self._hurries.begin() as connection:
                if connection.dialect.name == "postgresql":
                    connection.execute(text("SET LOCAL lock_timeout = '20ms'"))
                    connection.execute(text("SET LOCAL synchronous_commit = off"))
                yield connection
        except (DBAPIError, TimeoutError) as error:
            raise DatabaseBusy("Nothing was written, for others are.") from error

    def connected(self) -> Connection:
        """Return a connection for whoever keeps it: without transactions, each statement sees the newest state.

        On SQLite it waits for nobody, as all who wait for its holder would wait too.
        """
        with self.translated():
            return self._plain.connect()

    @property
    def path(self) -> Path | None:
        """The file of a SQLite database that has one."""
        name = self.engine.url.database
        return Path(name) if self.engine.dialect.name == "sqlite" and name and name != ":memory:" else None

    @property
    def url(self) -> str:
        """Its address, password included: for another process of ours, and never for a log."""
        return self.engine.url.render_as_string(hide_password=False)

    def _require_file(self) -> None:
        # An open file outlives its name: a deleted SQLite database goes on answering, and keeps nothing.
        if (path := self.path) is not None:
            is_there = path.exists()
            if self._had_file and not is_there:
                raise DatabaseBusy("The file of the database is gone; nothing was stored.")
            self._had_file = is_there

    def ping(self) -> None:
        """Raises DatabaseBusy where the database does not answer, or is no longer there."""
        self._require_file()
        with self.reading() as connection:
            connection.execute(text("SELECT version_num FROM alembic_version"))

    @staticmethod
    @contextmanager
    def translated() -> Iterator[None]:
        """What the driver says, as errors of ours."""
        try:
            yield
        except (OperationalError, TimeoutError) as error:
            # What a driver says may name hosts and users: it is for the log, not for whoever asked.
            log.warning("the database did not answer: %s", getattr(error, "orig", error))
            raise DatabaseBusy("The database did not answer; nothing was stored. Try again shortly.") from error
        except DBAPIError as error:
            if error.connection_invalidated:
                raise DatabaseBusy("The connection to the database was lost; nothing was stored.") from error
            raise

    def close(self) -> None:
        """Gives all connections back; the object is not used again."""
        self.engine.dispose()


def exclude_others(tx: Transaction, key: int = _ADVISORY_LOCK) -> None:
    """Until the writing transaction ends, no other of any process is beyond this call (with the same key).

    SQLite's writers exclude each other anyway.
    """
    if tx.dialect.name == "postgresql":
        tx.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": key})


def at_the_end(tx: Transaction, act: Callable[[Transaction], None]) -> None:
    """Does this as the last thing of the writing transaction, after all that its caller has yet to do in it.

    For locks that many wait for: whoever holds one should wait for nothing else, or two of them wait for each other.
    """
    tx.get_execution_options()["gainboard_last"].append(act)


def insert_for(tx: Transaction) -> Callable[[Table], Any]:
    """The database's own INSERT, for ON CONFLICT: ask it for RETURNING, since psycopg counts no rows for it."""
    return sqlite.insert if tx.dialect.name == "sqlite" else postgresql.insert


def _is_sqlite(url: str) -> bool:
    try:
        backend = make_url(url).get_backend_name()
    except (ArgumentError, ValueError) as error:  # the latter where the port is no number
        raise BadSetting(f"The address of the database is none; one is {ADDRESS}") from error
    if backend not in ("sqlite", "postgresql"):
        raise BadSetting(f"Gainboard runs on SQLite and PostgreSQL, not on {backend!r}; an address is {ADDRESS}")
    return backend == "sqlite"


def _pooled_engine(url: str, busy_seconds: float) -> Engine:
    engine = _engine(url, busy_seconds, QueuePool, pool_size=_POOLED, max_overflow=20, pool_timeout=busy_seconds)
    if engine.dialect.name == "sqlite":
        event.listen(engine, "begin", _begin_sqlite)
    return engine


def _engine(url: str, busy_seconds: float, pool: type[Pool], **options: Any) -> Engine:
    # Parameters of statements are what people uploaded: they stay out of error texts, and so out of the log.
    if not _is_sqlite(url):
        # A host that vanishes closes no connection: without a bound of ours, TCP waits for a quarter of an hour.
        patience = {"connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": int(BUSY_SECONDS * 1000)}
        return create_engine(
            url, poolclass=pool, pool_pre_ping=True, connect_args=patience, hide_parameters=True, **options
        )
    engine = create_engine(url, poolclass=pool, connect_args={"timeout": busy_seconds}, hide_parameters=True, **options)
    event.listen(engine, "connect", _prepare_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    # The driver must not open transactions by itself: a deferred one that turns into a writer fails with
    # SQLITE_BUSY in spite of the timeout, so writers say BEGIN IMMEDIATE below.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    options = connection.get_execution_options()
    if not options.get("gainboard_writes"):
        # It takes no lock and cannot fail, and past SQLAlchemy a quarter of the time.
        connection.connection.cursor().execute("BEGIN")
        return
    if not options.get("gainboard_hurries"):
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
    connection.exec_driver_sql("PRAGMA busy_timeout = 0")
    try:
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    finally:
        connection.exec_driver_sql(f"PRAGMA busy_timeout = {patience}")
