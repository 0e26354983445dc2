"""Files of other formats, which their first bytes give away, and what to do with each."""

from __future__ import annotations

import re
from typing import Final

from gainboard.trec.findings import Faults

LOOKED_AT: Final = 1024
"""Bytes from which a file is told."""
GZIP_MARKS: Final = (b"\x1f\x8b",)
# A zstd file may begin with a skippable frame, as those of pzstd do. Such frames have 16 more magic numbers.
ZSTD_MARKS: Final = (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % n for n in range(0x50, 0x60)))
_ZIP: Final = (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")
_SAVE_SHEET: Final = (
    "Save the sheet as text, with tabs between the columns for runs and judgments, or as CSV for score matrices and "
    "topic groups, and send that file"
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
