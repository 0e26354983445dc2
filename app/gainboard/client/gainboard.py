"""The two clients."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from gainboard.client.calling import Awaited, Blocking
from gainboard.client.campaigns import CampaignCalls
from gainboard.client.connections import AsyncConnection, Connection, Endpoint
from gainboard.client.instance import InstanceCalls
from gainboard.client.runs import RunCalls, ScoreCalls
from gainboard.client.work import AsyncJob, AsyncReport, Job, Report, WorkCalls

TIMEOUT = 120.0
RETRIES = 4


class Gainboard(CampaignCalls, RunCalls, ScoreCalls, WorkCalls[Job, Report], InstanceCalls, Blocking):
    """A client of the service at `server`, who is whoever `token` says.

    What is not given is GAINBOARD_SERVER and GAINBOARD_TOKEN of the environment, else the local server, as anybody. An
    empty token is none. `timeout` is how long the service may be silent, in seconds; `retries` is how often a request
    is sent again that met a broken connection or a service that is busy, if that does no more than sending it once.
    Every call raises what `gainboard.client.errors` lists. May be used by several threads.
    """

    _job, _report = Job, Report

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._connection = Connection(Endpoint.of(server, token, timeout, retries), transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Gainboard({self._connection.target.server!r})"

    def close(self) -> None:
        """Close the connections; the context manager does it at its end."""
        self._connection.client.close()


class AsyncGainboard(CampaignCalls, RunCalls, ScoreCalls, WorkCalls[AsyncJob, AsyncReport], InstanceCalls, Awaited):
    """The same calls as `Gainboard` has, to be awaited; lists are read with `async for`."""

    _job, _report = AsyncJob, AsyncReport

    def __init__(
        self,
        server: str | None = None,
        token: str | None = None,
        *,
        timeout: float = TIMEOUT,
        retries: int = RETRIES,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._connection = AsyncConnection(Endpoint.of(server, token, timeout, retries), transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"AsyncGainboard({self._connection.target.server!r})"

    async def aclose(self) -> None:
        """Close the connections; the context manager does it at its end."""
        await self._connection.client.aclose()
