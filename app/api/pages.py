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
        return base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
    except (binascii.Error, UnicodeError) as error:
        raise InvalidRequest.at(
            "query.cursor", "bad-cursor", "The cursor is not one of ours; begin without it."
        ) from error


def read_number_cursor(cursor: str | None) -> int | None:
    """The number after which a page begins."""
    key = read_cursor(cursor)
    if key is None:
        return None
    if not key.isdecimal():
        raise InvalidRequest.at("query.cursor", "bad-cursor", "The cursor is not one of this list.")
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
        cursor = base64.urlsafe_b64encode(str(key(found[limit - 1])).encode()).decode()
        query = urlencode(
            [*((k, v) for k, v in request.query_params.multi_items() if k != "cursor"), ("cursor", cursor)]
        )
        response.headers["Link"] = f'<{request.url.path}?{query}>; rel="next"'
    return Page[ItemT](items=items, next_cursor=cursor)
