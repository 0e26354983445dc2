"""The two ways to run a call: blocking and asynchronous. Everything except waiting is elsewhere."""

from __future__ import annotations

import functools
import os
import ssl
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, TypeVar
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx

from gainboard import __version__
from gainboard.client.attempts import Attempt, Outcome, Pause, steps
from gainboard.client.requests import Call, Request, media_type
from gainboard.errors import BadSetting

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
