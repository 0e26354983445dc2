"""Compressed files and archives of strangers: decompression in small chunks within the limits, and tar.

Files of other formats are told by their first bytes. zstd is imported only here: Python has the module from 3.14 on,
and older versions need a backport.
"""

from __future__ import annotations

import os
import re
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
from gainboard.trec.findings import MIB, Faults, FileLimits

__all__ = ["DecompressionParameter", "ZstdCompressor", "ZstdDecompressor", "ZstdError", "compress", "decompress"]


LOOKED_AT: Final = 1024
"""Bytes from which a file is told."""
GZIP_MARKS: Final = (b"\x1f\x8b",)
# A zstd file may begin with a skippable frame, as those of pzstd do. Such frames have 16 more magic numbers.
ZSTD_MARKS: Final = (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % n for n in range(0x50, 0x60)))
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_SAVE_SHEET: Final = (
    "Save the sheet as text, with tabs between the columns for runs and judgments, or as CSV for score matrices and "
    "topic groups, and send that file: `libreoffice --convert-to csv FILE` does"
)
_EXCEL: Final = f"an Excel workbook. {_SAVE_SHEET}"
_OFFICE: Final = (
    "an Office document. Save what is in it as plain text, with a line for each document, and send that file"
)
_IN_ZIP: Final = {
    b"xl/": _EXCEL,
    b"word/": _OFFICE,
    b"ppt/": _OFFICE,
    b"vnd.oasis.opendocument.spreadsheet": f"an OpenDocument spreadsheet. {_SAVE_SHEET}",
    b"vnd.oasis.opendocument": _OFFICE,
    b"[Content_Types].xml": f"an Office document, such as an Excel workbook. {_SAVE_SHEET}",
    b"docProps/": f"an Office document, such as an Excel workbook. {_SAVE_SHEET}",
    b"Index/Document.iwa": f"a Numbers spreadsheet. {_SAVE_SHEET}",
    b".npy": "an archive of NumPy. Write it as text, with a line for each document",
}
"""Names of files in an archive of zip, the most special first, and what it is then."""
_ARCHIVES: Final = {
    b"BZh": "a bzip2 file",
    b"\xfd7zXZ": "an xz file",
    b"7z\xbc\xaf": "a 7z file",
    b"Rar!\x1a": "a rar file",
    b"\x04\x22\x4d\x18": "an lz4 file",
    b"\x1f\x9d": "a file of compress (.Z)",
}
_NOT_TEXT: Final = {
    **dict.fromkeys(GZIP_MARKS, "compressed twice, once by gzip. Decompress it once"),
    **dict.fromkeys(ZSTD_MARKS, "compressed twice, once by zstd. Decompress it once"),
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": f"an old Office document, such as an Excel workbook (.xls). {_SAVE_SHEET}",
    b"{\\rtf": _OFFICE.replace("an Office document", "a document in Rich Text Format"),
    b"PAR1": "a Parquet table",
    b"ARROW1\x00\x00": "an Arrow or Feather table",
    b"Obj\x01": "an Avro file",
    b"\x93NUMPY": "an array of NumPy",
    b"\x80\x03": "a pickle of Python",
    b"\x80\x04": "a pickle of Python",
    b"\x80\x05": "a pickle of Python",
    b"\x89HDF": "an HDF5 file",
    b"SQLite format 3\x00": "an SQLite database",
    b"%PDF-": "a PDF document",
}
_MARKUP: Final = re.compile(rb"\s*<(!doctype\s+html|html|head|body|\?xml)\b[^>]{0,500}>", re.IGNORECASE)
_JSON: Final = re.compile(rb"""\s*(?:\{\s*["}]|\[\s*[\[{"\]])""")
_FORM: Final = re.compile(rb"--[^\s]{1,70}\r?\nContent-(?:Disposition: form-data|Type:)", re.IGNORECASE)
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_TAR_MARK, _TAR_PLACE = b"ustar", 257
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_LEAST_WIDE: Final = 4
"""Bytes from which UTF-16 without a byte order mark is told: every other one is 0."""


def note_other_format(head: bytes, faults: Faults) -> None:
    """Raise FaultyFile if the file that begins with these bytes is of another format."""
    if form := other_format_of(head):
        faults.add("other-format", f"The file is {form}", 1)
        raise faults.error()


