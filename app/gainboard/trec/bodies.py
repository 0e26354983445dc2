"""Compressed files and archives of strangers: decompression in small chunks within the limits, and tar."""

from __future__ import annotations

import os
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import SEEK_END
from pathlib import Path
from shutil import copyfileobj
from typing import IO, BinaryIO, Final, NamedTuple, Protocol

from gainboard.errors import Fault, FaultyFile, TooLarge, UnsupportedEncoding
from gainboard.trec.findings import MIB, FileLimits
from gainboard.trec.other_formats import GZIP_MARKS, ZSTD_MARKS, archive_of

__all__ = ["DecompressionParameter", "ZstdCompressor", "ZstdDecompressor", "ZstdError", "compress", "decompress"]


if sys.version_info >= (3, 14):
    from compression.zstd import (
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdError,
        compress,
        decompress,
    )
else:
    from backports.zstd import (
        DecompressionParameter,
        ZstdCompressor,
        ZstdDecompressor,
        ZstdError,
        compress,
        decompress,
    )


CHUNK = MIB
READ = MIB // 16
MEMBERS = 100_000  # even an empty member costs time; bgzip writes about 16,000 members of 64 KiB for 1 GiB
WINDOW_LOG = 25  # zstd allocates the window that a frame asks for; `zstd -20` writes frames with this window


class Decoder(Protocol):
    """A decoder of one compressed member (gzip) or frame (zstd), fed in pieces. `ZstdDecompressor` is one."""

    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int) -> bytes: ...


class GzipMember:
    """zlib's decompressor with the interface of zstd's.

    It keeps the input that did not fit into the output, and `needs_input` tells whether it needs more.
    """

    def __init__(self) -> None:
        self._inflate = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inflate.eof

    @property
    def unused_data(self) -> bytes:
        return self._inflate.unused_data

    def decompress(self, data: bytes, max_length: int) -> bytes:
        inflated = self._inflate.decompress(self._inflate.unconsumed_tail + data, max_length)
        # After a full chunk, zlib may hold more output even if no input is left.
        self.needs_input = len(inflated) < max_length
        return inflated


def _zstd_frame() -> Decoder:
    return ZstdDecompressor(options={DecompressionParameter.window_log_max: WINDOW_LOG})


class Codec(NamedTuple):
    """A compression format: its name, the bytes at the beginning of its files, and its decoder."""

    name: str
    magic: tuple[bytes, ...]
    decoder: Callable[[], Decoder]


GZIP = Codec("gzip", GZIP_MARKS, GzipMember)
ZSTD = Codec("zstd", ZSTD_MARKS, _zstd_frame)
ENCODINGS = {"gzip": GZIP, "x-gzip": GZIP, "zstd": ZSTD}


@dataclass
class Packing:
    """The form of a body: the name of its codec, None for a plain body, and the members or frames that were read."""

    codec: str | None = None
    members: int = 0


def decompress_body(
    source: BinaryIO, encoding: str | None, limits: FileLimits, packing: Packing | None = None
) -> Iterator[bytes]:
    """Return the decompressed body of `source`, as chunks of at most 1 MiB.

    `encoding` is the value of Content-Encoding. If it is None or `identity`, the first bytes decide between gzip, zstd
    and plain. Several gzip members or zstd frames form one body. `packing` is told at once which codec it is, and
    counts the members while the chunks are read.

    Raises:
        UnsupportedEncoding: the encoding or the archive format is not supported.
        FaultyFile: `bad-compression`, if the data is damaged, cut short or followed by other data.
        TooLarge: a limit is exceeded. For plain bodies, `decompressed_bytes` is the only limit.
    """
    body = _Body(source, limits)
    name = (encoding or "identity").strip().lower()
    if name not in (*ENCODINGS, "identity"):
        raise UnsupportedEncoding(f"Content-Encoding {name[:60]!r} is not supported. Use gzip or zstd, or none.")
    if name == "identity" and (archive := archive_of(body.head)):
        raise UnsupportedEncoding(f"The file is {archive}.")
    told = (codec for codec in (GZIP, ZSTD) if body.head.startswith(codec.magic))
    codec = ENCODINGS[name] if name in ENCODINGS else next(told, None)
    if codec is None:
        return body.guard(body.pieces(CHUNK))
    packing = packing or Packing()
    packing.codec = codec.name
    return body.guard(_inflate_members(body.compressed_pieces(), codec, packing))


def is_compressed(head: bytes, encoding: str | None) -> bool:
    """Return whether a body with these first bytes is compressed in a supported format."""
    return (encoding or "").strip().lower() in ENCODINGS or head.startswith((*GZIP.magic, *ZSTD.magic))


