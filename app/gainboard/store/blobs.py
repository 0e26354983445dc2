"""Files as they were uploaded, compressed, under the SHA-256 of their content."""

from __future__ import annotations

from collections.abc import Collection as Container
from collections.abc import Iterable, Iterator
from itertools import count

from sqlalchemy import ColumnElement, and_, delete, func, insert, select

from gainboard.store.database import Database, Transaction, insert_for
from gainboard.store.job_tables import jobs
from gainboard.store.tables import blob_parts, blobs, qrels, runs
from gainboard.trec.zstd import ZstdDecompressor

PART_BYTES = 4 << 20
"""Databases copy a value as a whole. Parts keep this copy small, whatever the size of the file."""
HAS_CONTENT = select(blob_parts.c.sha256).where(blob_parts.c.sha256 == blobs.c.sha256).exists()
"""True for a row of `blobs` whose content is stored. `delete_unneeded` keeps the row."""


def put(tx: Transaction, sha256: str, size: int, compressed: Iterable[bytes]) -> None:
    """Store a zstd stream whose decompressed content has this hash and size. Equal content is stored only once."""
    # Two collections may store the same file at the same time, and only this statement makes one wait for the other.
    insert_new = insert_for(tx)(blobs).values(sha256=sha256, size=size).on_conflict_do_nothing()
    if tx.execute(insert_new.returning(blobs.c.sha256)).first() is None and _lock(tx, [sha256], HAS_CONTENT):
        return
    for position, part in enumerate(compressed):
        tx.execute(insert(blob_parts).values(sha256=sha256, position=position, data=part))


def is_needed(unless: ColumnElement[bool] | None = None) -> ColumnElement[bool]:
    """Return the condition that a file is the content of a run, of qrels or of a result.

    Runs whose content was deleted do not count, nor runs for which `unless` holds.
    """
    of_runs = select(runs.c.sha256).where(runs.c.sha256 == blobs.c.sha256, runs.c.pruned_at.is_(None))
    if unless is not None:
        of_runs = of_runs.where(~unless)
    of_qrels = select(qrels.c.sha256).where(qrels.c.sha256 == blobs.c.sha256)
    of_results = select(jobs.c.result_sha256).where(jobs.c.result_sha256 == blobs.c.sha256)
    return of_runs.exists() | of_qrels.exists() | of_results.exists()


def bytes_without(tx: Transaction, gone: ColumnElement[bool]) -> int:
    """Return the size of the content that nothing would need without the runs for which `gone` holds."""
    these = blobs.c.sha256.in_(select(runs.c.sha256).where(gone)), HAS_CONTENT, ~is_needed(unless=gone)
    return _size(tx, and_(*these))


def _size(tx: Transaction, which: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.coalesce(func.sum(blobs.c.size), 0)).where(which)).scalar_one())


def _lock(tx: Transaction, hashes: Container[str], which: ColumnElement[bool]) -> list[str]:
    """Lock the rows of these files, so that nobody else stores or deletes their content. Return those that match."""
    these = blobs.c.sha256.in_(hashes)
    tx.execute(select(blobs.c.sha256).where(these).order_by(blobs.c.sha256).with_for_update(key_share=True)).all()
    # Only a second statement sees what others have committed while the first one waited.
    return list(tx.execute(select(blobs.c.sha256).where(these, which)).scalars())


def delete_unneeded(tx: Transaction, hashes: Container[str]) -> int:
    """Delete the content of those of the files that nothing needs. Return its size in bytes, decompressed.

    The rows of `blobs` stay, because rows of pruned runs refer to them. `put` stores the content again.
    """
    unneeded = _lock(tx, hashes, ~is_needed() & HAS_CONTENT)
    tx.execute(delete(blob_parts).where(blob_parts.c.sha256.in_(unneeded)))
    return _size(tx, blobs.c.sha256.in_(unneeded))


def cut(compressed: bytes) -> Iterator[bytes]:
    """Yield a stream that is in memory in the parts that `put` takes."""
    return (compressed[start : start + PART_BYTES] for start in range(0, len(compressed), PART_BYTES))


def get(database: Database, sha256: str) -> Iterator[bytes]:
    """Yield the decompressed content, in pieces of at most a few MiB.

    Each part is read in a transaction of its own, because the reader may be slow and content never changes. A download
    therefore holds no connection and no snapshot.
    """
    decompressor = ZstdDecompressor()
    for part in _parts(database, sha256):
        data = part
        # A part may decompress to much more than its size, so the content is read in pieces of limited size.
        while True:
            piece = decompressor.decompress(data, PART_BYTES)
            if piece:
                yield piece
            if decompressor.eof or decompressor.needs_input:
                break
            data = b""


def _parts(database: Database, sha256: str) -> Iterator[bytes]:
    for position in count():
        query = select(blob_parts.c.data).where(blob_parts.c.sha256 == sha256, blob_parts.c.position == position)
        with database.reading() as tx:
            part = tx.execute(query).scalar()
        if part is None:
            return
        yield part
