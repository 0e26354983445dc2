"""The content of files, moved out of the database into objects, or back. Each file is compared with its hash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from tempfile import SpooledTemporaryFile
from typing import IO, Literal, cast

from sqlalchemy import Row, delete, select

from gainboard.errors import ObjectsUnreachable
from gainboard.store.blobs import (
    IS_INSIDE,
    IS_OUTSIDE,
    Content,
    Deleted,
    delete_forgotten,
    is_whole,
    lock,
    parts_of,
    prepared,
    require_objects,
    set_content,
)
from gainboard.store.database import Database, Transaction
from gainboard.store.tables import blob_parts, blobs, objects

IN_MEMORY_BYTES = 8 << 20
Place = Literal["database", "objects"]
Told = Callable[[int, int], None]
"""A function that is called after every file: the number of files so far, and of all files to be moved."""


@dataclass
class Moved:
    """The outcome of a move. `broken` are the hashes of files whose content is damaged or missing: they stay."""

    files: int = 0
    bytes: int = 0
    broken: list[str] = field(default_factory=list)


def move(database: Database, place: Place, told: Told) -> Moved:
    """Move the content of every file to a place, one file after the other, while others read and write.

    It may be interrupted at any time, and goes on when it is called again. Raise ObjectsUnreachable.
    """
    require_objects(database)
    elsewhere = IS_OUTSIDE if place == "database" else IS_INSIDE
    with database.reading() as tx:
        found = tx.execute(select(blobs).where(elsewhere).order_by(blobs.c.sha256)).all()
    moved = Moved()
    for done, row in enumerate(found, start=1):
        with cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)) as copy:
            if is_whole(_copied(_stream(database, row), copy), row.sha256, row.size):
                (_move_in if place == "database" else _move_out)(database, row, copy)
                moved.files, moved.bytes = moved.files + 1, moved.bytes + row.size
            else:
                moved.broken.append(row.sha256)
        told(done, len(found))
    return moved


def _move_out(database: Database, row: Row[tuple[str, int, str | None]], copy: IO[bytes]) -> None:
    with prepared(database, row.sha256, row.size, copy) as content, database.writing() as tx:
        if lock(tx, [row.sha256], IS_INSIDE):  # nobody has pruned it meanwhile
            tx.execute(delete(blob_parts).where(blob_parts.c.sha256 == row.sha256))
            set_content(tx, content)


def _move_in(database: Database, row: Row[tuple[str, int, str | None]], copy: IO[bytes]) -> None:
    with database.writing() as tx:
        if not lock(tx, [row.sha256], blobs.c.object_name == row.object_name):
            return
        set_content(tx, Content(row.sha256, row.size, copy))
    # After the transaction: if it fails, the object is still needed.
    delete_forgotten(database, Deleted(row.size, [row.object_name]))


def include(database: Database, copy: Transaction) -> int:
    """Put the content of all objects into a copy of the database. Return the number of new rows of `blob_parts`.

    Raise ObjectsUnreachable, and also if the content of an object is not what its name says.
    """
    number = 0
    for row in copy.execute(select(blobs).where(IS_OUTSIDE)).all():
        with cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)) as stream:
            if not is_whole(_copied(_stream(database, row), stream), row.sha256, row.size):
                raise ObjectsUnreachable(f"The content of the object {row.object_name} is damaged.")
            number += set_content(copy, Content(row.sha256, row.size, stream))
    copy.execute(delete(objects))
    return number


def _stream(database: Database, row: Row[tuple[str, int, str | None]]) -> Iterator[bytes]:
    if row.object_name is None:
        return parts_of(database, row.sha256)
    return require_objects(database).get(row.object_name)


def _copied(stream: Iterable[bytes], copy: IO[bytes]) -> Iterator[bytes]:
    for piece in stream:
        copy.write(piece)
        yield piece
