"""Parts that every resource shares: full-precision JSON, addresses, and what a request says about its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope

OF_THE_BODY = ("content-length", "content-type", "content-encoding")
"""The headers that a 304 answer leaves out, because it has no body."""
_CODING = re.compile(r"(?:^|,)\s*(gzip|\*)\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)


def answer(content: Any, status: int = 200, **headers: str) -> Response:
    """Return JSON in full precision, with undefined numbers as null. FastAPI is much slower for large answers."""
    body = to_json(content, inf_nan_mode="null")
    return Response(
        body, status, {name.replace("_", "-"): value for name, value in headers.items()}, "application/json"
    )


def uploaded_file(pieces: Iterator[bytes], sha256: str, name: str, ending: str = "txt") -> Response:
    """Answer with a file as it was uploaded. Browsers save it, and show nothing of what anybody may have put into it.

    `name` consists of names that were checked, and is not what the sender called the file.
    """
    headers = {"ETag": f'"{sha256}"', "Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    return StreamingResponse(begun(pieces), media_type="text/plain", headers=headers)


def begun(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Return the pieces of a stream. The first is read now, so that its error is still answered as a problem."""
    return chain([next(pieces, b"")], pieces)


def address(request: Request, path: str) -> str:
    """Return a path as clients see it: a proxy may put the service under a root path."""
    root: str = request.scope.get("root_path", "")
    return root + path


def has_already(request: Headers, etag: str) -> bool:
    """Return whether the client already holds the answer with this ETag."""
    if "if-none-match" not in request:
        return False
    # If-None-Match compares weakly (RFC 9110), and proxies that compress make an ETag weak.
    held = [tag.strip().removeprefix("W/") for tag in request["if-none-match"].split(",")]
    return etag in held or held == ["*"]


def takes_gzip(request: Headers) -> bool:
    """Return whether the answer may be compressed."""
    return _takes_gzip(request.get("accept-encoding", ""))


@lru_cache
def _takes_gzip(accepted: str) -> bool:
    weights = {coding.lower(): weight for coding, weight in _CODING.findall(accepted)}
    weight = weights.get("gzip", weights.get("*"))  # `*` stands only for the encodings that the header does not name
    # q=0, 0.0 and 0.000 refuse an encoding.
    return weight is not None and (weight or "1").strip("0.") != ""


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
    headers.add_vary_header(f"Accept, Accept-Encoding, {'Authorization' if by_api else 'Cookie'}")
    asked, given = _control(scope, status, headers, by_api=by_api), headers.get("cache-control", "")
    headers["Cache-Control"] = max(asked, given, key=lambda each: STRICTER.index(each) if each in STRICTER else -1)


def share_with_any_origin(scope: Scope, start: Message) -> None:
    """Let scripts of any origin read the answer, if it is one of the API to somebody without a token who may see it.

    Refusals of such addresses are readable, too, and 304. The header is there whether or not an Origin was sent,
    because shared caches give the answer to others. Credentials are never allowed, and a token makes all this void.
    """
    is_known = scope.get("route") is not None and scope["method"] in ("GET", "HEAD") and is_of_api(scope)
    if is_known and start["status"] != 401 and "authorization" not in Headers(scope=scope):
        headers = MutableHeaders(scope=start)
        headers["Access-Control-Allow-Origin"] = "*"
        headers["Access-Control-Expose-Headers"] = SHARED_HEADERS


SHARED_HEADERS = "ETag, Link, Retry-After, X-Request-ID"
"""The headers that scripts of any origin may read."""


def _control(scope: Scope, status: int, answer: Headers, *, by_api: bool) -> str:
    """Return what the answer needs at least. What is sent to a session shows hidden judgments, or forms of its own."""
    media_type, asked = answer.get("content-type", ""), Headers(scope=scope)
    if "set-cookie" in answer or media_type.startswith("text/event-stream"):
        return NEVER
    if not by_api and "cookie" in asked:
        return NEVER if media_type.startswith("text/html") else PRIVATE
    is_private = "authorization" in asked or status >= 400 or scope["method"] not in ("GET", "HEAD")
    return PRIVATE if is_private else PUBLIC
