"""The copy of all rows of one database into another with the same schema. Each may be SQLite or PostgreSQL.

A copy that is a backup has a manifest: how many rows and bytes each of its tables has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from itertools import chain
from operator import add
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    cast,
    func,
    insert,
    inspect,
    literal,
    select,
)
from sqlalchemy.exc import DBAPIError

from gainboard.errors import DatabaseBusy, DatabaseUnusable, NoSpace

Told = Callable[[str, int, int], None]
"""A function that is called after every batch: the table, its rows copied so far, and all its rows."""
_BATCH = 500
# It is in no schema of a database: only backups have this table.
MANIFEST = Table(
    "backup_manifest",
    MetaData(),
    Column("name", String, primary_key=True),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),  # of all values; numbers as texts
)
_MOST_TABLES = 1_000


class Size(NamedTuple):
    """The size of a table: its rows, and the bytes of their values."""

    rows: int
    bytes: int


class _Verbatim(TypeDecorator[str]):
    """JSON as its stored text: it is not parsed, and SQL's null and JSON's null stay different."""

    impl = Text
    cache_ok = True

    def __init__(self, casts: bool) -> None:
        super().__init__()
        self.casts = casts

    def column_expression(self, column: ColumnElement[str]) -> ColumnElement[str]:
        return cast(column, Text)

    def bind_expression(self, bindparam: BindParameter[str]) -> ColumnElement[Any]:
        return cast(bindparam, JSON) if self.casts else bindparam


def copy(
    source: Connection, target: Connection, told: Told, most: Callable[[str], Size] | None = None
) -> dict[str, int]:
    """Copy every table of the target, which has the source's schema and no rows. Return each table's number of rows.

    The source's transaction sees one state throughout. `most` bounds what is copied of a table. Raise DatabaseUnusable
    if there is more, or with the driver's message.
    """
    rows: dict[str, int] = {}
    for table in tables(target):
        bound = most(table.name) if most else None
        with in_words(f"read the table {table.name}"):
            expected, done, size = count_rows(source, table, bound.rows if bound else None), 0, 0
        _require_within(table, expected, size, bound)
        told(table.name, done, expected)
        for batch in _batches(table, source):
            size += sum(map(_bytes, chain.from_iterable(row.values() for row in batch)))
            _require_within(table, expected, size, bound)
            with in_words(f"write the table {table.name}"):
                target.execute(insert(table), batch)
            done += len(batch)
            told(table.name, done, expected)
        rows[table.name] = done
    return rows


def tables(connection: Connection) -> list[Table]:
    """Return the existing tables, whatever version they are of. Each comes after the tables that it refers to."""
    reflected = MetaData()
    reflected.reflect(connection)
    ours = [table for table in reflected.sorted_tables if table.name not in ("alembic_version", MANIFEST.name)]
    for column in (column for table in ours for column in table.columns):
        generic = column.type.as_generic()
        column.type = _Verbatim(connection.dialect.name == "postgresql") if isinstance(generic, JSON) else generic
    return ours


def count_rows(connection: Connection, table: Table, most: int | None = None) -> int:
    """Return the number of rows; `most` + 1 stands for every larger number."""
    # A crafted file may have far more rows than its manifest says, and to count them all could take for ever.
    some = select(literal(1)).select_from(table).limit(None if most is None else most + 1)
    return connection.execute(select(func.count()).select_from(some.subquery())).scalar_one()


def set_sequences(connection: Connection) -> None:
    """Make PostgreSQL number new rows after those that were copied, as SQLite does by itself."""
    for table in tables(connection):
        key, *more = table.primary_key
        if more or not isinstance(key.type, Integer):
            continue
        highest = connection.execute(select(func.max(key))).scalar()
        if highest is not None:
            sequence = func.pg_get_serial_sequence(table.name, key.name)
            connection.execute(select(func.setval(sequence, highest)))


@contextmanager
def in_words(what: str) -> Iterator[None]:
    """Turn errors of a driver into DatabaseUnusable, with a message that says what could not be done."""
    try:
        yield
    except DBAPIError as error:
        raise DatabaseUnusable(f"Cannot {what}: {_message_of(error)}.") from error
    except (DatabaseBusy, NoSpace) as error:
        raise DatabaseUnusable(f"Cannot {what}: {_message_of(error.__cause__ or error)}.") from error


def _message_of(error: BaseException) -> str:
    return str(getattr(error, "orig", error)).strip().rstrip(".")


def _require_within(table: Table, rows: int, size: int, most: Size | None) -> None:
    if most is not None and (rows > most.rows or size > most.bytes):
        raise DatabaseUnusable(
            f"The table {table.name} of the backup has more than the {most.rows:,} rows and {most.bytes:,} bytes that "
            "it may have. The backup was changed after it was made. Restore another one."
        )


def _bytes(value: Any) -> int:
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass"))
    return len(value) if isinstance(value, bytes) else 0


def _batches(table: Table, source: Connection) -> Iterator[list[dict[str, Any]]]:
    # Files and rankings are large, so only one of them is in memory at a time. Entries of the audit log can only be
    # inserted in their own order.
    holds_files = any(isinstance(column.type, LargeBinary) for column in table.columns)
    options = {"yield_per": 1 if holds_files else _BATCH}
    with in_words(f"read the table {table.name}"):
        result = source.execute(select(table).order_by(*table.primary_key), execution_options=options)
        for batch in result.partitions():
            yield [row._asdict() for row in batch]


def write_manifest(connection: Connection, tables: list[Table]) -> None:
    """Store the size of each table in a copy that is complete."""
    MANIFEST.create(connection)
    for table in tables:
        # SQLite need not read a binary value to know its length.
        values = (
            column if isinstance(column.type, LargeBinary) else cast(column, LargeBinary) for column in table.columns
        )
        lengths = (func.coalesce(func.length(value), 0) for value in values)
        size = func.coalesce(func.sum(reduce(add, lengths)), 0)
        counts = connection.execute(select(func.count(), size).select_from(table)).one()
        connection.execute(insert(MANIFEST).values(name=table.name, rows=counts[0], bytes=counts[1]))


def read_manifest(connection: Connection, what: str) -> Mapping[str, Size]:
    """Return the sizes that the manifest states. Raise DatabaseUnusable if there is none, or it is not one."""
    if not inspect(connection).has_table(MANIFEST.name):
        raise DatabaseUnusable(f"{what} has no table {MANIFEST.name}, so it is no backup as a whole. Restore another.")
    stated = connection.execute(select(MANIFEST).limit(_MOST_TABLES)).all()
    # SQLite takes any type in any column, and the file may have been crafted.
    if not all(type(number) is int for row in stated for number in (row.rows, row.bytes)):
        raise DatabaseUnusable(f"The manifest of {what} has sizes that are no numbers. Restore another backup.")
    return {row.name: Size(row.rows, row.bytes) for row in stated}
