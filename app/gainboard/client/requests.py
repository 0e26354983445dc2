"""Calls without a network: a call is a generator that yields requests, is sent their answers, and returns its result.

Each call is therefore written once, and a blocking and an asynchronous client run the same call.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import chain
from pathlib import Path
from stat import S_ISREG
from typing import Any, BinaryIO, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from gainboard import __version__
from gainboard.client.errors import NotGainboard
from gainboard.errors import BadInput
from gainboard.notation.queries import MOST_ITEMS
from gainboard.notation.sources import Source, as_utf8

T = TypeVar("T")
ItemT = TypeVar("ItemT")

Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
Query: TypeAlias = "Mapping[str, object]"
"""Texts, numbers, truth values and times, lists of them, and None for what is left out."""

PAGE = MOST_ITEMS
"""The items per page: the most that the service gives."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request to the service, which may need several attempts."""

    method: Method
    path: str
    query: Query = field(default_factory=dict)
    json: Any = None
    upload: Upload | None = None
    accept: str = "application/json"
    to: Path | None = None
    """The file for the body of a successful answer."""
    once: bool = False
    """True if the service carries it out only once, however often it is sent with the same Idempotency-Key."""
    removes: bool = False
    """True if an absent resource means that the request has succeeded."""
    patience: float = 0
    """The seconds for which the service may delay the answer."""

    @property
    def may_repeat(self) -> bool:
        """Return whether sending it twice does no more than sending it once."""
        return self.once or self.method in ("GET", "PUT", "DELETE")

    @property
    def body(self) -> bytes | None:
        """Return the JSON body; None without one."""
        if self.json is None:
            return None
        return _utf8(json.dumps(self.json, default=_json_value, allow_nan=False, ensure_ascii=False)).encode()

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The query, without members that are None."""
        return [
            (name, _text(each))
            for name, value in self.query.items()
            for each in ([value] if isinstance(value, str) or not isinstance(value, Sequence) else value)
            if each is not None
        ]


Call: TypeAlias = "Generator[Request, httpx.Response, T]"


@dataclass(frozen=True, slots=True)
class Pages(Generic[ItemT]):
    """A list of the service, and the function that shows an item."""

    model: Any
    path: str
    query: Query = field(default_factory=dict)
    show: Callable[[Any], ItemT] = lambda item: item

    def page(self, cursor: str | None) -> Call[tuple[list[ItemT], str | None]]:
        """Return the items after a cursor, and the next cursor; None on the last page."""
        request = Request("GET", self.path, {**self.query, "limit": PAGE, "cursor": cursor})
        read = yield from read_model(self.model, request)
        return [self.show(item) for item in read.items], read.next_cursor


def read_model(kind: type[T], request: Request) -> Call[T]:
    """Request one of the API's models, and return it."""
    answer = yield request
    _require(answer, request.accept)
    try:
        value: T = kind.model_validate_json(answer.content)  # type: ignore[attr-defined]
    except ValueError as error:
        raise NotGainboard(_unreadable(answer, kind.__name__)) from error
    return value


def read_mapping(request: Request) -> Call[dict[str, Any]]:
    """Request JSON that has no model, and return it."""
    answer = yield request
    _require(answer, request.accept)
    try:
        value = answer.json()
    except ValueError as error:
        raise NotGainboard(_unreadable(answer, "JSON")) from error
    if not isinstance(value, dict):
        raise NotGainboard(_unreadable(answer, "JSON object"))
    return value


def read_text(request: Request) -> Call[str]:
    """Request text, and return it."""
    answer = yield request
    _require(answer, request.accept)
    return answer.text


def read_bytes(request: Request) -> Call[bytes]:
    """Request a file, and return its bytes."""
    answer = yield request
    _require(answer, request.accept)
    return answer.content


def save_file(request: Request) -> Call[Path]:
    """Request a file, write it to `request.to`, and return that path."""
    assert request.to is not None
    _require((yield request), request.accept)
    return request.to


def delete(path: str, query: Query | None = None) -> Call[None]:
    """Request the removal of a resource."""
    yield Request("DELETE", path, query or {}, removes=True)


def api_path(*parts: str | int) -> str:
    """Return a path below `/v1`. Raise BadInput if a name cannot be part of a path."""
    for part in parts:
        # Quoting leaves dots as they are, and clients and proxies resolve them into another path.
        if part in ("", ".", ".."):
            raise BadInput(f"{part!r} cannot be a name in an address. Use a name that is not empty, `.` or `..`.")
    return "/v1/" + "/".join(quote(_utf8(str(part)), safe="") for part in parts)