class _Body:
    """The source, with counts of the bytes read from it and of the bytes that were decompressed."""

    def __init__(self, source: BinaryIO, limits: FileLimits) -> None:
        self._source, self._limits = source, limits
        self.head = source.read(READ)
        # A source may give fewer bytes than were asked for, and the format is told by the first few.
        while len(self.head) < 16 and (more := source.read(READ)):
            self.head += more
        self.taken = 0

    def pieces(self, size: int) -> Iterator[bytes]:
        piece = self.head
        while piece:
            self.taken += len(piece)
            yield piece
            piece = self._source.read(size)

    def compressed_pieces(self) -> Iterator[bytes]:
        for piece in self.pieces(READ):
            if self.taken > self._limits.compressed_bytes:
                raise self._limits.exceeded("compressed_bytes", "The compressed body has more bytes than")
            yield piece

    def guard(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        out, limits = 0, self._limits
        # Checked after each chunk of at most 1 MiB: a small body that unpacks to gigabytes is stopped at its beginning.
        for chunk in chunks:
            out += len(chunk)
            if out > limits.decompressed_bytes:
                raise limits.exceeded("decompressed_bytes", "The file has more bytes than")
            if out > limits.ratio_after + limits.ratio * self.taken:
                what = f"The body decompresses to more than {limits.ratio_after:,} bytes and its size times"
                raise limits.exceeded("ratio", what)
            yield chunk


def _inflate_members(pieces: Iterable[bytes], codec: Codec, packing: Packing) -> Iterator[bytes]:
    decoder: Decoder | None = None
    for data in pieces:
        while data or (decoder and not decoder.needs_input):
            if decoder is None:
                decoder, packing.members = codec.decoder(), packing.members + 1
                if packing.members > MEMBERS:
                    message = f"The body has more than {MEMBERS:,} compressed members. Compress the file as a whole."
                    raise TooLarge(message, limit=MEMBERS)
            try:
                chunk = decoder.decompress(data, CHUNK)
            except (zlib.error, ZstdError) as error:
                message = f"The body is damaged or not {codec.name} ({error}). Compress the file again."
                raise _bad_compression(message) from error
            if chunk:
                yield chunk
            data, decoder = (decoder.unused_data, None) if decoder.eof else (b"", decoder)
    if decoder is not None:
        raise _bad_compression(f"The {codec.name} data is incomplete. Was the upload cut short? Send the whole file.")


def _bad_compression(message: str) -> FaultyFile:
    return FaultyFile([Fault("bad-compression", message)], 1)


PIECE: Final = 1 << 20
BLOCK: Final = 512
TAR_HEADERS: Final = (b"x", b"g", b"L", b"K", b"X")
"""The types of tar's entries that say something of the next one, and that `tarfile` reads at once."""
MOST_HEADER: Final = 64 << 10
MOST_MEMBERS: Final = 200_000


def require_plain_tar(packed: IO[bytes]) -> None:
    """Raise ValueError for an archive that `tarfile` could read only with much memory: it reads whole headers."""
    end, at, members = packed.seek(0, SEEK_END), 0, 0
    while at + BLOCK <= end:
        packed.seek(at)
        header = packed.read(BLOCK)
        if not header.strip(b"\0"):
            break
        size = tarfile.nti(header[124:136])  # type: ignore[attr-defined]
        members += 1
        is_header = header[156:157] in TAR_HEADERS
        if size < 0 or (is_header and size > MOST_HEADER) or members > MOST_MEMBERS:
            raise ValueError(f"it has a header of {size:,} bytes, or more than {MOST_MEMBERS:,} files")
        if is_header and b"GNU.sparse" in packed.read(size):
            raise ValueError("it has sparse files")
        at += BLOCK + -(-size // BLOCK) * BLOCK
    packed.seek(0)


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive below a folder. Raise TarError for links, devices, and paths that lead out of it.

    `tarfile` has a filter for this, but not in Python 3.11.2, which Debian 12 has.
    """
    root = Path(os.path.abspath(folder))
    for member in archive:
        path = Path(os.path.normpath(root / member.name))
        content = archive.extractfile(member) if member.isreg() else None
        # Before anything is written: an absolute path, or one with `..`, may lead anywhere.
        if not path.is_relative_to(root) or (content is None and not member.isdir()):
            raise tarfile.TarError(f"{member.name!r} is no plain file of the archive's own folder")
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            with content, path.open("wb") as file:
                copyfileobj(content, file)
