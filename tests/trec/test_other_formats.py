"""Files of other formats are named for what they are, and files of TREC's columns are not taken for any of them."""

import bz2
import gzip
import io
import json
import lzma
import pickle
import tarfile
import zipfile

import pytest

from gainboard.errors import FaultyFile, UnsupportedEncoding
from gainboard.trec import FileLimits, decompress_body, read_qrels
from tests.trec.readers import EitherReader

RUN = b"1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n"


def archive(form=tarfile.PAX_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as made:
        entry = tarfile.TarInfo("runs/a.txt")
        entry.size = len(RUN)
        made.addfile(entry, io.BytesIO(RUN))
    return out.getvalue()


def old_archive():
    """Return an archive as tar wrote it before POSIX: without a mark, and the sum of its header says what it is."""
    header = bytearray(archive(tarfile.GNU_FORMAT)[:512])
    header[257:265], header[148:156] = bytes(8), b" " * 8
    header[148:156] = b"%06o\x00 " % sum(header)
    return bytes(header) + RUN.ljust(512, b"\0")


FILES = {
    "JSON": json.dumps({"q1": {"d1": 1.5, "d2": 0.5}}).encode(),
    "JSON, as": json.dumps([{"query_id": "q1"}], indent=2).encode(),
    "JSON, as ranx": json.dumps({"q1": {"d1": 1.5, "d2": 0.5}}, indent=1).encode(),
    "JSON,": b"{" + b'"q": {"d": 1}, ' * 1000,
    "a tar archive": archive(),
    "text whose lines end in a carriage return": RUN.replace(b"\n", b"\r"),
    "a web page": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n",
    "a web page (HTML)": b"\n <HTML lang=en>",
    "a web page (HTML). Was": b"<html>\n<p>\nsix words of a run here\n" * 9,
    "XML": b"<?xml version='1.0'?>\n<runs/>\n",
    "a pointer of Git LFS": b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
    "UTF-16": RUN.decode().encode("utf-16"),
    "UTF-16, as": RUN.decode().encode("utf-16-be"),
    "a pickle": pickle.dumps({"q1": {"d1": 1.5}}),
    "a Parquet table": b"PAR1" + bytes(range(200)),
    "an Arrow or Feather table": b"ARROW1\x00\x00" + bytes(100),
    "a PDF document": b"%PDF-1.7\n%\xe2\xe3\n1 0 obj\n",
    "an old Office document, such as an Excel workbook (.xls)": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
    "a tar archive. Extract": old_archive(),
    "compressed twice": gzip.compress(gzip.compress(RUN)),
}


@pytest.mark.parametrize("what", list(FILES))
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_of_another_format_is_named(what, is_packed):
    body = gzip.compress(FILES[what]) if is_packed else FILES[what]
    for read in (lambda chunks: list(EitherReader(chunks)), lambda chunks: read_qrels(chunks, levels=3)):
        with pytest.raises(FaultyFile) as refused:
            read(decompress_body(io.BytesIO(body), None, FileLimits()))
        (fault,) = refused.value.faults
        assert (fault.code, fault.line) == ("other-format", 1)
        assert fault.message.startswith(f"The file is {what}")


def zipped(*names, mimetype=""):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as made:
        if mimetype:
            made.writestr(zipfile.ZipInfo("mimetype"), mimetype)
        for name in names:
            made.writestr(name, "<xml/>" * 300)
    return out.getvalue()


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (zipped("[Content_Types].xml", "_rels/.rels", "xl/workbook.xml"), "an Excel workbook. Save the sheet as text"),
        (zipped("docProps/app.xml", "xl/worksheets/sheet1.xml", "[Content_Types].xml"), "an Excel workbook"),
        (zipped("[Content_Types].xml", "word/document.xml"), "an Office document"),
        (zipped(mimetype="application/vnd.oasis.opendocument.spreadsheet"), "an OpenDocument spreadsheet. Save the"),
        (zipped("scores.npy"), "an archive of NumPy"),
        (zipped("runs/a.run"), "a zip file. Extract it"),
        (zipped(), "a zip file"),
        (bz2.compress(RUN), "a bzip2 file. Extract it"),
        (lzma.compress(RUN), "an xz file. Extract it"),
    ],
)
def test_an_archive_is_named_and_so_is_what_is_in_it(body, what):
    with pytest.raises(UnsupportedEncoding, match=f"^The file is {what}"):
        list(decompress_body(io.BytesIO(body), None, FileLimits()))
    with pytest.raises(FaultyFile, match=f"The file is {what}"):
        read_qrels(decompress_body(io.BytesIO(gzip.compress(body)), None, FileLimits()), levels=3)


def test_a_topic_may_begin_as_the_files_of_a_compression_do():
    (ranking,) = EitherReader(decompress_body(io.BytesIO(b"BZh91 Q0 d1 1 2 t\n"), None, FileLimits()))
    assert ranking.topic == "BZh91"


@pytest.mark.parametrize("topic", ["{1}", "[1]", "<1>", "<html", "version", "PAR", "%PDF", "[x", "{"])
def test_an_odd_topic_is_no_other_format(topic):
    (ranking,) = EitherReader([f"{topic} Q0 d1 1 2 t\n".encode()])
    assert ranking.topic == topic


def test_one_line_may_end_in_a_carriage_return_alone():
    (ranking,) = EitherReader([b"1 Q0 d1 1 2 t\r"])
    assert ranking.documents == [b"d1"]
    for blank in (b"\r", b" \r", b"\xef\xbb\xbf\r"):
        with pytest.raises(FaultyFile) as refused:
            list(EitherReader([blank]))
        assert [fault.code for fault in refused.value.faults] == ["empty-file"]
