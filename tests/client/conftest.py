"""Both clients through the same tests: the asynchronous one is awaited behind the blocking one's face."""

import inspect
from uuid import uuid4

import pytest
from anyio.from_thread import start_blocking_portal

from gainboard.client import AsyncGainboard, AsyncJob, AsyncReport, Gainboard
from tests.client.flaky import flaky
from tests.world.servers import ADMIN


class Face:
    """Something asynchronous, used as if it were blocking: what it gives is awaited, its lists are read to the end."""

    def __init__(self, of, portal):
        self._of, self._portal = of, portal

    def __repr__(self):
        return repr(self._of)

    def __getattr__(self, name):
        found = getattr(self._of, name)
        if not inspect.ismethod(found):
            return found
        return lambda *args, **kwargs: self._portal.call(self._settled, found(*args, **kwargs))

    async def _settled(self, given):
        if hasattr(given, "__aiter__"):
            return iter([self._faced(each) async for each in given])
        return self._faced(await given)

    def _faced(self, given):
        return Face(given, self._portal) if isinstance(given, AsyncJob | AsyncReport) else given


@pytest.fixture(scope="session")
def portal():
    with start_blocking_portal() as portal:
        yield portal


@pytest.fixture(params=[Gainboard, AsyncGainboard], ids=["blocking", "asynchronous"])
def connect(request, portal):
    made = []

    def connect(*args, **kwargs):
        made.append(request.param(*args, **kwargs))
        return made[-1] if isinstance(made[-1], Gainboard) else Face(made[-1], portal)

    yield connect
    for each in made:
        if isinstance(each, Gainboard):
            each.close()
        else:
            portal.call(each.aclose)


@pytest.fixture
def hasty(monkeypatch):
    """Pauses are as long as they are: shorter first ones."""
    monkeypatch.setattr("gainboard.client.attempts.FIRST_PAUSE", 0.001)


@pytest.fixture
def organiser(connect, shared):
    """An organiser's client, of each kind, of the server of a file of tests."""
    return connect(shared.url, ADMIN)


@pytest.fixture
def name():
    """That of a collection which is not there yet."""
    return f"c-{uuid4().hex}"


@pytest.fixture
def broken(shared):
    """The address of the server behind another one, which notes what comes, and meets it with faults if told to."""
    with flaky(shared.url) as found:
        yield found
