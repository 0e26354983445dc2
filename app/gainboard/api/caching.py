"""The headers that say who may keep an answer: set once for all answers, by who asked, so no route forgets them."""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope

PUBLIC, PRIVATE, NEVER = "public, max-age=5", "private, no-cache", "private, no-store"
STRICTER = (PUBLIC, PRIVATE, NEVER)
"""The least strict value comes first."""
_API = re.compile(r"/v1(/.*)?|/healthz|/readyz|/metrics|/openapi\.json")
_ASSET = re.compile(r"/static/.*")


def is_of_api(scope: Scope) -> bool:
    """Return whether the address is one of the API, which reads tokens and no cookies. Pages read cookies only."""
    return _API.fullmatch(path_of(scope)) is not None


def path_of(scope: Scope) -> str:
    """Return the path of a request below the root path, under which a proxy may put the service."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def set_caching(scope: Scope, start: Message) -> None:
    """Set `Cache-Control` and `Vary` of an answer that begins.

    A route may ask for more than its sender needs, and never for less. Static files are the same for everybody, and
    have headers of their own.
    """
    headers, status = MutableHeaders(scope=start), start["status"]
    if _ASSET.fullmatch(path_of(scope)) and status < 400:
        return
    by_api = is_of_api(scope)
    for name in ("Accept", "Accept-Encoding", "Authorization" if by_api else "Cookie"):
        headers.add_vary_header(name)
    asked, given = _control(scope, status, headers, by_api=by_api), headers.get("cache-control", "")
    headers["Cache-Control"] = max(asked, given, key=lambda each: STRICTER.index(each) if each in STRICTER else -1)


def _control(scope: Scope, status: int, answer: Headers, *, by_api: bool) -> str:
    """Return what the answer needs at least. What is sent to a session shows hidden judgments, or forms of its own."""
    media_type, asked = answer.get("content-type", ""), Headers(scope=scope)
    if "set-cookie" in answer or media_type.startswith("text/event-stream"):
        return NEVER
    if not by_api and "cookie" in asked:
        return NEVER if media_type.startswith("text/html") else PRIVATE
    is_private = "authorization" in asked or status >= 400 or scope["method"] not in ("GET", "HEAD")
    return PRIVATE if is_private else PUBLIC
