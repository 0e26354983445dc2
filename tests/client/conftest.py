"""Both clients through the same tests: the asynchronous one is awaited behind the blocking one's face."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, cast
from uuid import uuid4

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from gainboard.client import AsyncGainboard, AsyncJob, AsyncReport, Gainboard
from tests.api.conftest import shared
from tests.conftest import ADMIN, Service

__all__ = ["shared"]

Connect = Callable[..., Gainboard]


class Face:
    """Something asynchronous, used as if it were blocking: what it gives is awaited, its lists are read to the end."""

    def __init__(self, of: Any, portal: BlockingPortal) -> None:
        self._of, self._portal = of, portal

    def __repr__(self) -> str:
        return repr(self._of)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._of, name)
        if not inspect.ismethod(found):
            return found
        return lambda *args, **kwargs: self._portal.call(self._settled, found(*args, **kwargs))

    async def _settled(self, given: Any) -> Any:
        if hasattr(given, "__aiter__"):
            return iter([self._faced(each) async for each in given])
        return self._faced(await given)

    def _faced(self, given: Any) -> Any:
        return Face(given, self._portal) if isinstance(given, AsyncJob | AsyncReport) else given


@pytest.fixture(scope="session")
def portal() -> Iterator[BlockingPortal]:
    """An event loop."""
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(params=[Gainboard, AsyncGainboard], ids=["blocking", "asynchronous"])
def connect(request: pytest.FixtureRequest, portal: BlockingPortal) -> Iterator[Connect]:
    """Makes clients of one kind."""
    made: list[Any] = []

    def connect(*args: Any, **kwargs: Any) -> Gainboard:
        made.append(request.param(*args, **kwargs))
        return cast(Gainboard, made[-1] if isinstance(made[-1], Gainboard) else Face(made[-1], portal))

    yield connect
    for each in made:
        if isinstance(each, Gainboard):
            each.close()
        else:
            portal.call(each.aclose)


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses are as long as they are: shorter first ones."""
    monkeypatch.setattr("gainboard.client.attempts.FIRST_PAUSE", 0.001)


@pytest.fixture
def organiser(connect: Connect, shared: Service) -> Gainboard:
    """An organiser's client, of each kind, of the server of a file of tests."""
    return connect(shared.url, ADMIN)


@pytest.fixture
def name() -> str:
    """That of a collection which is not there yet."""
    return f"c-{uuid4().hex}"
