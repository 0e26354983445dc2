"""The two clients: blocking and asynchronous."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from os import PathLike
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack

import httpx

from gainboard.client.campaigns import (
    AnswerCalls,
    CampaignCalls,
    CollectionSettings,
    ReleaseCalls,
    ScoreMatrixCalls,
    TopicGroupCalls,
)
from gainboard.client.connections import (
    HOST,
    AsyncConnection,
    Awaited,
    Blocking,
    Connection,
    Endpoint,
    Loaded,
    LocalService,
)
from gainboard.client.errors import Problem
from gainboard.client.instance import InstanceCalls
from gainboard.client.jobs import AsyncJob, AsyncReport, Job, Report, WorkCalls
from gainboard.client.runs import RunCalls, ScoreCalls
from gainboard.errors import BadInput
from gainboard.notation.queries import RunUploadQuery
from gainboard.notation.sources import NamedRun, Source, Table, as_qrels, as_run, name_runs

TIMEOUT = 120.0
RETRIES = 4
AT_ONCE = 2
"""Uploads at the same time: one is compressed here while another is checked there. A small server refuses a fourth."""


class Gainboard(
    CampaignCalls,
    TopicGroupCalls,
    ReleaseCalls,
    ScoreMatrixCalls,
    AnswerCalls,
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

    @staticmethod
    def local(data: str | PathLike[str] | None = None, *, job_slots: int | None = None) -> LocalGainboard:
        """Start a service of this process alone, without a port, and return its client, an organiser's.

        It ends with the client, or with this process. Without a folder `data`, nothing is left of it then. `job_slots`
        is the number of its processes for jobs.
        """
        return LocalGainboard(Path(data) if data is not None else None, job_slots)


class LocalGainboard(Gainboard):
    """The client of a service of this process alone."""

    def __init__(self, data: Path | None = None, job_slots: int | None = None, *, for_browsers: bool = False) -> None:
        self.service = LocalService(data, job_slots=job_slots, for_browsers=for_browsers)
        super().__init__(f"http://{HOST}", self.service.token, transport=self.service.transport)

    def close(self) -> None:
        """Close the connections, and end the service."""
        super().close()
        self.service.close()

    def load(self, collection: str, qrels: Table, *runs: Any, **settings: Unpack[CollectionSettings]) -> Loaded:
        """Create a collection, and load judgments and runs into it.

        `qrels` and each of the runs are what `gainboard.score` takes. The name of a file is that of its run. Files of
        several folders are of teams that these are called; otherwise each run has a team of its own. Faulty runs are
        left out, and are in the answer. Raise Problem if the judgments are faulty, and BadInput for a frame or a
        dictionary that cannot be one.
        """
        judged, named = as_qrels(qrels), name_runs(runs)
        self.found(collection, judged, **settings)
        names: list[str] = []
        refused: dict[str, Problem | BadInput] = {}
        for run, added in self.add(collection, named):
            if isinstance(added, Problem | BadInput):
                refused[run.name] = added
            elif isinstance(added, OSError):
                raise added
            else:
                names.append(added)
        return Loaded(names, refused)

    def found(self, collection: str, qrels: Source, **settings: Unpack[CollectionSettings]) -> None:
        """Create a collection for a qrels file, with as many levels as the file has."""
        self.create_collection(collection, self.survey(qrels).levels, **settings)
        self.put_qrels(collection, qrels)

    def add(
        self, collection: str, runs: Sequence[NamedRun]
    ) -> Iterator[tuple[NamedRun, str | Problem | BadInput | OSError]]:
        """Submit runs, some at once, and yield each with its name, or with why it was not stored, in their order."""

        def submit(run: NamedRun) -> str | Problem | BadInput | OSError:
            try:
                of = RunUploadQuery(team=run.team, name=run.name, system=run.system, replicate=run.replicate)
                return self.submit(collection, as_run(run.table, run.name), **of).name
            except (Problem, BadInput, OSError) as error:
                return error

        with ThreadPoolExecutor(AT_ONCE) as pool:
            yield from zip(runs, pool.map(submit, runs), strict=True)


class AsyncGainboard(
    CampaignCalls,
    TopicGroupCalls,
    ReleaseCalls,
    ScoreMatrixCalls,
    AnswerCalls,
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
