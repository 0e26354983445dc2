"""The manifest of a backup: how many rows and bytes each of its tables has."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from operator import add
from typing import NamedTuple

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    LargeBinary,
    MetaData,
    String,
    Table,
    cast,
    func,
    insert,
    inspect,
    select,
)

from gainboard.errors import DatabaseUnusable

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


def write(connection: Connection, tables: list[Table]) -> None:
    """Store the size of each table in a copy that is complete."""
    MANIFEST.create(connection)
    for table in tables:
        # SQLite need not read a binary value to know its length.
        values = (each if isinstance(each.type, LargeBinary) else cast(each, LargeBinary) for each in table.columns)
        lengths = (func.coalesce(func.length(value), 0) for value in values)
        size = func.coalesce(func.sum(reduce(add, lengths)), 0)
        found = connection.execute(select(func.count(), size).select_from(table)).one()
        connection.execute(insert(MANIFEST).values(name=table.name, rows=found[0], bytes=found[1]))


def read(connection: Connection, what: str) -> Mapping[str, Size]:
    """Return the sizes that the manifest states. Raise DatabaseUnusable if there is none, or it is not one."""
    if not inspect(connection).has_table(MANIFEST.name):
        raise DatabaseUnusable(f"{what} has no table {MANIFEST.name}, so it is no backup as a whole. Restore another.")
    found = connection.execute(select(MANIFEST).limit(_MOST_TABLES)).all()
    # SQLite takes any type in any column, and the file may have been crafted.
    if not all(type(number) is int for row in found for number in (row.rows, row.bytes)):
        raise DatabaseUnusable(f"The manifest of {what} has sizes that are no numbers. Restore another backup.")
    return {row.name: Size(row.rows, row.bytes) for row in found}
