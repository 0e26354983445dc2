"""The connection of a client: to a server, or to a service of this process alone, blocking or asynchronous.

Methods are written once, as calls. A blocking client runs them at once; an asynchronous one is awaited.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import secrets
import shutil
import ssl
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import MethodType
from typing import Any, BinaryIO, Concatenate, Generic, ParamSpec, TypeVar, get_args, overload
from urllib.parse import quote
from uuid import uuid4
from weakref import finalize

import anyio
import anyio.to_thread
import httpx

from gainboard import __version__, children, vocabulary
from gainboard.client.attempts import Attempt, Outcome, Pause, steps
from gainboard.client.errors import ClientError, Problem
from gainboard.client.requests import Call, Pages, Request, media_type
from gainboard.errors import BadInput, BadSetting
from gainboard.notation.queries import fields_of, parameters_type

T = TypeVar("T")

DEFAULT_SERVER = "http://127.0.0.1:8000"
CONNECTED_WITHIN = 10.0


@dataclass(frozen=True)
class Endpoint:
    """A server, a token, and the patience of a client. No text form of it shows the token."""

    server: str
    token: str | None = field(repr=False)
    timeout: float
    retries: int

    @classmethod
    def of(cls, server: str | None, token: str | None, timeout: float, retries: int) -> Endpoint:
        """Return the endpoint from the arguments; the environment fills in what they leave open. Raise BadSetting."""
        environment: Mapping[str, str] = os.environ
        server = server or environment.get("GAINBOARD_SERVER") or DEFAULT_SERVER
        token = environment.get("GAINBOARD_TOKEN") if token is None else token
        if token and not token.isprintable():
            raise BadSetting("The token contains a line break or another character that no token has. Copy it again.")
        return cls(_address(server), token or None, timeout, retries)

    @property
    def headers(self) -> dict[bytes, bytes]:
        """Return the headers of every request."""
        headers = {b"User-Agent": f"gainboard/{__version__}".encode()}
        if self.token:
            headers[b"Authorization"] = b"Bearer " + self.token.encode()
        return headers

    @property
    def trusted(self) -> ssl.SSLContext | bool:
        """The certificates to trust: those of the usual authorities, and none if the address has no TLS.

        Reading the authorities' certificates takes longer than many requests.
        """
        return self.server.startswith("https:") or ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def patience(self, more: float) -> httpx.Timeout:
        """Return the timeouts of a request, with `more` seconds for its answer."""
        within = min(self.timeout, CONNECTED_WITHIN)
        return httpx.Timeout(self.timeout, connect=within, read=self.timeout + more)


def _address(server: str) -> str:
    if "@" in server:
        raise BadSetting("The address of the server contains a user or password. Remove it, and give a token instead.")
    try:
        url = httpx.URL(server)
    except (httpx.InvalidURL, TypeError, ValueError) as error:
        raise BadSetting(
            f"{server!r} is not a valid address of a server ({error}). Use an address such as {DEFAULT_SERVER}."
        ) from error
    if url.scheme not in ("http", "https") or not url.host or url.query or url.fragment:
        raise BadSetting(f"{server!r} is not a valid address of a server. Use an address such as {DEFAULT_SERVER}.")
    return str(url).rstrip("/")


class Connection:
    """A blocking connection to a server."""

    def __init__(self, target: Endpoint, transport: httpx.BaseTransport | None) -> None:
        self.target = target
        self.client = httpx.Client(headers=target.headers, transport=transport, verify=target.trusted)

    def run(self, call: Call[T]) -> T:
        """Run a call. Raise errors as `attempts` does."""
        going, outcome = steps(call, self.target.retries), None
        while True:
            try:
                step = going.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = self._do(step)

    def _do(self, step: Attempt | Pause) -> Outcome:
        if isinstance(step, Pause):
            time.sleep(step.seconds)
            return None
        try:
            # As a stream, because an archive may be larger than memory; other answers are read at once.
            with self.client.stream(**_stream_arguments(self.target, step)) as answer:
                self._receive(answer, _file_for(answer, step.request))
        except httpx.RequestError as error:
            return error
        return answer

    def _receive(self, answer: httpx.Response, to: Path | None) -> None:
        if to is None:
            answer.read()
            return
        with _write_whole(to) as file:
            for piece in answer.iter_bytes():
                file.write(piece)


class AsyncConnection:
    """An asynchronous connection to a server."""

    def __init__(self, target: Endpoint, transport: httpx.AsyncBaseTransport | None) -> None:
        self.target = target
        self.client = httpx.AsyncClient(headers=target.headers, transport=transport, verify=target.trusted)

    async def run(self, call: Call[T]) -> T:
        """Run a call. Raise errors as `attempts` does."""
        going, outcome = steps(call, self.target.retries), None
        while True:
            try:
                step = going.send(outcome)
            except StopIteration as done:
                result: T = done.value
                return result
            outcome = await self._do(step)

    async def _do(self, step: Attempt | Pause) -> Outcome:
        if isinstance(step, Pause):
            await anyio.sleep(step.seconds)
            return None
        try:
            # Files are opened and read in threads, so that the event loop never waits for a disk.
            sending = await anyio.to_thread.run_sync(_stream_arguments, self.target, step)
            if step.request.upload is not None:
                sending["content"] = _in_threads(sending["content"])
            async with self.client.stream(**sending) as answer:
                await self._receive(answer, _file_for(answer, step.request))
        except httpx.RequestError as error:
            return error
        return answer

    async def _receive(self, answer: httpx.Response, to: Path | None) -> None:
        if to is None:
            await answer.aread()
            return
        with _write_whole(to) as file:
            async for piece in answer.aiter_bytes():
                await anyio.to_thread.run_sync(file.write, piece)


def _file_for(answer: httpx.Response, request: Request) -> Path | None:
    """Return the file to write an answer to; None unless the answer is the requested file."""
    # A problem, or the page of a proxy, must be read whole, and must not stand where the file was wanted.
    return request.to if answer.is_success and media_type(answer) == request.accept else None


def _stream_arguments(target: Endpoint, attempt: Attempt) -> dict[str, Any]:
    """Return the arguments of `stream` for an attempt."""
    request, headers = attempt.request, attempt.headers
    content: bytes | Iterator[bytes] | None = request.body
    if request.upload is not None:
        content, encoding = request.upload.pieces()
        headers |= {"Content-Encoding": encoding} if encoding else {}
    return {
        "method": request.method,
        "url": target.server + request.path,
        "params": request.parameters,
        "headers": headers,
        "content": content,
        "timeout": target.patience(request.patience),
    }


async def _in_threads(pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the pieces, which are read and compressed in a thread beside the event loop."""
    following = functools.partial(next, pieces, b"")
    while piece := await anyio.to_thread.run_sync(following):
        yield piece


