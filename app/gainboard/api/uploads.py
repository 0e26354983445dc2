"""Bodies of uploads: read as a stream, raw or as one part of a form, and counted while they arrive.

The other fields of a form mean what query parameters of the same names mean.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Annotated, Any, BinaryIO, cast

from fastapi import Depends, Request
from fastapi.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import Message
from typing_extensions import TypedDict

from gainboard.api.dependencies import ask_again
from gainboard.api.queries import QueryReader, reader_of
from gainboard.api.routes import BoundedRequest
from gainboard.errors import (
    FaultyFile,
    Forbidden,
    GainboardError,
    InvalidRequest,
    TooLarge,
    TooManyUploads,
    UnknownParameter,
    UnsupportedEncoding,
)
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import require_organiser
from gainboard.evaluation.runs.intake import IN_MEMORY_BYTES, Body
from gainboard.evaluation.workspace import Workspace
from gainboard.trec.bodies import READ, is_compressed

ON_UPLOAD = (FaultyFile, UnsupportedEncoding, TooManyUploads, Forbidden)
"""The problems of every route that takes a file."""


class NoQuery(TypedDict):
    """The query of an upload without parameters."""


def openapi(query: type = NoQuery) -> dict[str, Any]:
    """Return the description of the body of an upload with this query."""
    fields = {field["name"]: field["schema"] for field in reader_of(query).described()}
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
    (kept,) = (kind for kind in schema.get("anyOf", [{}]) if kind.get("type") != "null")
    return {**{key: value for key, value in schema.items() if key != "anyOf" and value is not None}, **kept}


@dataclass(frozen=True)
class Received:
    """A body that has arrived, and its query, with a fingerprint of both for idempotency keys."""

    body: Body
    query: dict[str, Any]
    fingerprint: str


def is_form(request: Request) -> bool:
    return request.headers.get("content-type", "").lower().startswith("multipart/form-data")


@asynccontextmanager
async def watched(request: Request) -> AsyncIterator[Callable[[], None]]:
    """Yield a function for other threads that raises ClientDisconnect once the client has left, after its whole body.

    What the client asked for then ends, and its place is free for others.
    """
    left = asyncio.create_task(until_left(request))

    def require_client() -> None:
        if left.done():
            raise ClientDisconnect

    try:
        yield require_client
    finally:
        left.cancel()


async def until_left(request: Request) -> None:
    """Return once the client has left. Its body must have arrived, or be of no interest."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


@asynccontextmanager
async def received(
    request: Request,
    most_bytes: int,
    kind: type = NoQuery,
    query: Mapping[str, Any] = {},
    *,
    refusal: TooLarge | None = None,
) -> AsyncIterator[Received]:
    """Yield the request's file, and its query, of this kind, with the fields of its form.

    Raise TooLarge as soon as the body exceeds the limit: `refusal`, or one that tells of runs. Raise NotAuthenticated
    if the token or session has ended. A refusal of a file that lost its line ends on the way says so.
    """
    if isinstance(request, BoundedRequest):
        request.lift_limit()
    bounded, reader = _bound_body(request, most_bytes, refusal), reader_of(kind)
    encoding = request.headers.get("content-encoding")
    if is_form(request):
        if (encoding or "identity").strip().lower() != "identity":
            raise UnsupportedEncoding(
                "Compress the file inside the form, not the form itself: the file's first bytes tell how it is "
                "compressed."
            )
        form = await _form(bounded, len(reader.may_repeat))
        try:
            part = _file_of(form)
            fields = _fields(form, reader, query)
            whole = {**query, **reader.validate(fields, "body")}
            yield await run_in_threadpool(_finish, part, None, request, whole, fields)
        finally:
            await form.close()
    else:
        with SpooledTemporaryFile(max_size=IN_MEMORY_BYTES) as file:
            async for chunk in bounded.stream():
                file.write(chunk)
            try:
                yield await run_in_threadpool(_finish, cast(BinaryIO, file), encoding, request, dict(query), {})
            except (FaultyFile, TooLarge) as error:
                if await run_in_threadpool(_lost_line_ends, cast(BinaryIO, file), encoding, request, error):
                    raise InvalidRequest.at("body", "no-line-ends", _NO_LINE_ENDS) from error
                raise


def _bound_body(request: Request, most_bytes: int, refusal: TooLarge | None) -> Request:
    def too_large() -> TooLarge:
        return refusal or TooLarge(
            f"The body is larger than {most_bytes:,} bytes (GAINBOARD_MAX_COMPRESSED_BYTES). Compress it with gzip or "
            "zstd, or split the run."
        )

    # A declared size is refused before anything is read. It may be wrong or missing, so bytes are counted, too.
    declared = request.headers.get("content-length", "0")
    if declared.isdecimal() and int(declared) > most_bytes:
        raise too_large()
    count = 0

    async def counted() -> Message:
        nonlocal count
        message = await request.receive()
        count += len(message.get("body", b""))
        if count > most_bytes:
            raise too_large()
        return message

    return Request(request.scope, counted)


_NO_LINE_ENDS = (
    "The body has no line ends, so all lines of the file are one. `curl -d @FILE` strips them: send the file with "
    "`--data-binary @FILE`, or as a form with `-F file=@FILE`."
)
_MOST_COLUMNS = 6


