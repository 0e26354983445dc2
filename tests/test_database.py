"""Transactions of a database, of which one connection is kept for checks."""

from contextlib import closing, suppress

import pytest
from sqlalchemy import text

from gainboard.store.database import MOST_REMEMBERED, Database, recall


def test_a_failed_write_leaves_nothing_while_a_connection_is_kept(database_url):
    with closing(Database(database_url)) as database, database.connected() as kept:
        with database.writing() as tx:
            tx.execute(text("CREATE TABLE written (number INTEGER)"))
        with suppress(ZeroDivisionError), database.writing() as tx:
            write(tx)
            assert kept.execute(text("SELECT count(*) FROM written")).scalar_one() == 0
            raise ZeroDivisionError
        assert kept.execute(text("SELECT count(*) FROM written")).scalar_one() == 0
        with database.writing() as tx:
            write(tx)
        assert kept.execute(text("SELECT number FROM written")).scalar_one() == 1


@pytest.fixture
def file(tmp_path):
    with closing(Database(f"sqlite:///{tmp_path}/remembered.sqlite")) as database:
        with database.writing() as tx:
            tx.execute(text("CREATE TABLE written (number INTEGER)"))
        yield database


def write(tx):
    tx.execute(text("INSERT INTO written VALUES (1)"))


def write_here(database):
    with database.writing() as tx:
        write(tx)


def hurry(database):
    with database.hurrying() as tx:
        write(tx)


def write_elsewhere(database):
    with closing(Database(database.url)) as other:
        write_here(other)


def read_much(database):
    with database.reading() as tx:
        known = recall(tx)
        assert known is not None
        known.update(dict.fromkeys(range(MOST_REMEMBERED)))


@pytest.mark.parametrize("change", [write_here, hurry, write_elsewhere, read_much])
def test_a_connection_remembers_until_anything_is_committed(file, change):
    for _ in range(2):  # with what was read before the change, and with nothing
        for is_known in (False, True):
            with file.reading() as tx:
                known = recall(tx)
                assert known is not None
                assert ("key" in known) is is_known
                known["key"] = "value"
        change(file)


def test_a_reading_transaction_is_of_the_state_that_is_remembered(file):
    with file.reading() as tx:
        recall(tx)
        write_elsewhere(file)
        assert tx.execute(text("SELECT count(*) FROM written")).scalar_one() == 0


def test_nothing_is_remembered_of_a_transaction_that_writes(file):
    with suppress(ZeroDivisionError), file.writing() as tx:
        write(tx)
        assert recall(tx) is None
        raise ZeroDivisionError


def test_postgresql_remembers_nothing(database_url):
    with closing(Database(database_url)) as database, database.reading() as tx:
        assert (recall(tx) is None) is (tx.dialect.name == "postgresql")
