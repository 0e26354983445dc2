"""JSON bodies of requests, which are bounded before anything is made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

from anyio import to_thread
from fastapi import Request, Response

from gainboard.api.routes import CheckedRoute, Handler
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


class JsonRequest(Request):
    """A request whose JSON is bounded, and whose objects have each member once."""

    async def json(self) -> Any:
        """Return the value of the body. Raise TooLarge or InvalidRequest."""
        if not hasattr(self, "_json"):
            self._json = await parsed(self, read_json)
        return self._json


class JsonRoute(CheckedRoute):
    """A route with a JSON body."""

    def get_route_handler(self) -> Handler:
        """Return the handler of requests."""
        handle = super().get_route_handler()
        if self.body_field is None:  # what streams a file, or reads nothing
            return handle

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


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
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        message = f"An object has {twice[:60]!r} more than once, and only one value can hold. Give it once."
        raise InvalidRequest.at("body", "repeated", message)
    return found
