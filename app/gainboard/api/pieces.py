"""Bodies joined of pieces that come again in other answers: each of them is compressed once, not in every answer."""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from fastapi import Response
from starlette.types import Receive, Scope, Send

Piece = tuple[bytes, bytes]
"""Some bytes, and the same as blocks of deflate (RFC 1951) that refer to nothing before them and end with a byte."""

PIECES = "gainboard.pieces"
"""In the one message with the whole body: the pieces that it was joined of."""

_HEADER = b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
"""Of a gzip file without a name and a time, for equal answers must be equal bytes."""
_LAST_BLOCK = b"\x03\0"
_LEVEL = 1
_MOST_STORED = 64
"""Bytes that a block has as they are: so few would hardly come out fewer."""


class Pieced(Response):
    """An answer in JSON, of which `Conditional` has the pieces and so need not compress it."""

    media_type = "application/json"

    def __init__(self, pieces: Sequence[Piece]) -> None:
        super().__init__(b"".join([plain for plain, _ in pieces]))
        self._pieces = pieces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body, PIECES: self._pieces})


def piece(plain: bytes) -> Piece:
    """The bytes, compressed."""
    if len(plain) <= _MOST_STORED:
        size = len(plain)
        return plain, b"\0%b%b%b" % (size.to_bytes(2, "little"), (size ^ 0xFFFF).to_bytes(2, "little"), plain)
    compressor = zlib.compressobj(_LEVEL, wbits=-zlib.MAX_WBITS)
    return plain, compressor.compress(plain) + compressor.flush(zlib.Z_FULL_FLUSH)


def gzipped(body: bytes, pieces: Sequence[Piece]) -> bytes:
    """The body as a gzip file (RFC 1952) of the pieces that it was joined of."""
    checks = zlib.crc32(body).to_bytes(4, "little") + (len(body) & 0xFFFFFFFF).to_bytes(4, "little")
    return b"".join([_HEADER, *(deflated for _, deflated in pieces), _LAST_BLOCK, checks])
