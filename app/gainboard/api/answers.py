"""Parts that every resource shares: full-precision JSON, addresses, and what a request says about its answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import chain
from typing import Any

from fastapi import Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.types import Message, Scope

OF_THE_BODY = ("content-length", "content-type", "content-encoding")
"""The headers that a 304 answer leaves out, because it has no body."""
_HEADERS = "gainboard.headers"
RawHeaders = list[tuple[bytes, bytes]]
_LOOPBACK = re.compile(r"(localhost|127\.[0-9]+\.[0-9]+\.[0-9]+|\[::1\])(:[0-9]{1,5})?")
_CODING = re.compile(r"(?:^|,)\s*(gzip|\*)\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)


_COMPRESSED = re.compile(r'(?:--?(?:gzip|br|zstd|deflate))+"$')
"""The end of an ETag whose answer a proxy has compressed: Apache's `-gzip` and `-br`, Jetty's `--gzip`."""


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


def server_address(request: Request) -> str:
    """Return the address of this service for links that leave it: the public one, or that on which it listens.

    The `Host` of a request is whatever its sender wrote, and a link with a token must not lead there. One that names
    the reader's own machine leads to nobody else: containers are reached so.
    """
    if (public := request.app.state.public_url) is not None:
        return str(public)
    netloc = request.headers.get("host", "")
    if not _LOOPBACK.fullmatch(netloc):
        host, port = request.scope.get("server") or ("localhost", None)
        netloc = (f"[{host}]" if ":" in host else host) + (f":{port}" if port else "")
    return f"{request.url.scheme}://{netloc}{request.scope.get('root_path', '')}"


def address(request: Request, path: str) -> str:
    """Return a path as clients see it: a proxy may put the service under a root path."""
    root: str = request.scope.get("root_path", "")
    return root + path


def headers_of(scope: Scope) -> Mapping[str, str]:
    """Return the headers of a request, whose names are in lower case. All layers share what is decoded once.

    Of a header that is repeated the first counts, as in Starlette, which looks through all headers at each question.
    """
    headers: Mapping[str, str] | None = scope.get(_HEADERS)
    if headers is None:
        sent = reversed(scope["headers"])
        headers = scope[_HEADERS] = {name.decode("latin-1"): value.decode("latin-1") for name, value in sent}
    return headers


def has_already(request: Mapping[str, str], etag: str) -> bool:
    """Return whether the client already holds the answer with this ETag."""
    if "if-none-match" not in request:
        return False
    # If-None-Match compares weakly (RFC 9110), and proxies that compress make an ETag weak.
    held = [_entity_of(tag) for tag in request["if-none-match"].split(",")]
    return _entity_of(etag) in held or held == ["*"]


def _entity_of(tag: str) -> str:
    """Return an ETag without what proxies add to it when they compress an answer."""
    return _COMPRESSED.sub('"', tag.strip().removeprefix("W/"))


def takes_gzip(request: Mapping[str, str]) -> bool:
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


def dressed(scope: Scope, start: Message, *, is_shared: bool) -> RawHeaders:
    """Return the headers of an answer that begins, with those that each answer has by rule.

    They are `Cache-Control` and `Vary`, those that protect whoever looks at it, and, if public answers are shared,
    leave for scripts of any origin. A route may ask for more caution than its sender needs, and never for less. Static
    files are the same for everybody, and have caching of their own.
    """
    status, sent = start["status"], start["headers"]
    by_name = dict(reversed(sent))
    route = scope.get("route")  # None for an address that nothing has, and for what is refused before it is looked at
    by_api = getattr(route, "reads_tokens", False)
    headers: RawHeaders
    if status < 400 and getattr(route, "is_static", False):
        headers = [*sent]
    else:
        vary = b"Accept, Accept-Encoding, Authorization" if by_api else b"Accept, Accept-Encoding, Cookie"
        vary = by_name[b"vary"] + b", " + vary if b"vary" in by_name else vary
        asked, control = _control(scope, status, by_name, by_api=by_api), by_name.get(b"cache-control", b"").decode()
        control = max(asked, control, key=lambda header: STRICTER.index(header) if header in STRICTER else -1)
        headers = [header for header in sent if header[0] not in _RULED]
        headers += ((b"vary", vary), (b"cache-control", control.encode()))
    is_anonymous = scope["method"] in ("GET", "HEAD") and "authorization" not in headers_of(scope)
    if is_shared and by_api and status != 401 and is_anonymous:
        # Refusals and 304 are readable by scripts, too, whether or not an Origin was sent, because shared caches give
        # the answer to others. Credentials are never allowed, and a token makes all this void.
        headers += _SHARED
    headers += (header for header in _PROTECTION if header[0] not in by_name)
    return headers


SHARED_HEADERS = "ETag, Link, Retry-After, X-Request-ID"
"""The headers that scripts of any origin may read."""
_SHARED = ((b"access-control-allow-origin", b"*"), (b"access-control-expose-headers", SHARED_HEADERS.encode()))
_PROTECTION = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"content-security-policy", b"default-src 'none'; base-uri 'none'; frame-ancestors 'none'"),
)
"""Headers that stop browsers from guessing the type of an answer, from telling other sites its address, and from
running scripts in it. An answer may have its own instead."""
_RULED = (b"vary", b"cache-control")


def _control(scope: Scope, status: int, answer: Mapping[bytes, bytes], *, by_api: bool) -> str:
    """Return what the answer needs at least. What is sent to a session shows hidden judgments, or forms of its own."""
    media_type, asked = answer.get(b"content-type", b""), headers_of(scope)
    if b"set-cookie" in answer or media_type.startswith(b"text/event-stream"):
        return NEVER
    if not by_api and "cookie" in asked:
        return NEVER if media_type.startswith(b"text/html") else PRIVATE
    is_private = "authorization" in asked or status >= 400 or scope["method"] not in ("GET", "HEAD")
    return PRIVATE if is_private else PUBLIC
