"""The file of a backup: written beside its final place and moved there when complete, or opened and verified.

The revision of its schema may be before the newest. All rows are copied from one database into another with the same
schema; each may be SQLite or PostgreSQL. A backup has a manifest: how many rows and bytes each of its tables has.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, reduce
from itertools import chain
from operator import add
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import (
    JSON,
    BigInteger,
    BindParameter,
    Column,
    ColumnElement,
    Connection,
    Engine,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    cast,
    create_engine,
    func,
    insert,
    inspect,
    literal,
    select,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gainboard.errors import BadSetting, DatabaseBusy, DatabaseUnusable, NoSpace
from gainboard.store.schema import require_known, revision_of, upgrade

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


NEWEST = "head"
NOT_OURS = "{} has no tables of Gainboard. Name a file that `gainboard backup` wrote."
_HASTE = ("PRAGMA journal_mode = OFF", "PRAGMA synchronous = OFF", "PRAGMA locking_mode = EXCLUSIVE")
"""The settings of a new file. No other process reads it before it is complete and synced, so it needs no journal."""

_DISTRUST = ("PRAGMA trusted_schema = OFF", "PRAGMA cell_size_check = ON")
"""The settings for a file that somebody may have crafted: its schema calls no function that has an effect."""


@contextmanager
def placed(file: Path, *, force: bool) -> Iterator[Path]:
    """Yield a new file, readable only by its owner, beside the wanted one. At the end it takes the wanted one's place.

    After an error, nothing of it stays. Raise BadSetting if it cannot be written there, or a file is there and `force`
    is False.
    """
    _require_place(file, force)
    with _as_setting(f"Cannot write into {file.parent}"):
        # In the same folder, because only within a file system is a move one step.
        descriptor, name = tempfile.mkstemp(prefix=f".{file.name}.", suffix=".partial", dir=file.parent)
    os.close(descriptor)
    temporary = Path(name)
    try:
        yield temporary
        # Before the move: after a power failure, the name must not stand for a file without content.
        _sync(temporary)
        # A backup takes long, and somebody may have put a file there meanwhile.
        _require_place(file, force)
        with _as_setting(f"Cannot write {file}"):
            temporary.replace(file)
        _sync(file.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _require_place(file: Path, force: bool) -> None:
    if file.is_dir():
        raise BadSetting(f"{file} is a folder. Name a file in it, for example {file}/gainboard.backup.")
    if not file.parent.is_dir():
        raise BadSetting(
            f"{file.parent} is not a folder, so no file can be written there. Name a file in an existing folder."
        )
    if file.exists() and not file.is_file():
        raise BadSetting(f"{file} is not an ordinary file, so it cannot be replaced. Name another file.")
    if file.exists() and not force:
        raise BadSetting(f"{file} exists. Name another file, or replace it with --force.")


@contextmanager
def _as_setting(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise BadSetting(f"{what}: {error.strerror or error}.") from error


def _sync(path: Path) -> None:
    with _as_setting(f"Cannot write {path}"):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def writing(temporary: Path) -> Iterator[Connection]:
    """Open a transaction over an empty file that nobody else reads yet. It is committed at the end."""
    uri = f"{temporary.resolve().as_uri()}?mode=rw"
    with _connected(_engine(uri)) as connection, in_words(f"write into {temporary.parent}"):
        for pragma in _HASTE:
            connection.exec_driver_sql(pragma)
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        yield connection
        connection.commit()


@contextmanager
def reading(file: Path) -> Iterator[Connection]:
    """Open a transaction over a backup, which sees one state and changes nothing. Raise BadSetting."""
    if not file.is_file():
        raise BadSetting(
            f"{file} is a folder, not a backup. Name the file of a backup."
            if file.is_dir()
            else f"There is no file {file}."
        )
    with _connected(_engine(f"{file.resolve().as_uri()}?mode=ro")) as connection:
        with in_words(f"read {file}"):
            for pragma in _DISTRUST:
                connection.exec_driver_sql(pragma)
            connection.exec_driver_sql("BEGIN")
            # The first read fixes the state. BEGIN alone does not.
            connection.exec_driver_sql("SELECT count(*) FROM sqlite_master")
        yield connection


def require_whole(connection: Connection, what: str) -> None:
    """Raise DatabaseUnusable if a page is damaged, or a row refers to one that does not exist."""
    with in_words(f"read {what}"):
        said = connection.exec_driver_sql("PRAGMA integrity_check(1)").scalar_one()
        if said != "ok":
            raise DatabaseUnusable(f"{what} is damaged: {said}.")
        dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if dangling is not None:
            raise DatabaseUnusable(
                f"{what} is incomplete: its table {dangling[0]} refers to missing rows of {dangling[2]}."
            )


def _engine(uri: str) -> Engine:
    # The driver must not begin transactions by itself. One explicit BEGIN makes all reads see one state.
    return create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False),
        poolclass=NullPool,
        hide_parameters=True,
    )


@contextmanager
def _connected(engine: Engine) -> Iterator[Connection]:
    try:
        with in_words("open the file"):
            connection = engine.connect()
        with connection:
            yield connection
    finally:
        engine.dispose()


def known_revision(connection: Connection, what: str) -> str:
    """Return the schema revision of a database.

    Raise BadSetting if it has no tables of ours, and DatabaseNewer or DatabaseOlder if this version does not know it.
    """
    revision = revision_of(connection, what)
    if revision is None:
        raise BadSetting(NOT_OURS.format(what))
    require_known(revision, what)
    return revision


def require_own_schema(connection: Connection, what: str) -> str:
    """Return the schema revision of a file, whose tables may be anything but ours.

    A view, a generated column or a virtual table may have endless rows. So nothing is read from a file in which
    anything is not as `upgrade` makes it. Raise BadSetting, DatabaseUnusable, DatabaseNewer or
    DatabaseOlder.
    """
    items = _schema(connection)
    if not {entry for entry in schema_of(NEWEST) if entry.table == "alembic_version"} <= items:
        raise BadSetting(NOT_OURS.format(what))
    revision = known_revision(connection, what)
    for entry in sorted(items - schema_of(revision)):
        raise DatabaseUnusable(
            f"{what} has the {entry.kind} {entry.name}, which no backup of schema {revision} has in this form. Nothing "
            "was restored. Name a file as `gainboard backup` wrote it."
        )
    return revision


@cache
def schema_of(revision: str) -> frozenset[SchemaItem]:
    """Return everything that a backup of this revision may have."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        upgrade(connection, revision)
        MANIFEST.create(connection)
        return _schema(connection)


class SchemaItem(NamedTuple):
    """A table, index, trigger or view of a SQLite database, with its SQL on one line."""

    kind: str
    name: str
    table: str
    sql: str


def _schema(connection: Connection) -> frozenset[SchemaItem]:
    # A crafted file may have any number of entries.
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master LIMIT 1000"
    with in_words("read the file"):
        rows = connection.exec_driver_sql(query).all()
    return frozenset(SchemaItem(kind, name, table, " ".join(str(sql).split())) for kind, name, table, sql in rows)
