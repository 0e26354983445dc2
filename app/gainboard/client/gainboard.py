"""The two clients: blocking and asynchronous."""

from __future__ import annotations

from types import TracebackType
from typing import Self

import httpx

from gainboard.client.calling import Awaited, Blocking
from gainboard.client.campaigns import CampaignCalls, ScoreMatrixCalls
from gainboard.client.connections import AsyncConnection, Connection, Endpoint
from gainboard.client.instance import InstanceCalls
from gainboard.client.jobs import AsyncJob, AsyncReport, Job, Report, WorkCalls
from gainboard.client.runs import RunCalls, ScoreCalls, TopicGroupCalls

TIMEOUT = 120.0
RETRIES = 4


class Gainboard(
    CampaignCalls,
    TopicGroupCalls,
    ScoreMatrixCalls,
    RunCalls,
    ScoreCalls,
    WorkCalls[Job, Report],
    InstanceCalls,
    Blocking,
):
    """A client of the service at `server`, with the rights of `token`.

    The defaults are GAINBOARD_SERVER and GAINBOARD_TOKEN from the environment, else the local server, anonymously. An
    empty token means none. `timeout` is how long the service may be silent, in seconds. `retries` is how often a
    request is sent again after a broken connection or a busy service, if sending it twice does no more than sending it
    once. Every call may raise what `gainboard.client.errors` lists. Several threads may use one client.
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
        """Close the connections. The context manager does so at its end."""
        self._connection.client.close()


class AsyncGainboard(
    CampaignCalls,
    TopicGroupCalls,
    ScoreMatrixCalls,
    RunCalls,
    ScoreCalls,
    WorkCalls[AsyncJob, AsyncReport],
    InstanceCalls,
    Awaited,
):
    """The same calls as those of `Gainboard`, to be awaited. Lists are read with `async for`."""

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
        """Close the connections. The context manager does so at its end."""
        await self._connection.client.aclose()
