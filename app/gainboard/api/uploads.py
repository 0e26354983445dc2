"""Bodies of uploads: read as a stream, raw or as one part of a form, and counted while they arrive.

The other fields of a form mean what query parameters of the same names mean.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, Generic, TypeVar, cast

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.types import Message

from gainboard.api.dependencies import ask_again
from gainboard.errors import (
    FaultyFile,
    Forbidden,
    InvalidRequest,
    TooLarge,
    TooManyUploads,
    UnknownParameter,
    UnsupportedEncoding,
)
from gainboard.evaluation.intake import IN_MEMORY_BYTES, Body
from gainboard.evaluation.principals import Principal

QueryT = TypeVar("QueryT", bound=BaseModel)
ON_UPLOAD = (FaultyFile, UnsupportedEncoding, TooManyUploads, Forbidden)
"""The problems of every route that takes a file."""


class PlainUpload(BaseModel):
    """The query of an upload without parameters."""


def openapi(asked: type[BaseModel]) -> dict[str, Any]:
    """Return the description of the body of an upload whose query is `asked`."""
    fields = asked.model_json_schema().get("properties", {})
    file = {"type": "string", "format": "binary"}
    form = {
        "type": "object",
        "properties": {"file": file, **{name: _without_null(schema) for name, schema in fields.items()}},
        "required": ["file"],
    }
    content: dict[str, Any] = {
        "text/plain": {"schema": {"type": "string"}},
        "application/octet-stream": {"schema": file},
    }
    if fields:
        # Without fields, a form has nothing that the file itself has not, and clients that openapi-python-client
        # generates could not be imported: two kinds of body without any optional parameter are beyond it.
        content["multipart/form-data"] = {"schema": form}
    return {
        "requestBody": {
            "required": True,
            "description": "The file itself, plain, gzip or zstd; or a form with one part named `file`, whose other "
            "fields stand for query parameters of the same names.",
            "content": content,
        }
    }


def _without_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a field, which is left out instead of null."""
    (own,) = (each for each in schema.get("anyOf", [{}]) if each.get("type") != "null")
    return {**{key: value for key, value in schema.items() if key != "anyOf" and value is not None}, **own}


@dataclass(frozen=True)
class Received(Generic[QueryT]):
    """A body that has arrived, and what was asked, with a fingerprint of both for idempotency keys."""

    body: Body
    asked: QueryT
    fingerprint: str


def is_form(request: Request) -> bool:
    """Return whether the body is a form."""
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


@asynccontextmanager
async def received(
    request: Request, most_bytes: int, asked: QueryT, refusal: TooLarge | None = None
) -> AsyncIterator[Received[QueryT]]:
    """Yield the request's file, and its query with the fields of its form.

    Raise TooLarge as soon as the body exceeds the limit: `refusal`, or one that tells of runs. Raise NotAuthenticated
    if the token or session has ended.
    """
    bounded = _bounded(request, most_bytes, refusal)
    encoding = request.headers.get("content-encoding")
    if is_form(request):
        _refuse_encoded_form(encoding)
        form = await _form(bounded, len(type(asked).model_fields))
        try:
            fields = _fields(form, asked)
            whole = _completed(asked, fields)
            yield await run_in_threadpool(_finished, _file_of(form), None, request, whole, fields)
        finally:
            await form.close()
    else:
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            async for chunk in bounded.stream():
                file.write(chunk)
            yield await run_in_threadpool(_finished, cast(BinaryIO, file), encoding, request, asked, {})


def _bounded(request: Request, most_bytes: int, refusal: TooLarge | None) -> Request:
    refusal = refusal or TooLarge(
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


async def _form(request: Request, most_fields: int) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=most_fields)
    except (UnicodeError, LookupError) as error:
        # The sender chooses the charset of the parts' headers, and the parser does not check it.
        raise InvalidRequest.at(
            "body",
            "unreadable",
            f"The form cannot be read: {error}. Send the file itself as the body, or as a form with one part named "
            "`file`.",
        ) from error


def _fields(form: FormData, asked: BaseModel) -> dict[str, str]:
    """Return the fields of a form. Raise BadInput for one that the query does not have, or that is given twice."""
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if name == "file" or not isinstance(value, str):
            continue
        if name not in type(asked).model_fields:
            has = ", ".join(sorted(type(asked).model_fields))
            raise UnknownParameter(f"There is no field {name!r} here. Available: file, {has}.")
        if name in fields or name in asked.model_fields_set:
            raise InvalidRequest.at(f"body.{name}", "repeated", f"{name} is given more than once. Give it once.")
        fields[name] = value
    return fields


def _completed(asked: QueryT, fields: Mapping[str, str]) -> QueryT:
    """Return what was asked, with the fields of the form. Raise RequestValidationError for fields of a wrong form."""
    try:
        given = type(asked).model_validate(dict(fields))
    except ValidationError as error:
        faults = [{**each, "loc": ("body", *each["loc"])} for each in error.errors()]
        raise RequestValidationError(faults, body=dict(fields)) from error
    return asked.model_copy(update={name: getattr(given, name) for name in fields})


def _file_of(form: FormData) -> BinaryIO:
    part = form.get("file")
    if not isinstance(part, UploadFile):
        raise InvalidRequest.at("body.file", "missing", "The form has no file named `file`. With curl: -F file=@my.run")
    return part.file


def _finished(
    file: BinaryIO, encoding: str | None, request: Request, asked: QueryT, fields: Mapping[str, str]
) -> Received[QueryT]:
    ask_again(request)  # a body may take hours to arrive, and the token may have been revoked meanwhile
    digest = hashlib.sha256(request.url.query.encode() + b"\n")
    if fields:
        digest.update(json.dumps(fields, sort_keys=True).encode() + b"\n")
    if "idempotency-key" in request.headers:  # only then is the digest needed
        file.seek(0)
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return Received(Body(file, encoding), asked, digest.hexdigest())


MOST_OF_A_TEAM = 4
"""A team has one place less than there are, if they are so few: its slow uploads then never keep all others out."""


class Readers:
    """The uploads under way in this process. Only the event loop uses it, so it needs no lock."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._of_a_team = max(1, min(MOST_OF_A_TEAM, most - 1))
        self._reading: Counter[tuple[str, object]] = Counter()

    @property
    def busy(self) -> int:
        """The number of uploads under way."""
        return self._reading.total()

    @asynccontextmanager
    async def reading(self, principal: Principal) -> AsyncIterator[None]:
        """Count an upload until it is over. Raise TooManyUploads if there are too many.

        An organiser has no team, so its token counts in place of one.
        """
        # Nothing is awaited before the place is taken, so no other request comes in between.
        who = ("team", principal.team_id) if principal.team_id is not None else ("token", principal.require_token().id)
        if self.busy >= self.most:
            raise _too_many("The server", self.most)
        if self._reading[who] >= self._of_a_team:
            raise _too_many(f"This {who[0]}", self._of_a_team)
        self._reading[who] += 1
        try:
            yield
        finally:
            self._reading[who] -= 1
            self._reading += Counter()  # a team without uploads is not remembered


def _too_many(who: str, most: int) -> TooManyUploads:
    return TooManyUploads(
        f"{who} has {most} uploads under way, which is the most at once. Send the file again in a few seconds.",
        limit=most,
    )


async def _readers(request: Request) -> Readers:
    found: Readers = request.app.state.readers
    return found


ReadersDep = Annotated[Readers, Depends(_readers)]
