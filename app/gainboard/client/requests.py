"""Calls without a network: a call is a generator of requests, which is sent their answers and returns its result.

So each is written once, and a blocking and an asynchronous client carry out the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import httpx

from gainboard import __version__
from gainboard.client.errors import NotGainboard
from gainboard.client.uploads import Upload
from gainboard.errors import BadInput

T = TypeVar("T")
ItemT = TypeVar("ItemT")

Method = Literal["GET", "PUT", "POST", "PATCH", "DELETE"]
Value: TypeAlias = "str | float | bool | datetime | None"
Query: TypeAlias = "Mapping[str, Value | Sequence[Value]]"

PAGE = 500
"""Items asked for at once: the most that the service gives."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the service, however often it must be sent for an answer."""

    method: Method
    path: str
    query: Query = field(default_factory=dict)
    json: Any = None
    upload: Upload | None = None
    accept: str = "application/json"
    to: Path | None = None
    """The file that takes a successful answer's body."""
    once: bool = False
    """Whether the service does it once only, however often it is sent with the same Idempotency-Key."""
    removes: bool = False
    """Whether what it asks for is done as soon as there is nothing any more."""
    patience: float = 0
    """Seconds that the service may let the answer wait."""

    @property
    def may_repeat(self) -> bool:
        """Whether sending it twice does no more than sending it once."""
        return self.once or self.method in ("GET", "PUT", "DELETE")

    @property
    def body(self) -> bytes | None:
        """The JSON body, if it has one."""
        return json.dumps(self.json, default=_plain, allow_nan=False).encode() if self.json is not None else None

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The query, without what is None."""
        return [
            (name, _text(each))
            for name, value in self.query.items()
            for each in ([value] if isinstance(value, str) or not isinstance(value, Sequence) else value)
            if each is not None
        ]


Call: TypeAlias = "Generator[Request, httpx.Response, T]"


@dataclass(frozen=True, slots=True)
class Pages(Generic[ItemT]):
    """A list of the service, and how one of its items is shown."""

    model: Any
    path: str
    query: Query = field(default_factory=dict)
    show: Callable[[Any], ItemT] = lambda item: item

    def page(self, cursor: str | None) -> Call[tuple[list[ItemT], str | None]]:
        """The items after a cursor, and the next cursor, None on the last page."""
        request = Request("GET", self.path, {**self.query, "limit": PAGE, "cursor": cursor})
        found = yield from model(self.model, request)
        return [self.show(each) for each in found.items], found.next_cursor


def model(kind: type[T], request: Request) -> Call[T]:
    """Asks for something that one of the API's models is of."""
    answer = yield request
    _require(answer, request.accept)
    try:
        found: T = kind.model_validate_json(answer.content)  # type: ignore[attr-defined]
    except ValueError as error:
        raise NotGainboard(_unreadable(answer, kind.__name__)) from error
    return found


def mapping(request: Request) -> Call[dict[str, Any]]:
    """Asks for JSON that has no model."""
    answer = yield request
    _require(answer, request.accept)
    try:
        found = answer.json()
    except ValueError as error:
        raise NotGainboard(_unreadable(answer, "JSON")) from error
    if not isinstance(found, dict):
        raise NotGainboard(_unreadable(answer, "JSON object"))
    return found


def text(request: Request) -> Call[str]:
    """Asks for text."""
    answer = yield request
    _require(answer, request.accept)
    return answer.text


def content(request: Request) -> Call[bytes]:
    """Asks for a file, in memory."""
    answer = yield request
    _require(answer, request.accept)
    return answer.content


def saved(request: Request) -> Call[Path]:
    """Asks for a file and has it written; gives where."""
    assert request.to is not None
    _require((yield request), request.accept)
    return request.to


def removed(place: str) -> Call[None]:
    """Asks for something to be taken away."""
    yield Request("DELETE", place, removes=True)


def path(*parts: str | int) -> str:
    """A path of `/v1`; raises BadInput where a name cannot be part of one."""
    for part in parts:
        if part in ("", ".", ".."):
            raise BadInput(f"{part!r} is no name of anything.")
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def media_type(answer: httpx.Response) -> str:
    """What an answer is of."""
    found: str = answer.headers.get("content-type", "")
    return found.partition(";")[0].strip()


def _require(answer: httpx.Response, accept: str) -> None:
    if (found := media_type(answer)) != accept:
        raise NotGainboard(
            f"{answer.request.method} {answer.request.url.copy_with(query=None)} was answered with "
            f"{found or 'nothing'}, not {accept}, so that is no Gainboard. Is the address right?"
        )


def _unreadable(answer: httpx.Response, name: str) -> str:
    url = answer.request.url.copy_with(query=None)
    return (
        f"What {url} answered is no {name} as this client (Gainboard {__version__}) knows it; compare the version "
        f"at /healthz, and whether the address is right."
    )


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is no JSON value: {value!r}")


def _text(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value.isoformat() if isinstance(value, datetime) else str(value)
