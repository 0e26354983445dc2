"""Transactions of a database, of which one connection is kept for checks."""

from __future__ import annotations

import pytest
from sqlalchemy import Connection, text

from gainboard.store.database import Database


def test_a_failed_write_leaves_nothing_while_a_connection_is_kept(database_url: str) -> None:
    database = Database(database_url)
    try:
        with database.connected() as kept:
            with database.writing() as tx:
                tx.execute(text("CREATE TABLE written (number INTEGER)"))
            with pytest.raises(ZeroDivisionError):
                write_and_fail(database, kept)
            assert kept.execute(text("SELECT count(*) FROM written")).scalar_one() == 0
            with database.writing() as tx:
                tx.execute(text("INSERT INTO written VALUES (2)"))
            assert kept.execute(text("SELECT number FROM written")).scalar_one() == 2
    finally:
        database.close()


def write_and_fail(database: Database, other: Connection) -> None:
    with database.writing() as tx:
        tx.execute(text("INSERT INTO written VALUES (1)"))
        assert other.execute(text("SELECT count(*) FROM written")).scalar_one() == 0
        raise ZeroDivisionError