def other_format_of(head: bytes) -> str | None:
    """Return what the file is that begins with these bytes, with advice; None for lines of text."""
    if archive := archive_of(head):
        return archive
    head = head[:LOOKED_AT]
    if head.startswith(_BYTE_ORDER_MARKS) or _is_wide(head):
        return (
            "UTF-16, as `>` of Windows PowerShell writes it. Save it as UTF-8: `Get-Content old.txt | Set-Content "
            "-Encoding utf8 new.txt`, or `iconv -f UTF-16 -t UTF-8 old.txt > new.txt`"
        )
    if head[_TAR_PLACE:].startswith(_TAR_MARK) or _is_old_tar(head):
        return "a tar archive. Extract it (`tar xf FILE`), and send each file in it by itself"
    for mark, what in _NOT_TEXT.items():
        if head.startswith(mark):
            return what if ". " in what else f"{what}. Write it as text, with a line for each document, or as CSV"
    if _FORM.match(head):
        return (
            "a form (multipart/form-data) whose Content-Type does not say so. Send the file itself, or let the client "
            "write the header: with curl, -F file=@my.run"
        )
    if head.startswith(_POINTER):
        return "a pointer of Git LFS, which stands for the file itself. Fetch that: `git lfs pull`"
    if markup := _MARKUP.match(head):
        what = "XML" if markup[1].lower() == b"?xml" else "a web page (HTML)"
        return f"{what}. Was it downloaded without signing in, or from a page about the file? Download the file itself"
    if _JSON.match(head):
        return (
            "JSON, as ranx, BEIR and pytrec_eval have runs and judgments. Write a line for each document: `topic Q0 "
            "document rank score tag` in a run, `topic 0 document level` in qrels. ranx does it with "
            "`save(path, kind='trec')`"
        )
    if b"\n" not in head and sum(bool(line.strip()) for line in head.split(b"\r")) > 1:
        return (
            "text whose lines end in a carriage return alone, as on old Macs. Turn them into line feeds: "
            "`tr '\\r' '\\n' < old.txt > new.txt`"
        )
    return None


def archive_of(head: bytes) -> str | None:
    """Return what the archive or workbook is that begins with these bytes, with advice; None for other files."""
    if head.startswith(_ZIP):
        return (
            document_in_zip(head)
            or "a zip file. Extract it, and send each file in it by itself, uncompressed, or as gzip or zstd"
        )
    # Text may begin with these letters, but not with what follows them in such a file.
    form = next((what for mark, what in _ARCHIVES.items() if head.startswith(mark)), None)
    if form is None or (head.startswith(b"BZh") and head[4:10] not in (b"1AY&SY", b"\x17\x72\x45\x38\x50\x90")):
        return None
    return f"{form}. Extract it, and send what is in it uncompressed, or as gzip or zstd"


def document_in_zip(head: bytes) -> str | None:
    """Return what is saved as a zip, such as a workbook, with advice; None for a zip of files.

    The names of its files tell, as far as `head` has them: at its beginning, or all of a small one.
    """
    if not head.startswith(_ZIP):
        return None
    # OpenDocument has its type first, as text that is not compressed.
    names = [head[30:160]] if head[30:38] == b"mimetype" else []
    for mark, length, start in ((b"PK\x03\x04", 26, 30), (b"PK\x01\x02", 28, 46)):
        for header in re.finditer(re.escape(mark), head):
            at = header.start()
            size = int.from_bytes(head[at + length : at + length + 2], "little")
            names.append(head[at + start : at + start + size])
    return next((what for name, what in _IN_ZIP.items() if any(name in path for path in names)), None)


def _is_old_tar(head: bytes) -> bool:
    """Return whether a header of tar without a mark comes first: eight bytes of it are the sum of all bytes."""
    header, digits = head[:512], head[148:156].strip(b" \x00")
    is_header = len(header) == 512 and b"\x00" in header and re.fullmatch(rb"[0-7]{3,7}", digits) is not None
    # The sum is made with blanks in place of its own eight bytes.
    return is_header and int(digits, 8) == sum(header) - sum(header[148:156]) + 8 * 0x20


def _is_wide(head: bytes) -> bool:
    pairs = head[: len(head) // 2 * 2]
    # In UTF-16, each letter of ASCII has a 0 beside it, always on the same side.
    return len(pairs) >= _LEAST_WIDE and any(pairs[::2]) != any(pairs[1::2])


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
    from backports.zstd import DecompressionParameter, ZstdCompressor, ZstdDecompressor, ZstdError, compress, decompress


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
