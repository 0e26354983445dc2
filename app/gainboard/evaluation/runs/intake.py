"""The intake of an uploaded file: read as a stream, hashed and, unless it is well compressed, compressed in one pass.

A large file is read in a process of its own, because the reader keeps the server's process busy.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, TypeVar, cast

from gainboard.evaluation.runs.apart import apart
from gainboard.evaluation.runs.run_files import Chunks
from gainboard.store.blobs import Content, prepared
from gainboard.store.database import Database
from gainboard.trec import FileLimits, decompress_body, is_compressed
from gainboard.trec.bodies import ZSTD, Packing
from gainboard.trec.zstd import ZstdCompressor

COMPRESSION_LEVEL = 1
"""The level of zstd. On run files it is faster than the default of 3, and the result is no larger."""

WELL_PACKED = 0.4
"""A body is stored as it was sent if it is one zstd frame of at most this share of its content. Level 1 makes 0.22 to
0.34 of a run."""

LARGE_BYTES = 16 << 20
LARGE_COMPRESSED_BYTES = 4 << 20
"""A body larger than this is read in a process of its own; most compressed files become five times as large."""
HEAD_BYTES = 16
"""So many bytes tell whether a file is compressed, and how."""

IN_MEMORY_BYTES = 8 << 20
"""A body larger than this is kept on disk, so that memory does not grow with uploads."""


T = TypeVar("T")


@dataclass
class Body:
    """The bytes that arrived: a file that can be read again from its start, and its declared compression."""

    file: BinaryIO
    encoding: str | None = None

    @property
    def size(self) -> int:
        return self.file.seek(0, SEEK_END)

    @property
    def is_large(self) -> bool:
        """True if it is to be read in a process of its own."""
        self.file.seek(0)
        compressed = is_compressed(self.file.read(HEAD_BYTES), self.encoding)
        return self.size > (LARGE_COMPRESSED_BYTES if compressed else LARGE_BYTES)


class Intake:
    """One uploaded file. `chunks` yields its content; hash and size are known after the last chunk.

    This is a context manager. At its end it deletes the compressed copy, which `prepared` needs unless the body is
    stored as it was sent: to compress a large run again would take as long as to read it.
    """

    def __init__(self, body: Body, limits: FileLimits, compressed: IO[bytes] | None = None) -> None:
        self._body = body
        self._limits = limits
        self._compressed = compressed or cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115
        self.sha256, self.size, self.is_sent_stored = "", 0, False

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *exception: object) -> None:
        self._compressed.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content from its start; a second call begins again."""
        packing, digest, self.size = Packing(), hashlib.sha256(), 0
        content = self._content(packing)
        may_be_stored = packing.codec == ZSTD.name
        # A second reading begins anew, for example by the plain reader once the compiled one has given up.
        self._compressed.seek(0)
        self._compressed.truncate()
        for chunk in content if may_be_stored else self._compressing(content):
            digest.update(chunk)
            self.size += len(chunk)
            yield chunk
        self.sha256 = digest.hexdigest()
        self.is_sent_stored = may_be_stored and packing.members == 1 and self._body.size <= WELL_PACKED * self.size
        if may_be_stored and not self.is_sent_stored:
            # Only now it is known that the body is not compressed well enough to be stored as it was sent.
            deque(self._compressing(self._content()), maxlen=0)

    def _content(self, packing: Packing | None = None) -> Iterator[bytes]:
        self._body.file.seek(0)
        return decompress_body(self._body.file, self._body.encoding, self._limits, packing)

    def _compressing(self, content: Iterator[bytes]) -> Iterator[bytes]:
        compressor = ZstdCompressor(COMPRESSION_LEVEL)
        for chunk in content:
            self._compressed.write(compressor.compress(chunk))
            yield chunk
        self._compressed.write(compressor.flush())

    def read(self, task: Callable[[Chunks], T]) -> T:
        """Return what a function makes of the content. A large body is read in a process of its own.

        The function and what it returns must be picklable.
        """
        if not self._body.is_large:
            return task(self.chunks)
        # To ask for a descriptor moves a file from memory to the disk, where the other process can read it.
        files = self._body.file.fileno(), self._compressed.fileno()
        content: T
        content, self.sha256, self.size, self.is_sent_stored = apart(
            _read_there, task, *files, self._body.encoding, self._limits, files=files
        )
        return content

    def prepared(self, database: Database) -> AbstractContextManager[Content]:
        """Return a context around the transaction that stores the content."""
        stored = self._body.file if self.is_sent_stored else self._compressed
        return prepared(database, self.sha256, self.size, stored)


def _read_there(
    task: Callable[[Chunks], T], body: int, compressed: int, encoding: str | None, limits: FileLimits
) -> tuple[T, str, int, bool]:
    """Read a body in another process, from a descriptor; leave its compressed copy in the other descriptor."""
    with os.fdopen(body, "rb") as file, Intake(Body(file, encoding), limits, os.fdopen(compressed, "w+b")) as intake:
        return task(intake.chunks), intake.sha256, intake.size, intake.is_sent_stored
