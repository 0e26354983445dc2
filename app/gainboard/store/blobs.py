"""Files as they were uploaded, compressed, under the SHA-256 of their content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import count

from sqlalchemy import insert, select

from gainboard.store.database import Database, Transaction, insert_for
from gainboard.store.tables import blob_parts, blobs
from gainboard.trec.zstd import ZstdDecompressor

PART_BYTES = 4 << 20
"""Databases copy a value whole; parts keep that copy small whatever the size of the file."""


def put(tx: Transaction, sha256: str, size: int, compressed: Iterable[bytes]) -> None:
    """Stores a zstd stream whose decompressed content has this hash and size; the same content only once."""
    # Two collections may store the same file at once, and nothing makes one wait for the other but this.
    insert_new = insert_for(tx)(blobs).values(sha256=sha256, size=size).on_conflict_do_nothing()
    if tx.execute(insert_new.returning(blobs.c.sha256)).first() is None:
        return
    for position, part in enumerate(compressed):
        tx.execute(insert(blob_parts).values(sha256=sha256, position=position, data=part))


def cut(compressed: bytes) -> Iterator[bytes]:
    """A stream that is in memory as a whole, as `put` takes it."""
    return (compressed[start : start + PART_BYTES] for start in range(0, len(compressed), PART_BYTES))


def get(database: Database, sha256: str) -> Iterator[bytes]:
    """The content, decompressed, in pieces of a few MiB at the most.

    Each part is read in a transaction of its own, for whoever takes the pieces may be slow, and content never
    changes: no connection is held, and no snapshot kept alive, by a download.
    """
    decompressor = ZstdDecompressor()
    for part in _parts(database, sha256):
        data = part
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
