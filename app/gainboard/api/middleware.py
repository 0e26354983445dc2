"""The layers around every request: its id, its log line, its turn, and conditional, compressed answers."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import re
import time
from random import getrandbits

from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gainboard.acceleration.serving import give_memory_back
from gainboard.api.answers import OF_THE_BODY, dressed, has_already, headers_of, takes_gzip
from gainboard.api.dependencies import caller_of
from gainboard.api.problems import problem
from gainboard.api.response_cache import note_sent
from gainboard.api.telemetry import AccessLog, Telemetry
from gainboard.errors import AddressTooLong, BodyStalled, SeveralHosts, Unexpected
from gainboard.evaluation.workspace import DearRequests, Visit, visiting

try:
    # The `fast` extra has Intel's library: a quarter of zlib's time, and fewer bytes.
    from isal import igzip as gzip
except ImportError:
    import gzip  # type: ignore[no-redef]  # of the same name, and for the same use

ADDRESS_BYTES = 60 << 10
STALLED_SECONDS: float = 30
"""Seconds without any byte of a body, after which its connection is closed."""
COMPRESSED_FROM_BYTES = 1024
ASIDE_FROM_BYTES = 1 << 18
"""Larger answers are compressed in a thread: compressing tens of megabytes would make all other requests wait."""
CLIENT_LEFT = 499
"""Only in the log: the status that other servers log, too, if a client leaves before its answer."""
_SANE_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")

log = logging.getLogger("gainboard")


class Observed:
    """The outermost middleware: an id for the request, its log line, and a problem document for an unexpected error.

    The request is counted and timed too, if telemetry is installed.
    """

    def __init__(
        self, app: ASGIApp, access: AccessLog | None, telemetry: Telemetry | None, *, is_shared: bool = True
    ) -> None:
        self.app, self._is_shared = app, is_shared
        self._access, self._telemetry = access, telemetry

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        given = headers_of(scope).get("x-request-id", "")
        # An id of the sender is used only if it is harmless, because it is written to the log. Ours need not be secret.
        request_id = given if _SANE_ID.fullmatch(given) else f"{getrandbits(128):032x}"
        began, status, caller = time.perf_counter(), 0, caller_of(scope)

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                # In the outermost layer, through which problems and kept answers come, too.
                headers = dressed(scope, message, is_shared=self._is_shared)
                if self._telemetry:
                    self._telemetry.note(scope, status, time.perf_counter() - began)
                message["headers"] = [*headers, (b"x-request-id", request_id.encode())]
            await send(message)

        try:
            await self.app(scope, receive, observed)
        except ClientDisconnect:
            status = CLIENT_LEFT  # The client has gone, so nobody reads the answer. This is not an error.
        except Exception:
            log.exception("unexpected error", extra={"request_id": request_id})
            # The answer has begun, so its status cannot change any more: the server breaks the connection.
            if status:
                raise
            answer = problem(
                Unexpected(
                    "An error inside Gainboard. Report it with the X-Request-ID of this answer; the server's log has "
                    "the details."
                )
            )
            await answer(scope, receive, observed)
        finally:
            if self._access:
                # Only the path is logged: a query may hold what should not stay in a log, and tokens are only in
                # headers.
                seconds = time.perf_counter() - began
                self._access.note(request_id, scope["method"], scope["path"], status, seconds, caller.token)


class Attentive:
    """A middleware that waits for the next bytes of a body for 30 seconds, and then closes the connection.

    A client that stalls would otherwise hold its connection, and what its upload holds, for as long as it likes.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        is_complete = False

        async def attentive() -> Message:
            nonlocal is_complete
            if is_complete:  # what comes now is the end of the connection, which may take any time
                return await receive()
            try:
                async with asyncio.timeout(STALLED_SECONDS):
                    message = await receive()
            except TimeoutError as error:
                raise BodyStalled(
                    f"Nothing of the body arrived for {STALLED_SECONDS:g} seconds. Send the request again."
                ) from error
            is_complete = not message.get("more_body", False)
            return message

        await self.app(scope, attentive, send)


class BoundedAddress:
    """A middleware that refuses addresses of more than 60 KiB, with their queries.

    Without it, the server's parser of addresses would give up at 64 KiB, with 400 in plain text.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http" and len(scope["raw_path"]) + len(scope["query_string"]) > ADDRESS_BYTES:
            app = problem(
                AddressTooLong(
                    f"The address with its query has more than {ADDRESS_BYTES:,} bytes. Ask for less in one request, "
                    "for example for fewer runs."
                )
            )
        await app(scope, receive, send)


class OneHost:
    """A middleware that refuses requests with two `Host` headers, as RFC 9112 demands: proxies may read the other."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self.app
        if scope["type"] == "http" and sum(name == b"host" for name, _ in scope["headers"]) > 1:
            app = problem(SeveralHosts("The request has several `Host` headers. Send one."))
        await app(scope, receive, send)