@contextmanager
def _write_whole(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name when it is complete, and does not exist before."""
    # A file with a part of an answer could be taken for the whole one, so it gets its name at the end.
    part = path.with_name(f".{path.name}.{uuid4().hex}")
    try:
        with part.open("xb") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


HOST = "gainboard.local"
STOP_SECONDS = 15
LONGEST_SOCKET = 103
"""Bytes that the path of a socket may have, on every system."""


class LocalService:
    """A service in a child process: on a socket in a folder that only this user may enter, until this process ends.

    `data` is a folder for its database; without one, everything is removed at the end. `port` is where browsers of
    this machine find it, if that was asked for, and else 0. Raise ClientError if it does not start.
    """

    def __init__(self, data: Path | None = None, *, job_slots: int | None = None, for_browsers: bool = False) -> None:
        self.token = secrets.token_urlsafe(32)
        folder = Path(tempfile.mkdtemp(prefix="gainboard-"))  # which only its owner may enter
        socket = folder / "socket"
        if len(os.fsencode(socket)) > LONGEST_SOCKET:
            # TMPDIR may be deep, and then the data stay there without the socket. The service removes its folder.
            socket = Path(tempfile.mkdtemp(prefix="gainboard-", dir="/tmp")) / "socket"
        # Its own session: an interrupt at the keyboard is for this process, which then ends the service.
        process = subprocess.Popen(
            children.command("gainboard.cli.local_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=children.environment(),
            start_new_session=True,
        )
        self.folder, self.process = folder, process.pid
        self._end = finalize(self, _end, process, folder)
        assert process.stdin is not None
        assert process.stdout is not None
        self._entrance = secrets.token_urlsafe(32)
        asked = {
            "data": str(data or folder / "data"),
            "socket": str(socket),
            "token": self.token,
            "job_slots": job_slots,
            "entrance": self._entrance if for_browsers else "",
        }
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        with process.stdout as told:
            port = told.readline()
        if not port:
            self.close()
            raise ClientError(f"The local service did not start ({children.ending(process.returncode)}).")
        self.port = int(port)
        self.transport = httpx.HTTPTransport(uds=str(socket))

    def entrance(self, path: str) -> str:
        """Return the address that lets one browser in, once, and leads it to a page."""
        return f"http://127.0.0.1:{self.port}/enter/{self._entrance}?to={quote(path)}"

    def close(self) -> None:
        """End the service. It does so by itself at the end of this process."""
        self._end()


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Loaded:
    """The runs that were loaded into a collection: their names, and the refusals of faulty ones by name."""

    runs: Sequence[str]
    refused: Mapping[str, Problem | BadInput] = field(default_factory=dict)

    def __repr__(self) -> str:
        refused = f", refused: {', '.join(self.refused)}" if self.refused else ""
        return f"<Loaded: {len(self.runs)} runs{refused}>"


P = ParamSpec("P")
NowT_co = TypeVar("NowT_co", covariant=True)
LaterT_co = TypeVar("LaterT_co", covariant=True)


class Blocking:
    """The base of objects that run their calls at once."""

    _connection: Connection


class Awaited:
    """The base of objects that run their calls when they are awaited."""

    _connection: AsyncConnection


class Both(Generic[P, NowT_co, LaterT_co]):
    """A method with a blocking and an asynchronous form; its object chooses."""

    def __init__(self, now: Callable[..., NowT_co], later: Callable[..., LaterT_co]) -> None:
        self._now, self._later = now, later
        self.__doc__ = now.__doc__

    @overload
    def __get__(self, of: Blocking, kind: Any = None) -> Callable[P, NowT_co]: ...
    @overload
    def __get__(self, of: Awaited, kind: Any = None) -> Callable[P, LaterT_co]: ...
    @overload
    def __get__(self, of: None, kind: type[Blocking]) -> Callable[Concatenate[Any, P], NowT_co]: ...
    @overload
    def __get__(self, of: None, kind: type[Awaited]) -> Callable[Concatenate[Any, P], LaterT_co]: ...
    def __get__(self, of: object, kind: Any = None) -> Any:
        # Both clients inherit the same calls, so only the class that is looked at tells which form is meant.
        function = self._later if issubclass(kind or type(of), Awaited) else self._now
        return function if of is None else MethodType(function, of)


def call(define: Callable[Concatenate[Any, P], Call[T]]) -> Both[P, T, Coroutine[Any, Any, T]]:
    """Make a method that returns one result."""

    def now(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._connection.run(define(self, *args, **kwargs))

    async def later(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._connection.run(define(self, *args, **kwargs))

    return Both(_like(define, now, "{}"), _like(define, later, "{}"))


def listing(define: Callable[Concatenate[Any, P], Pages[T]]) -> Both[P, Iterator[T], AsyncIterator[T]]:
    """Make a method that returns a list, which is read page by page."""

    def now(self: Blocking, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        pages, cursor = define(self, *args, **kwargs), None
        while True:
            items, cursor = self._connection.run(pages.page(cursor))
            yield from items
            if cursor is None:
                return

    async def later(self: Awaited, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        pages, cursor = define(self, *args, **kwargs), None
        while True:
            items, cursor = await self._connection.run(pages.page(cursor))
            for item in items:
                yield item
            if cursor is None:
                return

    return Both(_like(define, now, "Iterator[{}]"), _like(define, later, "AsyncIterator[{}]"))


F = TypeVar("F", bound=Callable[..., Any])


def _like(define: Callable[..., Any], function: F, gives: str) -> F:
    """Give the function the name, docstring and signature of the definition, as `help` shows them."""
    functools.update_wrapper(function, define)
    del function.__wrapped__  # type: ignore[attr-defined]  # or its signature would be the definition's
    signature = inspect.signature(define)
    inner = str(signature.return_annotation).partition("[")[2].removesuffix("]")
    parameters = [each for parameter in signature.parameters.values() for each in _spelt_out(parameter, define)]
    result = signature.replace(parameters=parameters, return_annotation=gives.format(inner))
    function.__signature__ = result  # type: ignore[attr-defined]
    function.__annotations__ = {**define.__annotations__, "return": result.return_annotation}
    return function


MOST_WORDS = 10
_LONG = {words: name for name, words in vars(vocabulary).items() if len(get_args(words)) > MOST_WORDS}
"""The names of lists of words that are too long for a signature."""


def _spelt_out(parameter: inspect.Parameter, define: Callable[..., Any]) -> Iterator[inspect.Parameter]:
    """Yield a parameter; for one that takes the fields of a query, a parameter for each of these."""
    # The annotation is a text, which names a class of the module of the call. Type checkers read it as it is, and
    # `help`, notebooks and the documentation get the parameters from here.
    taken = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
    query = vars(inspect.getmodule(define)).get(taken[1]) if taken else None
    if query is None or not (fields := fields_of(query)):
        yield parameter
        return
    for name, query_field in fields.items():
        default = () if query_field.is_list else query_field.said.default
        named = [_LONG[kind] for kind in get_args(query_field.annotation) if kind in _LONG]
        annotation = f"{named[0]} | None" if named else query_field.annotation
        yield inspect.Parameter(name, parameter.KEYWORD_ONLY, default=default, annotation=annotation)
    if (kind := parameters_type(query)) is not None:
        yield parameter.replace(name="parameters", annotation=kind)
