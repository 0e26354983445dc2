"""Files that are sent to the service: read again for every attempt, and compressed while they are sent if large."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import BinaryIO, TypeAlias

from gainboard.errors import BadInput

Source: TypeAlias = "str | bytes | os.PathLike[str] | BinaryIO"
"""A file: its path, its bytes, its text (with line breaks, which a path never has), or an open binary file."""

COMPRESSED_FROM = 64 << 10
"""The size in bytes from which compressing takes less time than it saves on most networks."""
PIECE = 1 << 20
_MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclass(slots=True)
class Upload:
    """A file to send."""

    _source: Path | bytes | BinaryIO
    _start: int | None = 0
    """The start of our part of an open file; None if the file can be read only once."""

    @classmethod
    def of(cls, source: Source) -> Upload:
        """Return the file of a source. Raise OSError if there is none, and BadInput if it is open as text."""
        if isinstance(source, str) and "\n" in source:
            return cls(source.encode())
        if isinstance(source, bytes):
            return cls(source)
        if isinstance(source, str | os.PathLike):
            with open(source, "rb") as file:
                # A pipe has a path, too, but it can be opened and read only once.
                return cls(Path(source) if S_ISREG(os.fstat(file.fileno()).st_mode) else _read_compressed(file))
        if isinstance(source, io.TextIOBase):
            raise BadInput('A file that is open as text cannot be sent unchanged. Open it as binary: open(path, "rb").')
        return cls(source, source.tell() if source.seekable() else None)

    def pieces(self) -> tuple[Iterator[bytes], str | None]:
        """Return the body from its start, and its Content-Encoding. A compressed file is sent unchanged."""
        if self._start is None:
            with self._opened() as file:
                self._source, self._start = _read_compressed(file), 0
        with self._opened() as file:
            first = file.read(COMPRESSED_FROM)
        if first.startswith(_MAGIC) or len(first) < COMPRESSED_FROM:
            return self._read(), None
        return _compress(self._read()), "zstd"

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        if isinstance(self._source, Path):
            return self._source.open("rb")
        if isinstance(self._source, bytes):
            return closing(io.BytesIO(self._source))
        if self._start is not None:
            self._source.seek(self._start)
        return nullcontext(self._source)  # the caller who opened it closes it

    def _read(self) -> Iterator[bytes]:
        with self._opened() as file:
            while piece := file.read(PIECE):
                yield piece


def _read_compressed(file: BinaryIO) -> bytes:
    """Read a file that can be read only once, and return it compressed."""
    first = file.read(PIECE)
    pieces = chain([first], iter(partial(file.read, PIECE), b""))
    return b"".join(pieces if first.startswith(_MAGIC) else _compress(pieces))


def _compress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    from gainboard.trec.zstd import ZstdCompressor  # noqa: PLC0415 (what reads files comes with it)

    compressor = ZstdCompressor()
    for piece in pieces:
        if out := compressor.compress(piece):
            yield out
    yield compressor.flush()
