"""Files of results, made by workers: written once, in parts, and read part by part."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import count

from sqlalchemy import delete, insert, select

from gainboard.store.damage import find_record, list_records
from gainboard.store.database import Database, Transaction
from gainboard.store.job_records import StoredFile
from gainboard.store.tables import job_file_parts as parts
from gainboard.store.tables import job_files as table

GZIP = 31
"""The window of zlib, with a gzip header. Its time is 0, so equal files are equal bytes."""


def clear(tx: Transaction, job_number: int) -> None:
    """Delete the files of a job, and the parts that a dead worker has left."""
    for kept_in in (table, parts):
        tx.execute(delete(kept_in).where(kept_in.c.job_number == job_number))


def clear_unfinished(tx: Transaction, job_number: int) -> None:
    """Delete the incomplete files of a job that was ended."""
    whole = select(table.c.path).where(table.c.job_number == job_number)
    tx.execute(delete(parts).where(parts.c.job_number == job_number, parts.c.path.not_in(whole)))


def add_part(tx: Transaction, job_number: int, path: str, position: int, data: bytes) -> None:
    """Write a part of a file that `add` will complete."""
    tx.execute(insert(parts).values(job_number=job_number, path=path, position=position, data=data))


def add(tx: Transaction, files: Iterable[StoredFile]) -> None:
    """Store files whose parts are all written."""
    if rows := [asdict(file) for file in files]:
        tx.execute(insert(table), rows)


def find(tx: Transaction, job_number: int, path: str) -> StoredFile | None:
    """Return the file with this path that a job has made; None if there is none."""
    return find_record(tx, StoredFile, select(table).where(table.c.job_number == job_number, table.c.path == path))


def page(tx: Transaction, job_number: int) -> list[StoredFile]:
    """Return all files that a job has made, by path."""
    query = select(table).where(table.c.job_number == job_number).order_by(table.c.path)
    return list_records(tx, StoredFile, query)


def get(database: Database, file: StoredFile) -> Iterator[bytes]:
    """Yield the stored form of the file, part by part.

    Each part is read in a transaction of its own, because the reader may be slow: it holds no connection.
    """
    for position in count():
        this_part = (
            (parts.c.job_number == file.job_number) & (parts.c.path == file.path) & (parts.c.position == position)
        )
        with database.reading() as tx:
            data = tx.execute(select(parts.c.data).where(this_part)).scalar()
        if data is None:
            return
        yield data
