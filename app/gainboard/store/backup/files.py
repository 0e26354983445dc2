"""The file of a backup: written beside its final place and moved there when complete, or opened and verified.

The revision of its schema may be before the newest.
"""

from __future__ import annotations

import os
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.pool import NullPool

from gainboard.errors import BadSetting, DatabaseUnusable
from gainboard.store.backup.copying import MANIFEST, in_words
from gainboard.store.schema import require_known, revision_of, upgrade

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