def of_collection(name: str, *parts: str | int) -> str:
    """Return a path of a collection. Raise BadInput as `api_path` does."""
    return api_path("collections", name, *parts)


def media_type(answer: httpx.Response) -> str:
    """Return the media type of an answer, without its parameters."""
    written: str = answer.headers.get("content-type", "")
    return written.partition(";")[0].strip()


def _require(answer: httpx.Response, accept: str) -> None:
    if (found := media_type(answer)) != accept:
        raise NotGainboard(
            f"{answer.request.method} {answer.request.url.copy_with(query=None)} returned {found or 'nothing'}, not "
            f"{accept}, so this is not Gainboard. Check the address."
        )


def _unreadable(answer: httpx.Response, name: str) -> str:
    url = answer.request.url.copy_with(query=None)
    return (
        f"The answer of {url} is not a {name} that this client (Gainboard {__version__}) knows. Compare its version "
        "with that at /healthz, and check the address."
    )


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not a JSON value: {value!r}")


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else _utf8(str(value))


def _utf8(text: str) -> str:
    """Return text as UTF-8 has it: an argument in another locale has bytes that could not be read. Raise BadInput."""
    utf8 = as_utf8(text)
    try:
        utf8.encode()
    except UnicodeEncodeError as error:
        raise BadInput(f"{utf8[error.start]!r} cannot be sent. Write names and texts in UTF-8.") from error
    return utf8


COMPRESSED_FROM = 64 << 10
"""The size in bytes from which compressing takes less time than it saves on most networks."""
PIECE = 1 << 20
_MAGIC = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")


@dataclass(slots=True)
class Upload:
    """A file to send."""

    _source: Path | bytes | BinaryIO
    _start: int | None = 0
    """The start of our part of an open file; None if the file can be read only once."""

    @classmethod
    def of(cls, source: Source) -> Upload:
        """Return the file of a source. Raise OSError if there is none, and BadInput if it is open as text."""
        if isinstance(source, str) and "\n" in source:
            return cls(source.encode())
        if isinstance(source, bytes):
            return cls(source)
        if isinstance(source, str | os.PathLike):
            with open(source, "rb") as file:
                # A pipe has a path, too, but it can be opened and read only once.
                return cls(Path(source) if S_ISREG(os.fstat(file.fileno()).st_mode) else _read_compressed(file))
        if isinstance(source, io.TextIOBase):
            raise BadInput('A file that is open as text cannot be sent unchanged. Open it as binary: open(path, "rb").')
        return cls(source, source.tell() if source.seekable() else None)

    def pieces(self) -> tuple[Iterator[bytes], str | None]:
        """Return the body from its start, and its Content-Encoding. A compressed file is sent unchanged."""
        if self._start is None:
            with self._opened() as file:
                self._source, self._start = _read_compressed(file), 0
        with self._opened() as file:
            first = file.read(COMPRESSED_FROM)
        if first.startswith(_MAGIC) or len(first) < COMPRESSED_FROM:
            return self._read(), None
        return _compress(self._read()), "zstd"

    def _opened(self) -> AbstractContextManager[BinaryIO]:
        if isinstance(self._source, Path):
            return self._source.open("rb")
        if isinstance(self._source, bytes):
            return closing(io.BytesIO(self._source))
        if self._start is not None:
            self._source.seek(self._start)
        return nullcontext(self._source)  # the caller who opened it closes it

    def _read(self) -> Iterator[bytes]:
        with self._opened() as file:
            while piece := file.read(PIECE):
                yield piece


def _read_compressed(file: BinaryIO) -> bytes:
    """Read a file that can be read only once, and return it compressed."""
    first = file.read(PIECE)
    pieces = chain([first], iter(partial(file.read, PIECE), b""))
    return b"".join(pieces if first.startswith(_MAGIC) else _compress(pieces))


def _compress(pieces: Iterator[bytes]) -> Iterator[bytes]:
    from gainboard.trec.bodies import ZstdCompressor  # noqa: PLC0415 (what reads files comes with it  # noqa: PLC0415 (what reads files comes with it)

    compressor = ZstdCompressor()
    for piece in pieces:
        if out := compressor.compress(piece):
            yield out
    yield compressor.flush()
