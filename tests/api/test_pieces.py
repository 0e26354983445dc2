"""Bodies compressed piece by piece: what any reader of gzip finds in them."""

from __future__ import annotations

import gzip
import random
import zlib
from typing import Any

import pytest

from gainboard.api.pieces import gzipped, piece
from tests.api.campaign import WORSE, Campaign, judged
from tests.conftest import Service

WORDS = random.Random(0).choices([b'"nDCG@10":', b"0.123456789,", b"null,", b"\0\xff"], k=40_000)
TEXT = b"".join(WORDS)


@pytest.mark.parametrize(
    "sizes", [[], [0], [1], [64], [65], [66_000], [3, 5000, 3, 5000, 0, 70_000, 1], [64, 65] * 100], ids=str
)
def test_any_pieces_are_one_gzip_file_of_all_their_bytes(sizes: list[int]) -> None:
    parts = [TEXT[at * 100 : at * 100 + size] for at, size in enumerate(sizes)]
    body = b"".join(parts)
    packed = gzipped(body, [piece(part) for part in parts])
    assert gzip.decompress(packed) == body
    reader = zlib.decompressobj(wbits=16 + zlib.MAX_WBITS)
    assert (reader.decompress(packed), reader.eof, reader.unused_data) == (body, True, b"")


def test_a_piece_stands_in_any_order_with_others() -> None:
    parts = [TEXT[start : start + 4000] for start in range(0, 40_000, 4000)]
    pieces = [piece(part) for part in parts]
    for order in (parts[::-1], parts[5:] + parts[:5], parts + parts):
        chosen = [pieces[parts.index(part)] for part in order]
        assert gzip.decompress(gzipped(b"".join(order), chosen)) == b"".join(order)


def test_what_compresses_does_so_in_pieces_too() -> None:
    assert len(piece(TEXT)[1]) < len(TEXT) / 3


def test_a_leaderboard_is_the_same_compressed_or_not_whatever_ranks_it(shared: Service) -> None:
    campaign = judged(shared)
    campaign.submit(WORSE, team="gnu")
    for by in ("RR", "Recall@10"):
        plain = _board(campaign, by, "identity")
        packed = _board(campaign, by, "gzip")
        assert packed == plain
        assert (packed["by"], len(packed["rows"])) == (by, 2)


def _board(campaign: Campaign, by: str, encoding: str) -> Any:
    asked = {"metric": ["RR", "Recall@10", *(f"P@{cutoff}" for cutoff in range(1, 20))], "by": by}
    sent = {"Accept-Encoding": encoding}
    answer = campaign.organiser.get(f"{campaign.path}/leaderboard", params=asked, headers=sent)
    assert answer.headers.get("content-encoding", "identity") == encoding
    assert int(answer.headers["content-length"]) == answer.num_bytes_downloaded
    return answer.json()
