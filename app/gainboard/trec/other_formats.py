"""Files of other formats, which their first bytes give away, and what to do with each."""

from __future__ import annotations

import re
from typing import Final

from gainboard.trec.bodies import GZIP, UNREAD, ZSTD
from gainboard.trec.findings import Faults

LOOKED_AT: Final = 1024
"""Bytes from which a file is told."""
_NOT_TEXT: Final = {
    **{
        mark: f"compressed twice, once by {codec.name}. Decompress it once"
        for codec in (GZIP, ZSTD)
        for mark in codec.magic
    },
    **{mark: f"a {name} file. Extract it, and send what is in it" for mark, name in UNREAD.items()},
    b"\x04\x22\x4d\x18": "compressed by lz4. Send it uncompressed, or as gzip or zstd",
    b"PAR1": "a Parquet table",
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
_POINTER: Final = b"version https://git-lfs.github.com/spec/"
_TAR_MARK, _TAR_PLACE = b"ustar", 257
_BYTE_ORDER_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_LEAST_WIDE: Final = 4
"""Bytes from which UTF-16 without a byte order mark is told: every other one is 0."""


def note_other_format(head: bytes, faults: Faults) -> None:
    """Raise FaultyFile if the file that begins with these bytes is of another format."""
    if found := other_format_of(head):
        faults.add("other-format", f"The file is {found}", 1)
        raise faults.error()


def other_format_of(head: bytes) -> str | None:
    """Return what the file is that begins with these bytes, with advice; None for lines of text."""
    head = head[:LOOKED_AT]
    if head.startswith(_BYTE_ORDER_MARKS) or _is_wide(head):
        return (
            "UTF-16, as `>` of Windows PowerShell writes it. Save it as UTF-8: `Get-Content old.txt | Set-Content "
            "-Encoding utf8 new.txt`, or `iconv -f UTF-16 -t UTF-8 old.txt > new.txt`"
        )
    if head[_TAR_PLACE:].startswith(_TAR_MARK):
        return "a tar archive. Extract it (`tar xf FILE`), and send each file in it by itself"
    for mark, what in _NOT_TEXT.items():
        if head.startswith(mark):
            return what if ". " in what else f"{what}. Write it as text, with a line for each document"
    if head.startswith(_POINTER):
        return "a pointer of Git LFS, which stands for the file itself. Fetch that: `git lfs pull`"
    if found := _MARKUP.match(head):
        what = "XML" if found[1].lower() == b"?xml" else "a web page (HTML)"
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


def _is_wide(head: bytes) -> bool:
    pairs = head[: len(head) // 2 * 2]
    return len(pairs) >= _LEAST_WIDE and any(pairs[::2]) != any(pairs[1::2])
