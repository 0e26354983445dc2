import gzip
import io
import tracemalloc
import zlib
from collections import deque

import pytest

from gainboard.errors import FaultyFile, TooLarge, UnsupportedEncoding
from gainboard.trec import FileLimits, decompress_body
from gainboard.trec.bodies import compress

MIB = 1 << 20
LINES = b"301 Q0 FR-1 1 2.5 tag\n" * 1000
SQUEEZED = {"gzip": gzip.compress, "zstd": compress}
FORMATS = pytest.mark.parametrize("form", ["gzip", "zstd"])


class CountedSource(io.BytesIO):
    """A body that knows how much of it was asked for."""

    taken = 0

    def read(self, size=-1):
        data = super().read(size)
        self.taken += len(data)
        return data


class DrippingSource(io.BytesIO):
    def read(self, size=-1):
        return super().read(3)


def read(body, encoding=None, **limits):
    return b"".join(decompress_body(io.BytesIO(body), encoding, FileLimits(**limits)))


def zeros_in_gzip(gibibytes):
    """One gzip member of so many GiB of zeros: a compressed stretch, repeated, needs no history."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    stretch = deflate.compress(bytes(16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + stretch * (64 * gibibytes) + b"\x03\x00" + bytes(8)


@pytest.mark.parametrize(
    ("encoding", "form"),
    [
        *((each, None) for each in (None, "", "identity", "Identity ")),
        *((each, form) for each in (None, "identity") for form in SQUEEZED),  # the first bytes say it
        *(("gzip", "gzip"), ("x-gzip", "gzip"), ("GZIP", "gzip"), ("zstd", "zstd")),
    ],
)
def test_a_body_is_decompressed_as_its_encoding_or_its_first_bytes_say(encoding, form):
    assert read(SQUEEZED[form](LINES) if form else LINES, encoding) == LINES
    assert read(b"", None) == b""


@FORMATS
def test_several_members_are_one_body(form):
    squeeze = SQUEEZED[form]
    assert read(squeeze(LINES) + squeeze(b"") + squeeze(b"302\n")) == LINES + b"302\n"


@FORMATS
def test_a_body_that_drips_in_is_read_all_the_same(form):
    source = DrippingSource(SQUEEZED[form](LINES))
    assert b"".join(decompress_body(source, None, FileLimits())) == LINES


@FORMATS
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(lambda body: body + b"garbage", id="trailing garbage"),
        pytest.param(lambda body: body + bytes(512), id="trailing zeros"),
        pytest.param(lambda body: body[:-1], id="last byte lost"),
        pytest.param(lambda body: body[: len(body) // 2], id="half lost"),
        pytest.param(lambda body: body[:5], id="only the beginning"),
        pytest.param(lambda body: body[:10] + b"\xff\xff" + body[12:], id="bytes changed"),
        pytest.param(lambda body: LINES, id="not compressed"),
    ],
)
def test_damaged_data_is_a_fault_of_the_file(form, damage):
    with pytest.raises(FaultyFile) as refused:
        read(damage(SQUEEZED[form](LINES)), form)
    assert [(fault.code, fault.line) for fault in refused.value.faults] == [("bad-compression", None)]


@pytest.mark.parametrize("encoding", ["br", "deflate", "gzip, gzip", "compress"])
def test_other_encodings_are_not_read(encoding):
    with pytest.raises(UnsupportedEncoding, match="Use gzip or zstd"):
        read(LINES, encoding)


def test_a_bomb_of_ten_gibibytes_is_refused_after_its_first_bytes():
    source = CountedSource(zeros_in_gzip(10))
    tracemalloc.start()
    with pytest.raises(TooLarge, match="GAINBOARD_MAX_RATIO"):
        deque(decompress_body(source, None, FileLimits()), maxlen=0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert source.taken <= 256 * 1024
    assert peak < 16 * MIB


def test_a_zstd_frame_cannot_ask_for_a_large_window():
    frame = b"\x28\xb5\x2f\xfd" + b"\x00" + bytes([(31 - 10) << 3]) + bytes(64)
    with pytest.raises(FaultyFile, match="memory"):
        read(frame)


def test_members_without_end_are_refused():
    with pytest.raises(TooLarge, match="100,000"):
        read(gzip.compress(b"") * 100_001)


def test_the_compressed_size_is_limited():
    body = gzip.compress(LINES)
    assert read(body, compressed_bytes=len(body)) == LINES
    with pytest.raises(TooLarge, match=f"{len(body) - 1:,}.*GAINBOARD_MAX_COMPRESSED_BYTES"):
        read(body, compressed_bytes=len(body) - 1)


@pytest.mark.parametrize("squeeze", [bytes, *SQUEEZED.values()])
def test_the_decompressed_size_is_limited_however_it_was_sent(squeeze):
    assert read(squeeze(LINES), decompressed_bytes=len(LINES)) == LINES
    with pytest.raises(TooLarge, match="GAINBOARD_MAX_DECOMPRESSED_BYTES"):
        read(squeeze(LINES), decompressed_bytes=len(LINES) - 1)


def test_a_high_ratio_is_no_matter_in_a_small_file():
    body = gzip.compress(bytes(MIB))
    free = MIB - 2 * len(body)
    assert len(read(body, ratio=2, ratio_after=free)) == MIB
    with pytest.raises(TooLarge, match=f"{free - 1:,} bytes and its size times 2 "):
        read(body, ratio=2, ratio_after=free - 1)


@FORMATS
def test_a_small_bomb_ends_after_a_mebibyte_and_two_hundred_times_its_bytes(form):
    body = SQUEEZED[form](b"a\n" * 10_000_000)
    chunks = []
    with pytest.raises(TooLarge, match="GAINBOARD_MAX_RATIO"):
        chunks.extend(decompress_body(io.BytesIO(body), None, FileLimits()))
    assert 0 < sum(map(len, chunks)) <= MIB + 200 * len(body)
