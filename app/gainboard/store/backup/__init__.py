"""Backups. A backup is one SQLite file with the schema and all rows of a database, whatever database that is.

Any tool for SQLite can therefore read it, and it restores into SQLite and PostgreSQL alike.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import inspect

from gainboard.errors import BadSetting, DatabaseUnusable
from gainboard.store import machine
from gainboard.store.backup import files
from gainboard.store.backup.files import (
    NEWEST,
    Size,
    Told,
    copy,
    count_rows,
    in_words,
    known_revision,
    read_manifest,
    require_own_schema,
    set_sequences,
    tables,
    write_manifest,
)
from gainboard.store.blobs import include
from gainboard.store.database import Database, exclude_others
from gainboard.store.schema import upgrade

__all__ = ["Restored", "Taken", "Told", "restore", "take"]


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome of a backup: its schema revision, the rows of each table, and the size of the file."""

    revision: str
    rows: Mapping[str, int]
    bytes: int


def take(database: Database, file: Path, told: Told, *, force: bool = False) -> Taken:
    """Write everything that was committed at the start into a new file, and nothing later.

    Nobody waits for it, and the schema keeps its revision. Files outside of the database are part of it. Raise
    BadSetting if the file cannot be written, DatabaseUnusable if the database is missing or cannot be read,
    DatabaseNewer, and ObjectsUnreachable.
    """
    database.require_made()
    if (path := database.path) is not None:
        files_of_database = [
            path,
            *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal", "-jobs")),
        ]
        if file.resolve() in [path_of_database.resolve() for path_of_database in files_of_database]:
            raise BadSetting(f"{file} belongs to the database itself. Name another file.")
    with files.placed(file, force=force) as temporary:
        with in_words("read the database"), database.reading() as source:
            revision = known_revision(source, "The database")
            with files.writing(temporary) as target:
                upgrade(target, revision)
                rows = copy(source, target, told)
                if rows.get("objects"):
                    rows |= {"blob_parts": rows["blob_parts"] + include(database, target), "objects": 0}
                write_manifest(target, tables(target))
        # Read again from the file: a backup that cannot be restored must fail now, and not when it is needed.
        with files.reading(temporary) as written:
            files.require_whole(written, "The copy")
            if {table.name: count_rows(written, table) for table in tables(written)} != rows:
                raise DatabaseUnusable(
                    "The copy does not have as many rows as were copied, so it was deleted. Run the backup again, and "
                    "check the disk."
                )
        return Taken(revision, rows, temporary.stat().st_size)


@dataclass(frozen=True, slots=True)
class Restored:
    """The outcome of a restore: the backup's schema revision, the present one, and the number of rows in each table."""

    before: str
    after: str
    rows: Mapping[str, int]


def restore(database: Database, file: Path, told: Told) -> Restored:
    """Fill an empty database from a backup, and bring it to this version's schema. The backup is only read.

    After an error, the database is as before. Raise BadSetting if the file is not a backup or the database is not
    empty, and DatabaseNewer or DatabaseUnusable.
    """
    with files.reading(file) as source:
        revision = require_own_schema(source, str(file))
        files.require_whole(source, str(file))
        stated = read_manifest(source, str(file))
        with _all_or_nothing(database), in_words("write the database"), database.writing() as target:
            # Of two restores at the same time, the second one waits here, and then finds the tables of the first.
            exclude_others(target)
            if inspect(target).get_table_names():
                filled = {table.name: count_rows(target, table) for table in tables(target)}
                what = ", ".join(f"{name} ({rows} rows)" for name, rows in filled.items() if rows)
                raise BadSetting(
                    f"A backup restores only into an empty database, but this one has {what or 'tables without rows'}. "
                    "Use another folder (--data) or database."
                )
            # The rows fit the schema of their own revision. Migrations then change both.
            upgrade(target, revision)
            rows = copy(source, target, told, lambda table: stated.get(table, Size(0, 0)))
            upgrade(target, NEWEST)
            if target.dialect.name == "postgresql":
                set_sequences(target)
            after = known_revision(target, "The database")
    return Restored(revision, after, rows)


@contextmanager
def _all_or_nothing(database: Database) -> Iterator[None]:
    # A transaction protects a PostgreSQL database. A SQLite database is a file, which is created first and deleted
    # after an error.
    path = database.path
    new_items = _make(path) if path is not None else []
    try:
        yield
        if path is not None and not path.exists():
            raise DatabaseUnusable(
                f"Somebody deleted {path} while it was filled, so nothing was restored. Start the restore again."
            )
    except BaseException:
        database.close()
        if path is not None and _is_empty(path):
            for item in new_items:
                if item.is_dir():
                    # Another process has put something into the folder meanwhile.
                    with suppress(OSError):
                        item.rmdir()
                else:
                    for suffix in ("", "-wal", "-shm", "-journal"):
                        item.with_name(item.name + suffix).unlink(missing_ok=True)
        raise


def _is_empty(path: Path) -> bool:
    """Return whether the file made here is still empty: another process may have found it, and filled it."""
    if not path.exists():
        return True
    try:
        with closing(sqlite3.connect(path)) as connection:
            items: tuple[int] = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error:
        return False
    return items == (0,)


def _make(path: Path) -> list[Path]:
    """Create an empty file and its missing folders, and return those that an error must delete again.

    Return none if the file exists: another process has created it, perhaps at this very moment.
    """
    folders = [folder for folder in path.parents if not folder.exists()]
    try:
        if folders:
            machine.make_private_folder(folders[0])
        machine.make_private_file(path)
    except FileExistsError:
        return []
    except OSError as error:
        raise BadSetting(f"Cannot create {path}: {error.strerror}. Name another folder with --data.") from error
    return [path, *folders]
