"""Bodies of uploads: read as a stream, raw or as one part of a form, and counted while they arrive."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message

from gainboard.errors import InvalidRequest, TooLarge, UnsupportedEncoding
from gainboard.evaluation.intake import IN_MEMORY_BYTES, Body

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
    """A body that has arrived, with a fingerprint of it and of the query for idempotency keys."""

    body: Body
    fingerprint: str


@asynccontextmanager
async def received(request: Request, most_bytes: int) -> AsyncIterator[Received]:
    """Yield the request's file. Raise TooLarge as soon as the body exceeds the limit."""
    bounded = _bounded(request, most_bytes)
    encoding = request.headers.get("content-encoding")
    if request.headers.get("content-type", "").lower().startswith("multipart/form-data"):
        _refuse_encoded_form(encoding)
        form = await _form(bounded)
        try:
            yield await run_in_threadpool(_finished, _file_of(form), None, request)
        finally:
            await form.close()
    else:
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            async for chunk in bounded.stream():
                file.write(chunk)
            yield await run_in_threadpool(_finished, cast(BinaryIO, file), encoding, request)


def _bounded(request: Request, most_bytes: int) -> Request:
    refusal = TooLarge(
        f"The body is larger than {most_bytes:,} bytes (GAINBOARD_MAX_COMPRESSED_BYTES). Compress it with gzip or "
        "zstd, or split the run."
    )
    # A declared size is refused before anything is read. It may be wrong or missing, so bytes are counted, too.
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

    return Request(request.scope, counted)


def _refuse_encoded_form(encoding: str | None) -> None:
    if (encoding or "identity").strip().lower() != "identity":
        raise UnsupportedEncoding(
            "Compress the file inside the form, not the form itself: the file's first bytes tell how it is compressed."
        )


async def _form(request: Request) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=0)
    except (UnicodeError, LookupError) as error:
        # The sender chooses the charset of the parts' headers, and the parser does not check it.
        raise InvalidRequest.at(
            "body",
            "unreadable",
            f"The form cannot be read: {error}. Send the file itself as the body, or as a form with one part named "
            "`file`.",
        ) from error


def _file_of(form: FormData) -> BinaryIO:
    part = form.get("file")
    if not isinstance(part, UploadFile):
        raise InvalidRequest.at("body.file", "missing", "The form has no file named `file`. With curl: -F file=@my.run")
    return part.file


def _finished(file: BinaryIO, encoding: str | None, request: Request) -> Received:
    digest = hashlib.sha256(request.url.query.encode() + b"\n")
    if "idempotency-key" in request.headers:  # only then is the digest needed
        file.seek(0)
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return Received(Body(file, encoding), digest.hexdigest())
