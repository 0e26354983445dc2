"""A cache of answers with scores: the bytes are sent again to those who ask the same and may see it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from fastapi import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gainboard.api.answers import OF_THE_BODY, RawHeaders, has_already, headers_of, takes_gzip
from gainboard.api.dependencies import as_sent, caller_of
from gainboard.api.telemetry import Telemetry
from gainboard.errors import GainboardError
from gainboard.evaluation.access.principals import Sender
from gainboard.evaluation.scoring.requests import Origin, is_current
from gainboard.evaluation.workspace import LRUCache, Workspace
from gainboard.store.snapshots import Standing, StandingKey, Standings

MOST_BYTES = 8 << 20
LONGEST = MOST_BYTES // 8
"""The longest answer that is cached, in bytes: a longer one would leave little room for others."""
_ENTRY_BYTES = 4096
"""The approximate memory of one cached answer besides its body and its key, in bytes."""

_NOTE = "gainboard.note"

_OF_THE_BODY = {name.encode() for name in OF_THE_BODY}

Key = tuple[str, str, bytes, str, bool]
"""The parts of a request that an answer's bytes depend on: root path, path, query, Accept, and whether gzip is taken.
"""


@dataclass(slots=True)
class Note:
    """The notes about an answer while it is made: the route notes its origin, `Conditional` notes the bytes sent."""

    origin: Origin | None = None
    headers: RawHeaders = field(default_factory=list)
    body: bytes = b""
    etag: str = ""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A successful answer: the encoded body, and headers; who may keep it is decided again for each client."""

    origin: Origin
    route: Any
    headers: RawHeaders
    body: bytes
    etag: str
    size: int
    """Roughly the memory that the answer and its request take."""

    async def send(self, method: str, request: Mapping[str, str], send: Send) -> None:
        """Send the answer, or a 304 if the client has it already."""
        unchanged = has_already(request, self.etag)
        headers = [each for each in self.headers if not (unchanged and each[0] in _OF_THE_BODY)]
        await send({"type": "http.response.start", "status": 304 if unchanged else 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if unchanged or method == "HEAD" else self.body})


class Checks:
    """A reader of the current standing, which reads once for all requests that wait for the same.

    A reading that began before a request came may be out of date, so the request waits for one that begins later. While
    one reading is under way, all requests that come share the next one: a slow database is asked no more often than it
    can answer. A quick one is read in the event loop, for all requests whose turn comes before that of a later one.
    Each request is a task of its own, as servers make it.
    """

    def __init__(self, standings: Standings) -> None:
        self._standings = standings
        self._read_now: dict[StandingKey, Standing | None] = {}
        self._asked: set[StandingKey] = set()
        self._next: asyncio.Task[dict[StandingKey, Standing | None]] | None = None
        self._one_at_a_time = asyncio.Lock()

    async def find(self, asked: StandingKey) -> Standing | None:
        """Return the current standing. Raise DatabaseBusy if the database does not answer."""
        if self._standings.is_quick:
            return self._find_now(asked)
        self._asked.add(asked)
        if self._next is None:
            self._next = asyncio.create_task(self._read())
        # the shield: a request that gives up must not cancel the reading for the others
        return (await asyncio.shield(self._next))[asked]

    def _find_now(self, asked: StandingKey) -> Standing | None:
        if asked not in self._read_now:
            if not self._read_now:
                # The loop takes turns in the order in which they were asked for. So whoever finds what is read now came
                # before it, and a request that comes from now on has its turn after this call.
                asyncio.get_running_loop().call_soon(self._read_now.clear)
            self._read_now |= self._standings.find([asked])
        return self._read_now[asked]

    async def _read(self) -> dict[StandingKey, Standing | None]:
        async with self._one_at_a_time:
            # Taken before the read begins, without an await: whoever comes from now on waits for the next read.
            asked, self._asked, self._next = self._asked, set(), None
            return await asyncio.to_thread(self._standings.find, asked)


class ResponseCache:
    """A middleware that answers from the cache if nothing has changed, and otherwise stores the answer that is made.

    Each request reads whether its token is still valid and which revision the collection has. Answers are therefore
    right at once after a change, whichever process made it. A request that cannot be decided takes the normal way.
    """

    def __init__(
        self, app: ASGIApp, workspace: Workspace, standings: Standings, telemetry: Telemetry | None = None
    ) -> None:
        self.app, self._telemetry = app, telemetry
        self._workspace, self._checks = workspace, Checks(standings)
        self._answers: LRUCache[Key, KeptAnswer] = LRUCache(MOST_BYTES, lambda kept: kept.size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] not in ("GET", "HEAD"):
            await self.app(scope, receive, send)
            return
        request = headers_of(scope)
        # Every address is looked up. Which ones are kept is known only after routing, and this takes a microsecond.
        key = (
            *(scope.get("root_path", ""), scope["path"], scope["query_string"]),
            *(request.get("accept", ""), takes_gzip(request)),
        )
        kept = self._answers.find(key)
        if kept is not None and await self._is_current(kept.origin, scope, request):
            if self._telemetry:
                self._telemetry.note_kept(found=True)
            scope["route"] = kept.route  # telemetry and the access log read the route from the scope
            await kept.send(scope["method"], request, send)
            return
        note = scope[_NOTE] = Note()
        await self.app(scope, receive, send)
        route = scope.get("route")
        # Pages call the functions of such routes, too, and their answers are for one session.
        if not getattr(route, "is_kept", False):
            return
        if self._telemetry:
            self._telemetry.note_kept(found=False)
        if note.origin is not None and note.etag and len(note.body) <= LONGEST:
            # The last part of the key is a bool.
            size = len(note.body) + sum(map(len, key[:-1])) + _ENTRY_BYTES
            answer = KeptAnswer(note.origin, route, note.headers, note.body, note.etag, size)
            self._answers.keep(key, answer)

    async def _is_current(self, origin: Origin, scope: Scope, request: Mapping[str, str]) -> bool:
        authorization = request.get("authorization")
        # Other spellings of the scheme are rare, and the normal way reads them.
        if authorization is not None and not authorization.startswith("Bearer "):
            return False
        # Without a caller, so that an invalid token is counted once: by the normal way.
        sender = (
            Sender.of(as_sent(authorization.removeprefix("Bearer ").strip())) if authorization is not None else Sender()
        )
        try:
            now = await self._checks.find(StandingKey(origin.collection.name, sender.hash))
            is_right = is_current(self._workspace, origin, sender, now)
            if now is not None and now.token is not None:
                caller_of(scope).token = now.token.id  # for the log; the normal way notes it itself
            return is_right
        except GainboardError:
            return False  # the normal way finds the same error, and reports it


def note_origin(request: Request, origin: Origin | None) -> None:
    """Note what the answer was made of, if it may be sent again. Routes call this function."""
    if (note := request.scope.get(_NOTE)) is not None:
        note.origin = origin


def note_sent(scope: Scope, message: Message, body: bytes, etag: str) -> None:
    """Note an answer that is ready to be sent whole. The encoding middleware calls this function."""
    if (note := scope.get(_NOTE)) is not None:
        note.headers, note.body, note.etag = list(message["headers"]), body, etag
