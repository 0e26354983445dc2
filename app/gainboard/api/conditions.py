"""What a request says of the answer that it takes: whether it has it, compressed or not, and who may keep it."""

from __future__ import annotations

import re

from starlette.datastructures import Headers

OF_THE_BODY = ("content-length", "content-type", "content-encoding")
"""Headers that an answer without a body, for it has not changed, does not have."""
_CODING = re.compile(r"(?:^|,)\s*(gzip|\*)\s*(?:;\s*q=([0-9.]+)\s*)?(?=,|$)", re.IGNORECASE)


def has_already(request: Headers, etag: str) -> bool:
    """Whether the sender holds the answer of this ETag."""
    held = [tag.strip().removeprefix("W/") for tag in request.get("if-none-match", "").split(",")]
    return etag in held or held == ["*"]


def takes_gzip(request: Headers) -> bool:
    """Whether the answer may be compressed."""
    weights = {coding.lower(): weight for coding, weight in _CODING.findall(request.get("accept-encoding", ""))}
    weight = weights.get("gzip", weights.get("*"))  # whatever is named is not among the others
    return weight is not None and (weight or "1").strip("0.") != ""


def cache_control(request: Headers, status: int) -> str:
    """Who may keep the answer: anybody for seconds, if nobody had to say who he is; else only who checks it again."""
    private = "authorization" in request or status >= 400
    return "private, no-cache" if private else "public, max-age=5"
