"""JSON bodies of requests, which are bounded before anything is made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Request
from fastapi.concurrency import run_in_threadpool
from starlette.types import Message, Receive, Scope

from gainboard.api.answers import headers_of
from gainboard.errors import InvalidRequest, TooLarge

T = TypeVar("T")

MOST_MEMBERS = 10_000
"""The most objects and lists in a body and members of its objects. Each may be at fault, and each fault costs.

What a list has is bounded by its own field, which reports one fault of a long list.
"""
ASIDE_FROM_BYTES = 1 << 13
"""Larger bodies are parsed in a thread, so that no other request waits."""
# Possessive (`*+`), so that a text without an end costs no second try.
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


async def parsed(request: Request, parse: Callable[[bytes], T]) -> T:
    """Return what `parse` makes of the body. Large bodies are parsed in a thread, one after another.

    Many threads that parse at the same time would take the interpreter's lock from all others.
    """
    body = await request.body()
    if len(body) <= ASIDE_FROM_BYTES:
        return parse(body)
    return await to_thread.run_sync(parse, body, limiter=request.app.state.one_parser)


class BoundedRequest(Request):
    """A request whose body has a limit, and whose JSON has each member of an object once.

    The body is read by whoever needs it: FastAPI, a form, or `uploads.received`, which lifts this limit because files
    have limits of their own. So a new route for files cannot be forgotten anywhere. A large body is refused by its
    declared size, before anything is read, and so is the JSON of a sender without a token (`require_token`).
    """

    def __init__(
        self, scope: Scope, receive: Receive, most: int, what: str, require_token: Callable[[Scope], object] | None
    ) -> None:
        # FastAPI, Starlette's forms and `stream` all read by this function, so none of them goes around the limit.
        super().__init__(scope, self._receive_bounded)
        self._receive_all, self._most, self._what, self._require_token = receive, most, what, require_token
        self._read, self._has_begun, self._is_bounded = 0, False, True

    def lift_limit(self) -> None:
        """Let the body be of any size: whoever reads it counts its bytes."""
        self._is_bounded = False

    async def _receive_bounded(self) -> Message:
        if not self._is_bounded:
            return await self._receive_all()
        if not self._has_begun:
            declared = headers_of(self.scope).get("content-length", "0")
            if declared.isdecimal() and int(declared) > self._most:
                raise self._refusal()
            if self._require_token:
                # FastAPI reads the body before it asks for the token, so the token is looked up twice. The first look
                # is a fraction of a millisecond, and only requests with a JSON body take it.
                await run_in_threadpool(self._require_token, self.scope)
            self._has_begun = True
        message = await self._receive_all()
        # The declared size may be wrong or missing, so bytes are counted, too.
        self._read += len(message.get("body", b""))
        if self._read > self._most:
            raise self._refusal()
        return message

    def _refusal(self) -> TooLarge:
        return TooLarge(
            f"The body is larger than {self._most:,} bytes, the limit for {self._what}. Send less in one request."
        )

    async def json(self) -> Any:
        """Return the value of the body. Raise TooLarge or InvalidRequest."""
        if not hasattr(self, "_json"):
            self._json = await parsed(self, read_json)
        return self._json


def read_json(body: bytes) -> Any:
    """Return the value of JSON. Raise JSONDecodeError, TooLarge for too many members, and InvalidRequest."""
    # The first count includes characters in texts, and is quick. It suffices for nearly all bodies.
    if _members(body) > MOST_MEMBERS and _members(_STRING.sub(b"", body)) > MOST_MEMBERS:
        raise TooLarge(f"The objects of the body have more than {MOST_MEMBERS:,} members. Send less in one request.")
    return json.loads(body, object_pairs_hook=_unique)


def _members(body: bytes) -> int:
    """Return the number of members and objects. Outside of strings, each member has one colon."""
    return body.count(b":") + body.count(b"{") + body.count(b"[")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in members if names.count(name) > 1)
        message = f"An object has {twice[:60]!r} more than once, and only one value can hold. Give it once."
        raise InvalidRequest.at("body", "repeated", message)
    return members
