"""Waiting for what is worked outside of requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Annotated, TypeVar

from fastapi import Query, Request
from starlette.requests import ClientDisconnect

T = TypeVar("T")

MOST_SECONDS = 30
Wait = Annotated[float, Query(ge=0, le=MOST_SECONDS, allow_inf_nan=False, description="Seconds to wait for its end")]


def wait_headers(*, is_over: bool) -> dict[str, str]:
    """Headers of the answer about a job or report, for whoever asks again."""
    # Kept by a cache for seconds, as what is public may be, it would answer those who wait at once, again and again.
    return {} if is_over else {"Retry_After": "1", "Cache_Control": "private, no-cache"}


async def attended(request: Request, waiting: Awaitable[T]) -> T:
    """What is waited for, as long as the client does; raises ClientDisconnect when it has left."""
    answering, leaving = asyncio.ensure_future(waiting), asyncio.create_task(_left(request))
    try:
        await asyncio.wait((answering, leaving), return_when=asyncio.FIRST_COMPLETED)
        if answering.done():
            return answering.result()
        raise ClientDisconnect
    finally:
        answering.cancel()
        leaving.cancel()


async def _left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
