"""Bodies of uploads: taken from the network in a stream, raw or as one part of a form, counted while they come."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.types import Message

from app.errors import InvalidRequest, TooLarge
from app.evaluation.intake import IN_MEMORY_BYTES, Body

OPENAPI: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "description": "The file itself, plain, gzip or zstd; or a form with one part named `file`.",
        "content": {
            "text/plain": {"schema": {"type": "string"}},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "properties": {"file": {"type": "string", "format": "binary"}},
                    "required": ["file"],
                }
            },
        },
    }
}


@dataclass(frozen=True)
class Received:
    """A body that has arrived, and a fingerprint of it and the query for idempotency keys."""

    body: Body
    fingerprint: str


@asynccontextmanager
async def received(request: Request, most_bytes: int) -> AsyncIterator[Received]:
    """The request's file. Raises TooLarge as soon as the limit is passed, with no more than that held."""
    refusal = TooLarge(
        f"The body is larger than {most_bytes:,} bytes (GAINBOARD_MAX_COMPRESSED_BYTES). Compress it with gzip or "
        "zstd, or split the run."
    )
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > most_bytes:
        raise refusal
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await request.receive()
        count += len(message.get("body", b""))
        if count > most_bytes:
            raise refusal
        return message

    bounded = Request(request.scope, counted)
    if request.headers.get("content-type", "").startswith("multipart/form-data"):
        async with bounded.form(max_files=1, max_fields=0) as form:
            part = form.get("file")
            if not isinstance(part, UploadFile):
                raise InvalidRequest.at("body.file", "missing", "The form has no part named `file` that is a file.")
            yield _finished(part.file, None, request)
    else:
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            async for chunk in bounded.stream():
                file.write(chunk)
            yield _finished(cast(BinaryIO, file), request.headers.get("content-encoding"), request)


def _finished(file: BinaryIO, encoding: str | None, request: Request) -> Received:
    file.seek(0)
    digest = hashlib.sha256(request.url.query.encode() + b"\n")
    while chunk := file.read(1 << 20):
        digest.update(chunk)
    return Received(Body(file, encoding), digest.hexdigest())
