"""Files as they were uploaded, compressed, under the SHA-256 of their content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from sqlalchemy import insert, select

from gainboard.store.database import Database, Transaction, insert_for
from gainboard.store.tables import blob_parts, blobs
from gainboard.trec.zstd import ZstdDecompressor

PART_BYTES = 4 << 20
"""Databases copy a value as a whole. Parts keep this copy small, whatever the size of the file."""


def put(tx: Transaction, sha256: str, size: int, compressed: Iterable[bytes]) -> None:
    """Store a zstd stream whose decompressed content has this hash and size. Equal content is stored only once."""
    # Two collections may store the same file at the same time, and only this statement makes one wait for the other.
    insert_new = insert_for(tx)(blobs).values(sha256=sha256, size=size).on_conflict_do_nothing()
    if tx.execute(insert_new.returning(blobs.c.sha256)).first() is None:
        return
    for position, part in enumerate(compressed):
        tx.execute(insert(blob_parts).values(sha256=sha256, position=position, data=part))


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
