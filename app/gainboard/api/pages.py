"""Lists in pages, with cursors that lead from one page to the next."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar
from urllib.parse import urlencode

from fastapi import Depends, Request, Response

from gainboard.api.models.common import ItemT, Page
from gainboard.api.queries import asked_by
from gainboard.errors import InvalidRequest
from gainboard.notation.queries import PageQuery, completed
from gainboard.notation.texts import is_slug

T = TypeVar("T")


class Paging:
    """The page that a request asks for. Routes take it as a dependency and answer with its methods."""

    def __init__(self, request: Request, response: Response, asked: Annotated[PageQuery, asked_by(PageQuery)]) -> None:
        self._request, self._response = request, response
        self.limit: int = completed(PageQuery, asked)["limit"]
        self.after: str | None = None
        """The key after which this page begins."""
        if (cursor := asked.get("cursor")) is not None:
            try:
                self.after = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
            except (binascii.Error, UnicodeError) as error:
                raise _bad_cursor() from error
            # Every key is a name or a number. The decoder ignores characters outside base64, so decoding alone proves
            # nothing: only a cursor that we would spell in the same way is valid.
            if not is_slug(self.after) or _cursor(self.after) != cursor:
                raise _bad_cursor()

    @property
    def wanted(self) -> int:
        """The number of items to look for: one more than the page holds shows whether another page follows."""
        return self.limit + 1

    @property
    def after_number(self) -> int | None:
        """The key after which the page begins, in a list whose keys are numbers."""
        # Nine digits fit into every column of numbers; PostgreSQL fails at a number that its column cannot hold.
        if self.after is not None and not (self.after.isdecimal() and len(self.after) <= 9):
            raise _bad_cursor()
        return int(self.after) if self.after is not None else None

    def page(self, found: Sequence[T], key: Callable[[T], object], show: Callable[[T], ItemT]) -> Page[ItemT]:
        """Return the page of the items found by looking for `wanted` items, with a Link header to the next page."""
        items = [show(each) for each in found[: self.limit]]
        return self.short_page(items, key(found[self.limit - 1]) if len(found) >= self.wanted else None)

    def short_page(self, items: list[ItemT], after: object | None) -> Page[ItemT]:
        """Return a page of these items, with a Link header to what follows the key `after`, unless `after` is None."""
        if after is None:
            return Page[ItemT](items=items, next_cursor=None)
        cursor = _cursor(after)
        kept = [(name, value) for name, value in self._request.query_params.multi_items() if name != "cursor"]
        query = urlencode([*kept, ("cursor", cursor)])
        self._response.headers["Link"] = f'<{self._request.url.path}?{query}>; rel="next"'
        return Page[ItemT](items=items, next_cursor=cursor)


PagingDep = Annotated[Paging, Depends()]


def _cursor(key: object) -> str:
    return base64.urlsafe_b64encode(str(key).encode()).decode()


def _bad_cursor() -> InvalidRequest:
    return InvalidRequest.at(
        "query.cursor",
        "bad-cursor",
        "This cursor does not belong to this list. Repeat the request without `cursor` to begin at the first page.",
    )