class InTurn:
    """A middleware that counts what a request costs by estimate, and gives back the turn and the memory of a dear one.

    The turn ends when the answer begins: a client that reads slowly keeps nobody waiting.
    """

    def __init__(self, app: ASGIApp, turns: DearRequests) -> None:
        self.app, self._turns = app, turns

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit, was_dear = Visit(self._turns, lambda: caller_of(scope).token), False

        async def begun(message: Message) -> None:
            nonlocal was_dear
            was_dear = visit.end() or was_dear
            await send(message)

        try:
            with visiting(visit):
                await self.app(scope, receive, begun)
        finally:
            if visit.end() or was_dear:
                # Such answers take hundreds of megabytes, which the allocator would keep for the next one.
                asyncio.get_running_loop().run_in_executor(None, give_memory_back)


class Conditional:
    """A middleware for HEAD wherever GET exists, a strong ETag on every successful GET, 304 and gzip.

    The ETag is the SHA-256 of the bytes sent, so it reveals nothing more than they do. A stream with an ETag of its own
    passes unchanged. So do events, which nobody may cache.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        answer = _Answer(scope, send)
        # Routes know only GET. For HEAD the same answer is made, because its headers need the body, and the body is
        # dropped.
        inner = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope

        async def routed(message: Message) -> None:
            scope["route"] = inner.get("route")  # telemetry and the access log read the route from the scope
            await answer.send(message)

        await self.app(inner, receive, routed)


class _Answer:
    """One answer on its way out. It is held back until it is complete if it gets an ETag, and passed on otherwise."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self._scope, self._send = scope, send
        self._method = scope["method"]
        self._request = headers_of(scope)
        self._start: Message = {}
        self._body: list[bytes] = []
        self._streams = self._is_over = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            await self._begin(message)
        elif message["type"] != "http.response.body" or self._is_over:
            return
        elif self._streams:
            await self._send({**message, "body": b""} if self._method == "HEAD" else message)
        else:
            self._body.append(message.get("body", b""))
            if not message.get("more_body", False):
                await self._finish(b"".join(self._body))

    async def _begin(self, message: Message) -> None:
        self._start = message
        headers = MutableHeaders(scope=message)
        are_events = headers.get("content-type", "").startswith("text/event-stream")
        conditional = self._method in ("GET", "HEAD") and message["status"] == 200 and not are_events
        self._streams = not conditional or "etag" in headers
        if not self._streams:
            return
        if conditional and has_already(self._request, headers["etag"]):
            await self._not_modified(headers)
        else:
            await self._send(message)
        if are_events and self._method == "HEAD":
            # The first event may come late, and the client waits for the headers before that.
            self._is_over = True
            await self._send({"type": "http.response.body", "body": b""})

    async def _finish(self, body: bytes) -> None:
        headers = MutableHeaders(scope=self._start)
        is_packed = len(body) >= COMPRESSED_FROM_BYTES and takes_gzip(self._request)
        if is_packed:
            headers["Content-Encoding"] = "gzip"
        if len(body) < ASIDE_FROM_BYTES:
            body, headers["ETag"] = _encoded(body, is_packed)
        else:
            body, headers["ETag"] = await asyncio.to_thread(_encoded, body, is_packed)
        headers["Content-Length"] = str(len(body))
        note_sent(self._scope, self._start, body, headers["ETag"])
        if has_already(self._request, headers["ETag"]):
            await self._not_modified(headers)
            return
        await self._send(self._start)
        await self._send({"type": "http.response.body", "body": b"" if self._method == "HEAD" else body})

    async def _not_modified(self, headers: MutableHeaders) -> None:
        for name in OF_THE_BODY:
            del headers[name]
        self._is_over = True
        await self._send({**self._start, "status": 304})
        await self._send({"type": "http.response.body", "body": b""})


def _encoded(body: bytes, is_packed: bool) -> tuple[bytes, str]:
    """Return the bytes to be sent, and their ETag."""
    # The gzip header holds a time. It is fixed, because equal answers must have equal bytes.
    sent = gzip.compress(body, compresslevel=1, mtime=0) if is_packed else body
    return sent, f'"{hashlib.sha256(sent).hexdigest()}"'
