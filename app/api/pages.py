"""Lists in pages."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar
from urllib.parse import urlencode

from fastapi import Request, Response
from pydantic import BaseModel, Field

from app.errors import InvalidRequest
from app.evaluation.names import is_slug

ItemT = TypeVar("ItemT")
T = TypeVar("T")


class Page(BaseModel, Generic[ItemT]):
    """Part of a list; `next_cursor` leads on and is null on the last page."""

    items: list[ItemT]
    next_cursor: str | None = Field(description="For `?cursor=`; opaque")


def read_cursor(cursor: str | None) -> str | None:
    """The key after which a page begins."""
    if cursor is None:
        return None
    try:
        key = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError) as error:
        raise _bad_cursor() from error
    # Every key is a name or a number. The decoder passes over what is no base64: only our own spelling will do.
    if not is_slug(key) or _cursor(key) != cursor:
        raise _bad_cursor()
    return key


def _cursor(key: object) -> str:
    return base64.urlsafe_b64encode(str(key).encode()).decode()


def _bad_cursor() -> InvalidRequest:
    return InvalidRequest.at("query.cursor", "bad-cursor", "The cursor is not one of this list; begin without it.")


def read_number_cursor(cursor: str | None) -> int | None:
    """The number after which a page begins."""
    key = read_cursor(cursor)
    if key is None:
        return None
    if not key.isdecimal() or len(key) > 9:
        raise _bad_cursor()
    return int(key)


def page(
    request: Request,
    response: Response,
    found: Sequence[T],
    limit: int,
    key: Callable[[T], object],
    show: Callable[[T], ItemT],
) -> Page[ItemT]:
    """The page of what was found by asking for one more than `limit`, with a Link header to the next."""
    items = [show(each) for each in found[:limit]]
    cursor = None
    if len(found) > limit:
        cursor = _cursor(key(found[limit - 1]))
        query = urlencode(
            [*((k, v) for k, v in request.query_params.multi_items() if k != "cursor"), ("cursor", cursor)]
        )
        response.headers["Link"] = f'<{request.url.path}?{query}>; rel="next"'
    return Page[ItemT](items=items, next_cursor=cursor)
