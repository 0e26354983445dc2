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
from starlette.datastructures import Headers

OF_THE_BODY = ("content-length", "content-type", "content-encoding")
"""The headers that a 304 answer leaves out, because it has no body."""
_CODING = re.compile(r"(?:^|,)\s*(gzip|\*)\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)


def answer(content: Any, status: int = 200, **headers: str) -> Response:
    """Return JSON in full precision, with undefined numbers as null. FastAPI is much slower for large answers."""
    body = to_json(content, inf_nan_mode="null")
    return Response(
        body, status, {name.replace("_", "-"): value for name, value in headers.items()}, "application/json"
    )


def uploaded_file(pieces: Iterator[bytes], sha256: str, name: str) -> Response:
    """Answer with a file as it was uploaded. Browsers save it, and show nothing of what anybody may have put into it.

    `name` consists of names that were checked, and is not what the sender called the file.
    """
    headers = {"ETag": f'"{sha256}"', "Content-Disposition": f'attachment; filename="{name}.txt"'}
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
    held = [tag.strip().removeprefix("W/") for tag in request["if-none-match"].split(",")]
    return etag in held or held == ["*"]


def takes_gzip(request: Headers) -> bool:
    """Return whether the answer may be compressed."""
    return _takes_gzip(request.get("accept-encoding", ""))


@lru_cache
def _takes_gzip(accepted: str) -> bool:
    weights = {coding.lower(): weight for coding, weight in _CODING.findall(accepted)}
    weight = weights.get("gzip", weights.get("*"))  # `*` stands only for the encodings that the header does not name
    return weight is not None and (weight or "1").strip("0.") != ""
