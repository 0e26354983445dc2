"""The intake of an uploaded file: read as a stream, hashed and compressed in one pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from gainboard.store import blobs
from gainboard.store.database import Transaction
from gainboard.trec import Limits, decompressed
from gainboard.trec.zstd import ZstdCompressor

COMPRESSION_LEVEL = 1
"""The level of zstd. On run files it is faster than the default of 3, and the result is no larger."""

IN_MEMORY_BYTES = 8 << 20
"""A body larger than this is kept on disk, so that memory does not grow with uploads."""


@dataclass
class Body:
    """The bytes that arrived: a file that can be read again from its start, and its declared compression."""

    file: BinaryIO
    encoding: str | None = None


class Intake:
    """One uploaded file. `chunks` yields its content; hash and size are known after the last chunk.

    This is a context manager. At its end it deletes the compressed copy, which `store` needs.
    """

    def __init__(self, body: Body, limits: Limits) -> None:
        self._body = body
        self._limits = limits
        self._compressed = SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 (closed on leaving)
        self._hash = hashlib.sha256()
        self.size = 0

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *exception: object) -> None:
        self._compressed.close()

    @property
    def sha256(self) -> str:
        """The hash of the decompressed content."""
        return self._hash.hexdigest()

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content from its start; a second call begins again."""
        self._body.file.seek(0)
        self._hash, self.size = hashlib.sha256(), 0
        self._compressed.seek(0)
        self._compressed.truncate()
        compressor = ZstdCompressor(COMPRESSION_LEVEL)
        for chunk in decompressed(self._body.file, self._body.encoding, self._limits):
            self._hash.update(chunk)
            self.size += len(chunk)
            self._compressed.write(compressor.compress(chunk))
            yield chunk
        self._compressed.write(compressor.flush())

    def store(self, tx: Transaction) -> None:
        """Put the content into the store, unless it is there."""
        self._compressed.seek(0)
        blobs.put(tx, self.sha256, self.size, iter(lambda: self._compressed.read(blobs.PART_BYTES), b""))
