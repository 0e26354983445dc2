"""Engine and transactions: one place that knows which database it is talking to."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, OperationalError
from sqlalchemy.pool import QueuePool

from app.errors import DatabaseBusy

BUSY_SECONDS = 30
_WRITES = {"gainboard_writes": True}

Transaction = Connection
"""What the functions of this ring take first. Other rings pass it on and never look inside."""


class Database:
    """A database and its two kinds of transaction.

    What holds on every database: a reading transaction sees one consistent state; a writing transaction is
    atomic, and two of them that touch the same collection do not overlap (`collections.lock`).
    """

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)

    @contextmanager
    def reading(self) -> Iterator[Transaction]:
        """A transaction that changes nothing."""
        with _translated(), self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Transaction]:
        """A transaction that is committed on leaving, and rolled back by any error."""
        with _translated(), self.engine.execution_options(**_WRITES).begin() as connection:
            yield connection

    def ping(self) -> None:
        """Raises DatabaseBusy where the database does not answer."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Gives all connections back; the object is not used again."""
        self.engine.dispose()


def _engine(url: str) -> Engine:
    if make_url(url).get_backend_name() != "sqlite":
        return create_engine(url, pool_pre_ping=True, pool_size=10, max_overflow=20)
    engine = create_engine(
        url, poolclass=QueuePool, pool_size=10, max_overflow=20, connect_args={"timeout": BUSY_SECONDS}
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _prepare_sqlite(connection: sqlite3.Connection, record: Any) -> None:
    # The driver must not open transactions by itself: a deferred one that turns into a writer fails with
    # SQLITE_BUSY in spite of the timeout, so writers say BEGIN IMMEDIATE below.
    connection.isolation_level = None
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("gainboard_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except OperationalError as error:
        raise DatabaseBusy(f"The database did not answer ({error.orig}); nothing was stored.") from error
    except DBAPIError as error:
        if error.connection_invalidated:
            raise DatabaseBusy("The connection to the database was lost; nothing was stored.") from error
        raise
