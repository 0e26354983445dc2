"""Files that workers have made of results: written once, in parts, and read part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import count

from sqlalchemy import delete, insert, select

from gainboard.store.database import Database, Transaction
from gainboard.store.job_records import StoredFile
from gainboard.store.job_tables import job_file_parts as parts
from gainboard.store.job_tables import job_files as table

GZIP = 31
"""The window of zlib, with the header of gzip. Its time is 0: equal files are equal bytes."""


def clear(tx: Transaction, job_number: int) -> None:
    """Delete the files of a job, and the parts that a worker wrote who died before they were whole files."""
    for each in (table, parts):
        tx.execute(delete(each).where(each.c.job_number == job_number))


def clear_unfinished(tx: Transaction, job_number: int) -> None:
    """Delete the parts of a job that was ended before they were whole files."""
    whole = select(table.c.path).where(table.c.job_number == job_number)
    tx.execute(delete(parts).where(parts.c.job_number == job_number, parts.c.path.not_in(whole)))


def add_part(tx: Transaction, job_number: int, path: str, position: int, data: bytes) -> None:
    """Write a part of a file that `add` will complete."""
    tx.execute(insert(parts).values(job_number=job_number, path=path, position=position, data=data))


def add(tx: Transaction, files: Iterable[StoredFile]) -> None:
    """Complete files, all parts of which are there."""
    if rows := [asdict(each) for each in files]:
        tx.execute(insert(table), rows)


def find(tx: Transaction, job_number: int, path: str) -> StoredFile | None:
    """Return the file of this path that a job has made; None if there is none."""
    row = tx.execute(select(table).where(table.c.job_number == job_number, table.c.path == path)).first()
    return StoredFile(**row._mapping) if row else None


def get(database: Database, file: StoredFile) -> Iterator[bytes]:
    """Return the file as it is stored, part by part.

    Each part is read in a transaction of its own: whoever takes the parts may be slow, and holds no connection.
    """
    for position in count():
        own = (parts.c.job_number == file.job_number) & (parts.c.path == file.path) & (parts.c.position == position)
        with database.reading() as tx:
            data = tx.execute(select(parts.c.data).where(own)).scalar()
        if data is None:
            return
        yield data
