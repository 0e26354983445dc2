"""JSON bodies of requests, which are bounded before anything is made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.concurrency import run_in_threadpool

from gainboard.errors import InvalidRequest, TooLarge

MOST_MEMBERS = 10_000
"""The most members of the objects in a body. Each of them may be at fault, and each fault costs."""
ASIDE_FROM_BYTES = 1 << 13
"""Larger bodies are parsed in a thread, so that no other request waits."""
_STRING = re.compile(rb'"(?:[^"\\]|\\.)*+"?', re.DOTALL)


class JsonRequest(Request):
    """A request whose JSON is bounded, and whose objects have each member once."""

    async def json(self) -> Any:
        """Return the value of the body. Raise TooLarge or InvalidRequest."""
        if not hasattr(self, "_json"):
            body = await self.body()
            self._json = await run_in_threadpool(read_json, body) if len(body) > ASIDE_FROM_BYTES else read_json(body)
        return self._json


class JsonRoute(APIRoute):
    """A route with a JSON body."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of requests."""
        handle = super().get_route_handler()

        async def handle_json(request: Request) -> Response:
            return await handle(JsonRequest(request.scope, request.receive))

        return handle_json


def read_json(body: bytes) -> Any:
    """Return the value of JSON. Raise JSONDecodeError, TooLarge for too many members, and InvalidRequest."""
    # Outside of strings, each member of an object has one colon. Most bodies have few colons anywhere.
    if body.count(b":") > MOST_MEMBERS and _STRING.sub(b"", body).count(b":") > MOST_MEMBERS:
        raise TooLarge(f"The objects of the body have more than {MOST_MEMBERS:,} members. Send less in one request.")
    return json.loads(body, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in found if names.count(name) > 1)
        message = f"An object has {twice[:60]!r} more than once, and only one value can hold. Give it once."
        raise InvalidRequest.at("body", "repeated", message)
    return found
