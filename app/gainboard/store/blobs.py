"""Files as they were uploaded, and results: compressed, under the SHA-256 of their content.

The compressed content is in the database, or outside of it in an object (`Database.objects`). An object is written
before the transaction that refers to it, and its name is recorded before it is written. Objects without a reference
are therefore known, and `delete_orphans` deletes them. `move` moves the content of all files out of the database, or
back.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Collection as Container
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from itertools import count
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Literal, NamedTuple, cast
from uuid import uuid4

from sqlalchemy import ColumnElement, Row, Table, and_, bindparam, delete, func, insert, or_, select, update

from gainboard.errors import BadInput, DatabaseBusy, NoSpace, ObjectsUnreachable, Refused, Unavailable, Unexpected
from gainboard.store.database import Database, Transaction, insert_for
from gainboard.store.objects import Objects
from gainboard.store.tables import blob_parts, blobs, jobs, objects, qrels, releases, runs
from gainboard.trec.bodies import ZstdDecompressor, ZstdError

PART_BYTES = 4 << 20
"""Databases copy a value as a whole. Parts keep this copy small, whatever the size of the file."""
IS_INSIDE = select(blob_parts.c.sha256).where(blob_parts.c.sha256 == blobs.c.sha256).exists()
IS_OUTSIDE = blobs.c.object_name.is_not(None)
HAS_CONTENT = or_(IS_OUTSIDE, IS_INSIDE)
"""True for a row of `blobs` whose content is stored. `delete_unneeded` keeps the row."""
# Statements of every upload are built once.
_ADD_PART = insert(blob_parts)
# SQLAlchemy reserves the names of columns for the new values, so this parameter has another name.
_SET_PLACE = update(blobs).where(blobs.c.sha256 == bindparam("of"))
ORPHAN_AFTER = timedelta(days=1)
"""The age at which an object without a reference is deleted: the transaction that would refer to it is long over."""
_SPARE_BYTES = 1 << 16
IN_MEMORY_BYTES = 8 << 20
Place = Literal["database", "objects"]
Told = Callable[[int, int], None]
"""A function that is called after every file: the number of files so far, and of all files to be moved."""

log = logging.getLogger("gainboard")


@dataclass
class Content:
    """The content of a file, as a zstd stream, on its way into the store."""

    sha256: str
    size: int
    compressed: IO[bytes] | bytes
    object_name: str | None = None
    is_used: bool = field(default=False, init=False)

    def parts(self) -> Iterator[bytes]:
        """Yield the stream in parts for the database."""
        if isinstance(self.compressed, bytes):
            whole = self.compressed
            yield from (whole[start : start + PART_BYTES] for start in range(0, len(whole), PART_BYTES))
            return
        self.compressed.seek(0)
        while part := self.compressed.read(PART_BYTES):
            yield part


@contextmanager
def prepared(database: Database, sha256: str, size: int, compressed: IO[bytes] | bytes) -> Iterator[Content]:
    """Yield content for `put`, in a transaction inside of this context.

    If files are kept outside of the database, the object is written now, before the transaction. At the end it is
    deleted unless a row may refer to it.
    """
    content = Content(sha256, size, compressed)
    if database.objects is not None:
        # A name is never used twice, so whoever deletes an object cannot delete what somebody else has just written.
        name = f"{sha256[:2]}/{sha256}.{uuid4().hex}.zst"
        with database.writing() as tx:
            # Recorded before it is written: a crash in between leaves a name without an object, and never the reverse.
            tx.execute(insert(objects).values(name=name, created_at=database.machine.now()))
        if not isinstance(compressed, bytes):
            compressed.seek(0)
        try:
            database.objects.put(name, compressed)
        except NoSpace as error:
            database.note_lack(error.__cause__)
            raise
        content.object_name = name
    try:
        yield content
    except (BadInput, Refused):
        # The transaction was rolled back. After other errors it may have been committed, and a row may refer to the
        # object.
        content.is_used = False
        raise
    finally:
        if content.object_name is not None and not content.is_used:
            _delete_objects(database, [content.object_name])


def put(tx: Transaction, content: Content) -> None:
    """Store the content. Equal content is stored only once."""
    # Two collections may store the same file at the same time, and only this statement makes one wait for the other.
    row = {"sha256": content.sha256, "size": content.size}
    is_new = tx.execute(_add_new(insert_for(tx)), row).first() is not None
    if not is_new and lock(tx, [content.sha256], HAS_CONTENT):
        return
    set_content(tx, content)


@cache
def _add_new(insert_into: Callable[[Table], Any]) -> Any:
    return insert_into(blobs).on_conflict_do_nothing().returning(blobs.c.sha256)


def set_content(tx: Transaction, content: Content) -> int:
    """Store the content of an existing row of `blobs`. Return the number of parts in the database."""
    tx.execute(_SET_PLACE, {"of": content.sha256, "object_name": content.object_name})
    if content.object_name is not None:
        content.is_used = True
        return 0
    number = 0
    for position, part in enumerate(content.parts()):
        tx.execute(_ADD_PART, {"sha256": content.sha256, "position": position, "data": part})
        number += 1
    return number


def is_needed(unless: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
    """Return the condition that a file is the content of a run, of qrels, of a result or of a release.

    Runs whose content was deleted do not count, nor runs for which `unless` holds.
    """
    of_runs = select(runs.c.sha256).where(runs.c.sha256 == blobs.c.sha256, runs.c.pruned_at.is_(None))
    if unless is not None:
        of_runs = of_runs.where(~unless)
    of_qrels = select(qrels.c.sha256).where(qrels.c.sha256 == blobs.c.sha256)
    of_results = select(jobs.c.result_sha256).where(jobs.c.result_sha256 == blobs.c.sha256)
    of_releases = select(releases.c.id).where(
        or_(releases.c.sha256 == blobs.c.sha256, releases.c.evidence_sha256 == blobs.c.sha256)
    )
    return of_runs.exists() | of_qrels.exists() | of_results.exists() | of_releases.exists()


def with_content(tx: Transaction, hashes: Container[str]) -> set[str]:
    """Return those of the files whose content is stored."""
    return set(tx.execute(select(blobs.c.sha256).where(blobs.c.sha256.in_(hashes), HAS_CONTENT)).scalars())


def bytes_without(tx: Transaction, gone: ColumnElement[bool]) -> int:
    """Return the size of the content that nothing would need without the runs for which `gone` holds."""
    these = blobs.c.sha256.in_(select(runs.c.sha256).where(gone)), HAS_CONTENT, ~is_needed(unless=gone)
    return _size(tx, and_(*these))


def _size(tx: Transaction, which: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.coalesce(func.sum(blobs.c.size), 0)).where(which)).scalar_one())


def lock(tx: Transaction, hashes: Container[str], which: ColumnElement[bool]) -> list[str]:
    """Lock the rows of these files, so that nobody else stores or deletes their content. Return those that match."""
    these = blobs.c.sha256.in_(hashes)
    # In one order, so that two transactions never wait for each other. Rows that refer to these may be added meanwhile.
    tx.execute(select(blobs.c.sha256).where(these).order_by(blobs.c.sha256).with_for_update(key_share=True)).all()
    # Only a second statement sees what others have committed while the first one waited.
    return list(tx.execute(select(blobs.c.sha256).where(these, which)).scalars())


def delete_unneeded(tx: Transaction, hashes: Container[str]) -> Deleted:
    """Delete the content of those of the files that nothing needs.

    The rows of `blobs` stay, because rows of pruned runs refer to them. `put` stores the content again. Content outside
    of the database is only forgotten: pass the answer to `delete_forgotten` after the transaction.
    """
    unneeded = lock(tx, hashes, ~is_needed() & HAS_CONTENT)
    these = blobs.c.sha256.in_(unneeded)
    names = list(tx.execute(select(blobs.c.object_name).where(these, IS_OUTSIDE)).scalars())
    tx.execute(delete(blob_parts).where(blob_parts.c.sha256.in_(unneeded)))
    tx.execute(update(blobs).where(these).values(object_name=None))
    return Deleted(_size(tx, these), names)


class Deleted(NamedTuple):
    """The decompressed bytes of deleted content, and the names of objects that nothing refers to any more."""

    bytes: int
    forgotten: Sequence[str]


def delete_forgotten(database: Database, deleted: Deleted) -> None:
    """Delete the objects of deleted content. Those that cannot be deleted now are orphans."""
    _delete_objects(database, deleted.forgotten)


def delete_orphans(database: Database) -> int:
    """Delete the objects that nothing refers to, from uploads that failed long ago. Return their number."""
    old = objects.c.created_at < database.machine.now() - ORPHAN_AFTER
    unused = ~select(blobs.c.sha256).where(blobs.c.object_name == objects.c.name).exists()
    with database.reading() as tx:
        names = list(tx.execute(select(objects.c.name).where(old, unused)).scalars())
    return _delete_objects(database, names)


def _delete_objects(database: Database, names: Sequence[str]) -> int:
    """Delete the objects, and then their names. Return how many were deleted; the others stay known as orphans."""
    if not names or database.objects is None:
        return 0
    try:
        # The objects come first. If the process dies in between, their names still tell what is to be deleted.
        database.objects.delete(names)
        with database.writing() as tx:
            tx.execute(delete(objects).where(objects.c.name.in_(names)))
    except Unavailable:
        # The reason is in the log. The objects stay known, and the next pruning tries again.
        return 0
    return len(names)


def get(database: Database, sha256: str) -> Iterator[bytes]:
    """Yield the decompressed content, in pieces of a few MiB. The last piece comes only if the content is whole.

    Each part is read in a transaction of its own, because the reader may be slow and content never changes. A download
    therefore holds no connection and no snapshot. Raise ObjectsUnreachable, or Unexpected for damaged content.
    """
    with database.reading() as tx:
        file = tx.execute(select(blobs).where(blobs.c.sha256 == sha256)).one()
    name = file.object_name
    stream = parts_of(database, sha256) if name is None else require_objects(database).get(name)
    try:
        yield from check_content(stream, sha256, file.size)
    except (Damaged, EOFError) as error:
        if name is None and isinstance(error, EOFError):
            raise DatabaseBusy("The file was moved or deleted while it was read. Try again shortly.") from error
        log.error(
            "the content of the file %s in %s is damaged: %s",
            sha256,
            name or "the database",
            error or "its end is missing",
        )
        raise Unexpected(
            f"The stored content of the file {sha256} is damaged, so it is not used. Ask the service's operator to run "
            "`gainboard doctor --thorough`, and to restore a backup."
        ) from error


class Damaged(Exception):
    """The stored content differs from what was stored. The message says how."""


def check_content(stream: Iterable[bytes], sha256: str, size: int) -> Iterator[bytes]:
    """Yield the content of a zstd stream. The last piece comes only if the content has this hash and size.

    So nobody takes damaged content for a whole file, and content of one piece is checked before anybody has it. Raise
    Damaged, or EOFError if the end is missing.
    """
    digest, held = hashlib.sha256(), b""
    for piece in _decompress(stream, size):
        digest.update(piece)
        if held:
            yield held
        held = piece
    if digest.hexdigest() != sha256:
        raise Damaged("its hash is another one")
    yield held


def _decompress(stream: Iterable[bytes], size: int) -> Iterator[bytes]:
    """Yield the content of a zstd stream. Raise Damaged once the stream has more than content of this size needs."""
    decompressor, taken, size_so_far = ZstdDecompressor(), 0, 0
    for part in stream:
        # A frame may have any number of empty blocks. Ours are at most slightly larger than their content.
        if decompressor.eof or (taken := taken + len(part)) > size + size // 128 + _SPARE_BYTES:
            raise Damaged("the compressed content is too long")
        data = part
        # A part may decompress to much more than its size, so the content is read in pieces of limited size.
        while not decompressor.eof:
            try:
                # One byte more than is left shows that there is more than there should be.
                piece = decompressor.decompress(data, min(PART_BYTES, size - size_so_far + 1))
            except ZstdError as error:
                raise Damaged(str(error)) from error
            if (size_so_far := size_so_far + len(piece)) > size:
                raise Damaged(f"it has more than {size} bytes")
            if piece:
                yield piece
            if decompressor.needs_input:
                break
            data = b""
    if not decompressor.eof:
        raise EOFError
    if decompressor.unused_data:
        raise Damaged("something follows the compressed content")


def is_whole(stream: Iterable[bytes], sha256: str, size: int) -> bool:
    """Return whether this is the zstd stream of the content with this hash and size."""
    try:
        for _ in check_content(stream, sha256, size):
            pass
    except (Damaged, EOFError):
        return False
    return True


def require_objects(database: Database) -> Objects:
    """Return the store of the files outside of the database. Raise ObjectsUnreachable if none is configured."""
    if database.objects is None:
        raise ObjectsUnreachable(
            "This file is kept outside of the database, but this server does not know where. Set GAINBOARD_OBJECTS."
        )
    return database.objects


def parts_of(database: Database, sha256: str) -> Iterator[bytes]:
    """Yield the compressed content that is in the database, each part in a transaction of its own."""
    for position in count():
        query = select(blob_parts.c.data).where(blob_parts.c.sha256 == sha256, blob_parts.c.position == position)
        with database.reading() as tx:
            part = tx.execute(query).scalar()
        if part is None:
            return
        yield part


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
        rows = tx.execute(select(blobs).where(elsewhere).order_by(blobs.c.sha256)).all()
    moved = Moved()
    for done, row in enumerate(rows, start=1):
        with cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)) as copy:
            # The copy is checked before the content leaves its old place.
            if is_whole(_copy_through(_stream(database, row), copy), row.sha256, row.size):
                (_move_in if place == "database" else _move_out)(database, row, copy)
                moved.files, moved.bytes = moved.files + 1, moved.bytes + row.size
            else:
                moved.broken.append(row.sha256)
        told(done, len(rows))
    return moved


def _move_out(database: Database, row: Row[tuple[str, int, str | None]], copy: IO[bytes]) -> None:
    with prepared(database, row.sha256, row.size, copy) as content, database.writing() as tx:
        # Unless somebody has pruned it since the list of files was read.
        if lock(tx, [row.sha256], IS_INSIDE):
            tx.execute(delete(blob_parts).where(blob_parts.c.sha256 == row.sha256))
            set_content(tx, content)


def _move_in(database: Database, row: Row[tuple[str, int, str | None]], copy: IO[bytes]) -> None:
    with database.writing() as tx:
        # Somebody may have pruned it, or moved it, since the list of files was read.
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
            if not is_whole(_copy_through(_stream(database, row), stream), row.sha256, row.size):
                raise ObjectsUnreachable(f"The content of the object {row.object_name} is damaged.")
            number += set_content(copy, Content(row.sha256, row.size, stream))
    copy.execute(delete(objects))
    return number


def _stream(database: Database, row: Row[tuple[str, int, str | None]]) -> Iterator[bytes]:
    if row.object_name is None:
        return parts_of(database, row.sha256)
    return require_objects(database).get(row.object_name)


def _copy_through(stream: Iterable[bytes], copy: IO[bytes]) -> Iterator[bytes]:
    for piece in stream:
        copy.write(piece)
        yield piece
