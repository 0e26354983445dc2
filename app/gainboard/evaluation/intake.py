"""An uploaded file on its way in: read in a stream, hashed and compressed in the same pass."""

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
"""Of zstd. On run files it is not only faster than its default of 3: what comes out is no larger either."""

IN_MEMORY_BYTES = 8 << 20
"""A body larger than this waits on disk, so that memory stays flat whatever is uploaded."""


@dataclass
class Body:
    """The bytes that arrived: a file that can be read again from its start, and how it says it is compressed."""

    file: BinaryIO
    encoding: str | None = None


class Intake:
    """One uploaded file. `chunks` gives its content; once that is read to its end, the rest is known.

    A context manager: leaving it gives up the compressed copy, which `store` needs.
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
        """Of the decompressed content."""
        return self._hash.hexdigest()

    def chunks(self) -> Iterator[bytes]:
        """The decompressed content from its start; a second call begins again."""
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
        """Puts the content into the store, unless it is there."""
        self._compressed.seek(0)
        blobs.put(tx, self.sha256, self.size, iter(lambda: self._compressed.read(blobs.PART_BYTES), b""))
