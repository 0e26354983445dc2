"""Files as they were uploaded, compressed, under the SHA-256 of their content: put, get, delete."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import delete, insert, select

from app.store.database import Transaction, insert_for
from app.store.tables import blob_parts, blobs
from app.trec.zstd import ZstdDecompressor

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


def get(tx: Transaction, sha256: str) -> Iterator[bytes]:
    """The content, decompressed, in pieces of a few MiB at the most."""
    decompressor = ZstdDecompressor()
    for part in _parts(tx, sha256):
        data = part
        while True:
            piece = decompressor.decompress(data, PART_BYTES)
            if piece:
                yield piece
            if decompressor.eof or decompressor.needs_input:
                break
            data = b""


def _parts(tx: Transaction, sha256: str) -> Iterator[bytes]:
    position = 0
    columns = select(blob_parts.c.data).where(blob_parts.c.sha256 == sha256)
    while (part := tx.execute(columns.where(blob_parts.c.position == position)).scalar()) is not None:
        yield part
        position += 1


def remove(tx: Transaction, sha256: str) -> None:
    """Forgets the content; the caller knows that nothing refers to it."""
    tx.execute(delete(blobs).where(blobs.c.sha256 == sha256))