def _lost_line_ends(file: BinaryIO, encoding: str | None, request: Request, error: FaultyFile | TooLarge) -> bool:
    """Return whether a file was refused because its line ends were stripped before it was sent.

    A single line may be meant: it has no more columns than a run, unless the media type is that of `curl -d`.
    """
    file.seek(0)
    head = file.read(READ)
    if b"\n" in head or not head.strip() or head.lstrip().startswith((b"{", b"[")):
        return False
    codes = {fault.code for fault in error.faults} if isinstance(error, FaultyFile) else set()
    is_by_curl = request.headers.get("content-type", "").lower().startswith("application/x-www-form-urlencoded")
    if is_compressed(head, encoding):
        return is_by_curl and codes == {"bad-compression"}
    return codes != {"other-format"} and (is_by_curl or len(re.split(rb"[\s,;]+", head)) > _MOST_COLUMNS)


async def _form(request: Request, most_fields: int) -> FormData:
    try:
        return await request.form(max_files=1, max_fields=most_fields)
    except HTTPException as error:
        # The body is over a limit, and the error says so.
        if isinstance(error.__cause__, GainboardError):
            raise
        detail = str(error.detail)
        said = next((ours for theirs, ours in _FORM_FAULTS.items() if detail.startswith(theirs)), "")
        raise InvalidRequest.at("body", "unreadable", said or f"The form cannot be read: {detail}") from error
    except (UnicodeError, LookupError) as error:
        # The sender chooses the charset of the parts' headers, and the parser does not check it.
        raise InvalidRequest.at(
            "body",
            "unreadable",
            f"The form cannot be read: {error}. Send the file itself as the body, or as a form with one part named "
            "`file`.",
        ) from error


def _fields(form: FormData, reader: QueryReader, query: Mapping[str, Any]) -> dict[str, str]:
    """Return the fields of a form. Raise BadInput for one that the query does not have, or that is given twice."""
    fields: dict[str, str] = {}
    for name, value in form.multi_items():
        if name == "file" or not isinstance(value, str):
            continue
        if name not in reader.may_repeat:
            has = ", ".join(sorted(reader.may_repeat))
            raise UnknownParameter(f"There is no field {name!r} here. Available: file, {has}.")
        if name in fields or name in query:
            raise InvalidRequest.at(f"body.{name}", "repeated", f"{name} is given more than once. Give it once.")
        fields[name] = value
    return fields


_WITHOUT_NAME = (
    "has no file name, so it is a text field and no file. Send a file name with the part, as in `Content-Disposition: "
    'form-data; name="file"; filename="my.run"`. With curl: -F file=@my.run'
)
_FORM_FAULTS = {
    # Starlette keeps a field in memory, and a file does not count towards this limit.
    "Part exceeded": f"A part of the form is larger than 1 MiB and {_WITHOUT_NAME}",
    "Too many files": "The form has more than one file. Send one file in each request, as the part `file`: "
    "-F file=@my.run",
    "Missing boundary": "The header `Content-Type: multipart/form-data` has no boundary. Let the client write this "
    "header: leave it out of the command. With curl: -F file=@my.run",
    "Invalid multipart": "The parts of the form do not begin with the boundary that `Content-Type` names. Let the "
    "client write this header. With curl: -F file=@my.run",
}
"""The beginnings of Starlette's messages, and what they mean here."""


def _file_of(form: FormData) -> BinaryIO:
    part = form.get("file")
    if isinstance(part, UploadFile):
        return part.file
    names = [f"`{name[:60]}`" for name in form]
    files = [f"`{name[:60]}`" for name, value in form.multi_items() if isinstance(value, UploadFile)]
    if part is not None:
        said = f"The part `file` {_WITHOUT_NAME}"
    elif files:
        said = f"The form's file is named {files[0]}. Name it `file`. With curl: -F file=@my.run"
    elif names:
        said = f"The form has no file named `file`, only {', '.join(names)}. With curl: -F file=@my.run"
    else:
        said = "The form has no file named `file`, and no complete part. Was it cut off? With curl: -F file=@my.run"
    raise InvalidRequest.at("body.file", "missing", said)


def _finish(
    file: BinaryIO, encoding: str | None, request: Request, query: dict[str, Any], fields: Mapping[str, str]
) -> Received:
    # A body may take hours to arrive, and the token may have been revoked meanwhile.
    ask_again(request)
    digest = hashlib.sha256(request.url.query.encode() + b"\n")
    if fields:
        digest.update(json.dumps(fields, sort_keys=True).encode() + b"\n")
    # Without a key nobody compares bodies, so a large one is not read once more.
    if "idempotency-key" in request.headers:
        file.seek(0)
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return Received(Body(file, encoding), query, digest.hexdigest())


@asynccontextmanager
async def from_organiser(
    request: Request,
    workspace: Workspace,
    principal: Principal,
    readers: Readers,
    collection: str,
    kind: type = NoQuery,
    query: Mapping[str, Any] = {},
) -> AsyncIterator[Received]:
    """Yield what an organiser sends, as `received` does. Others are refused before they send a file in vain."""
    await run_in_threadpool(require_organiser, workspace, principal, collection)
    async with readers.reading(principal), received(request, workspace.limits.compressed_bytes, kind, query) as sent:
        yield sent


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
            # A team without uploads is not remembered.
            self._reading += Counter()


def _too_many(who: str, most: int) -> TooManyUploads:
    return TooManyUploads(
        f"{who} has {most} uploads under way, which is the most at once. Send the file again in a few seconds.",
        limit=most,
    )


async def _readers(request: Request) -> Readers:
    readers: Readers = request.app.state.readers
    return readers


ReadersDep = Annotated[Readers, Depends(_readers)]
