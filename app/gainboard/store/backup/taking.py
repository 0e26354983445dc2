"""Taking a backup while others write."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gainboard.errors import BadSetting, DatabaseUnusable
from gainboard.store.backup import files, manifest
from gainboard.store.backup.copying import Told, copy, counted, in_words, tables
from gainboard.store.backup.revisions import known_revision
from gainboard.store.database import Database
from gainboard.store.moving import include
from gainboard.store.schema import upgrade


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
    _require_apart(database, file)
    with files.placed(file, force=force) as temporary:
        with in_words("read the database"), database.reading() as source:
            revision = known_revision(source, "The database")
            with files.writing(temporary) as target:
                upgrade(target, revision)
                rows = copy(source, target, told)
                if rows.get("objects"):
                    rows |= {"blob_parts": rows["blob_parts"] + include(database, target), "objects": 0}
                manifest.write(target, tables(target))
        _require_copy(temporary, rows)
        return Taken(revision, rows, temporary.stat().st_size)


def _require_apart(database: Database, file: Path) -> None:
    database.require_made()
    if (path := database.path) is None:
        return
    own = [path, *(path.with_name(path.name + suffix) for suffix in ("-wal", "-shm", "-journal", "-jobs"))]
    if file.resolve() in [each.resolve() for each in own]:
        raise BadSetting(f"{file} belongs to the database itself. Name another file.")


def _require_copy(temporary: Path, rows: Mapping[str, int]) -> None:
    with files.reading(temporary) as written:
        files.require_whole(written, "The copy")
        if {table.name: counted(written, table) for table in tables(written)} != rows:
            raise DatabaseUnusable(
                "The copy does not have as many rows as were copied, so it was deleted. Run the backup again, and "
                "check the disk."
            )
