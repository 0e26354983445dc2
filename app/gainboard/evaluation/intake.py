"""The intake of an uploaded file: read as a stream, hashed and compressed in one pass.

A large file is read in a process of its own, because the reader keeps the server's process busy.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import IO, BinaryIO, TypeVar, cast

from gainboard.evaluation.reading import Chunks, apart
from gainboard.store.blobs import Content, prepared
from gainboard.store.database import Database
from gainboard.trec import FileLimits, decompressed, is_compressed
from gainboard.trec.zstd import ZstdCompressor

COMPRESSION_LEVEL = 1
"""The level of zstd. On run files it is faster than the default of 3, and the result is no larger."""

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


class Intake:
    """One uploaded file. `chunks` yields its content; hash and size are known after the last chunk.

    This is a context manager. At its end it deletes the compressed copy, which `prepared` needs.
    """

    def __init__(self, body: Body, limits: FileLimits, compressed: IO[bytes] | None = None) -> None:
        self._body = body
        self._limits = limits
        self._compressed = compressed or cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115
        self.sha256, self.size = "", 0

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *exception: object) -> None:
        self._compressed.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content from its start; a second call begins again."""
        self._body.file.seek(0)
        digest, self.size = hashlib.sha256(), 0
        self._compressed.seek(0)
        self._compressed.truncate()
        compressor = ZstdCompressor(COMPRESSION_LEVEL)
        for chunk in decompressed(self._body.file, self._body.encoding, self._limits):
            digest.update(chunk)
            self.size += len(chunk)
            self._compressed.write(compressor.compress(chunk))
            yield chunk
        self._compressed.write(compressor.flush())
        self.sha256 = digest.hexdigest()

    def read(self, task: Callable[[Chunks], T]) -> T:
        """Return what a function makes of the content. A large body is read in a process of its own.

        The function and what it returns must be picklable.
        """
        if not self._is_large():
            return task(self.chunks)
        # To ask for a descriptor moves a file from memory to the disk, where the other process can read it.
        files = self._body.file.fileno(), self._compressed.fileno()
        made: T
        made, self.sha256, self.size = apart(_read_there, task, *files, self._body.encoding, self._limits, files=files)
        return made

    def _is_large(self) -> bool:
        file = self._body.file
        size = file.seek(0, SEEK_END)
        file.seek(0)
        compressed = is_compressed(file.read(HEAD_BYTES), self._body.encoding)
        return size > (LARGE_COMPRESSED_BYTES if compressed else LARGE_BYTES)

    def prepared(self, database: Database) -> AbstractContextManager[Content]:
        """Return a context around the transaction that stores the content."""
        return prepared(database, self.sha256, self.size, self._compressed)


def _read_there(
    task: Callable[[Chunks], T], body: int, compressed: int, encoding: str | None, limits: FileLimits
) -> tuple[T, str, int]:
    """Read a body in another process, from a descriptor; leave its compressed copy in the other descriptor."""
    with os.fdopen(body, "rb") as file, Intake(Body(file, encoding), limits, os.fdopen(compressed, "w+b")) as intake:
        return task(intake.chunks), intake.sha256, intake.size
