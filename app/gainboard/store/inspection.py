"""Reading a database that may be absent, damaged, older or newer, without changing its schema or file."""

from __future__ import annotations

import hashlib
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from sqlalchemy import Connection, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from gainboard.errors import DatabaseUnusable
from gainboard.store.backup.files import in_words
from gainboard.store.blobs import HAS_CONTENT, IS_OUTSIDE, is_needed, is_whole, require_objects
from gainboard.store.database import Database
from gainboard.store.files import GZIP
from gainboard.store.job_records import DERIVED_KINDS
from gainboard.store.schema import require_known, revision_of, revisions
from gainboard.store.tables import blob_parts, blobs, job_file_parts, job_files, jobs, read_json


@contextmanager
def looking(database: Database) -> Iterator[Connection]:
    """Open a transaction that sees one state and cannot write. Raise DatabaseUnusable with the driver's message."""
    path = database.path
    if path is None:
        with in_words("read the database"), database.reading() as tx:
            yield tx
        return
    # Even readers create the files of a write-ahead log, and leave them. If there are none, nobody has the database
    # open.
    is_in_use = path.with_name(f"{path.name}-wal").exists()
    uri = f"{path.resolve().as_uri()}?mode=ro{'' if is_in_use else '&immutable=1'}"
    engine = create_engine(
        "sqlite://",
        creator=lambda: sqlite3.connect(uri, uri=True, isolation_level=None),
        poolclass=NullPool,
        hide_parameters=True,
        json_deserializer=read_json,
    )
    try:
        with in_words("read the database"), engine.connect() as tx:
            tx.exec_driver_sql("BEGIN")
            # BEGIN alone reads nothing: this read fixes the state, and finds out whether the file is a database.
            tx.exec_driver_sql("SELECT count(*) FROM sqlite_master")
            yield tx
    finally:
        engine.dispose()


@dataclass(frozen=True, slots=True)
class Schema:
    """The revision of a database (None: none), this version's, and whether this version knows the former."""

    found: str | None
    newest: str
    is_known: bool


def schema(tx: Connection) -> Schema:
    """Return the state of the database's schema."""
    revision = revision_of(tx)
    return Schema(revision, revisions()[-1], revision is None or revision in revisions())


def require_current(database: Database) -> None:
    """Raise DatabaseUnusable, DatabaseNewer or DatabaseOlder unless the database has this version's schema."""
    database.require_made()
    with looking(database) as tx:
        stored = schema(tx)
    require_known(stored.found, f"The database {database.engine.url!r}")
    if stored.found != stored.newest:
        raise DatabaseUnusable(
            f"The database {database.engine.url!r} has the schema {stored.found or 'of no version'}, but this version "
            f"needs {stored.newest}. Make a backup, and run `gainboard migrate` first."
        )


def server_version(tx: Connection) -> str:
    """Return the kind and version of the database server."""
    if tx.dialect.name == "sqlite":
        return f"SQLite {sqlite3.sqlite_version}"
    return f"PostgreSQL {tx.execute(text('SHOW server_version')).scalar_one()}"


def size(tx: Connection) -> int:
    """Return the size of the database in bytes, without a write-ahead log."""
    if tx.dialect.name == "sqlite":
        pages, page = (tx.execute(text(f"PRAGMA {name}")).scalar_one() for name in ("page_count", "page_size"))
        return int(pages * page)
    return int(tx.execute(text("SELECT pg_database_size(current_database())")).scalar_one())


def damage(tx: Connection, *, thorough: bool) -> str | None:
    """Return the damage that SQLite finds in the file, or None. `thorough` compares indexes with their tables."""
    try:
        said = tx.execute(text(f"PRAGMA {'integrity_check' if thorough else 'quick_check'}(1)")).scalar_one()
        dangling = tx.execute(text("PRAGMA foreign_key_check")).first() if thorough else None
    except DBAPIError as error:
        return str(error.orig)
    if said != "ok":
        return str(said)
    return f"the table {dangling[0]} refers to missing rows of {dangling[2]}" if dangling is not None else None


def jobs_by_state(tx: Connection) -> Mapping[str, int]:
    """Return the number of jobs in each state."""
    rows = tx.execute(
        select(jobs.c.state, func.count()).where(jobs.c.kind.not_in(DERIVED_KINDS)).group_by(jobs.c.state)
    ).all()
    return {state: count for state, count in rows}  # noqa: C416 (a row is no tuple to mypy)


def broken_files(database: Database, tx: Connection) -> Iterator[str]:
    """Read every stored file, and yield the hashes of those whose content is missing or has changed.

    Raise ObjectsUnreachable if files are outside of the database and cannot be read.
    """
    # The content of pruned runs was deleted on purpose.
    for row in tx.execute(select(blobs).where(HAS_CONTENT | is_needed())).all():
        stream = _parts(tx, row.sha256) if row.object_name is None else require_objects(database).get(row.object_name)
        if not is_whole(stream, row.sha256, row.size):
            yield row.sha256


def files_outside(tx: Connection) -> int:
    """Return the number of files whose content is outside of the database."""
    return tx.execute(select(func.count()).select_from(blobs).where(IS_OUTSIDE)).scalar_one()


def broken_exhibits(tx: Connection) -> Iterator[str]:
    """Read every file that workers have made of results, and yield the paths of those whose content has changed."""
    for file in tx.execute(select(job_files)).all():
        of_file = (job_file_parts.c.job_number == file.job_number) & (job_file_parts.c.path == file.path)
        positions = select(job_file_parts.c.position).where(of_file).order_by(job_file_parts.c.position)
        decompressor, digest = zlib.decompressobj(GZIP), hashlib.sha256()
        try:
            for position in tx.execute(positions).scalars().all():
                this = select(job_file_parts.c.data).where(of_file, job_file_parts.c.position == position)
                digest.update(decompressor.decompress(tx.execute(this).scalar_one()))
            is_whole = decompressor.eof and digest.hexdigest() == file.sha256
        except zlib.error:
            is_whole = False
        if not is_whole:
            yield f"{file.path} of job number {file.job_number}"


def _parts(tx: Connection, sha256: str) -> Iterator[bytes]:
    # Part after part, because a driver may hold all rows of one result in memory.
    positions = select(blob_parts.c.position).where(blob_parts.c.sha256 == sha256).order_by(blob_parts.c.position)
    for position in tx.execute(positions).scalars().all():
        this = (blob_parts.c.sha256 == sha256) & (blob_parts.c.position == position)
        yield tx.execute(select(blob_parts.c.data).where(this)).scalar_one()
