"""Files of other formats are named for what they are, and files of TREC's columns are not taken for any of them."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile

import pytest

from gainboard.errors import FaultyFile, TooLarge
from gainboard.trec import FileLimits, decompressed, read_qrels
from tests.trec.readers import EitherReader

RUN = b"1 Q0 d1 1 2 t\n1 Q0 d2 2 1 t\n"


def archive() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as made:
        entry = tarfile.TarInfo("runs/a.txt")
        entry.size = len(RUN)
        made.addfile(entry, io.BytesIO(RUN))
    return out.getvalue()


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
    "compressed twice": gzip.compress(gzip.compress(RUN)),
}


@pytest.mark.parametrize("what", list(FILES))
@pytest.mark.parametrize("is_packed", [False, True])
def test_a_file_of_another_format_is_named(what: str, is_packed: bool) -> None:
    body = gzip.compress(FILES[what]) if is_packed else FILES[what]
    for read in (lambda chunks: list(EitherReader(chunks)), lambda chunks: read_qrels(chunks, levels=3)):
        with pytest.raises(FaultyFile) as refused:
            read(decompressed(io.BytesIO(body), None, FileLimits()))
        (fault,) = refused.value.faults
        assert (fault.code, fault.line) == ("other-format", 1)
        assert fault.message.startswith(f"The file is {what}")


@pytest.mark.parametrize("topic", ["{1}", "[1]", "<1>", "<html", "version", "PAR", "%PDF", "[x", "{"])
def test_an_odd_topic_is_no_other_format(topic: str) -> None:
    (ranking,) = EitherReader([f"{topic} Q0 d1 1 2 t\n".encode()])
    assert ranking.topic == topic


def test_one_line_may_end_in_a_carriage_return_alone() -> None:
    (ranking,) = EitherReader([b"1 Q0 d1 1 2 t\r"])
    assert ranking.documents == [b"d1"]
    for blank in (b"\r", b" \r", b"\xef\xbb\xbf\r"):
        with pytest.raises(FaultyFile) as refused:
            list(EitherReader([blank]))
        assert [fault.code for fault in refused.value.faults] == ["empty-file"]


def test_a_line_that_is_too_long_has_its_number() -> None:
    text = RUN + b"2 Q0 " + b"x" * 5000 + b" 1 2 t\n"
    for chunks in ([text], [text[:40], text[40:]], [text.rstrip(b"\n")]):
        with pytest.raises(TooLarge, match=r"Line 3 has more bytes than 4,096 \(the server's limit"):
            list(EitherReader(chunks))
