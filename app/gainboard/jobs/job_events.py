"""Waiting for jobs and reports, without a thread and a database query for each waiting request."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from gainboard.errors import Unavailable
from gainboard.evaluation.workspace import Workspace
from gainboard.store import jobs, reports
from gainboard.store.job_records import StoredJob, StoredReport

LOOK_SECONDS = 0.2
"""Seconds between two reads of the table while anyone waits, unless `wake` is called. Other servers do not call it."""

AMONG: Mapping[type, Callable[..., dict[str, Any]]] = {StoredJob: jobs.among, StoredReport: reports.among}
"""A function that reads the awaited jobs or reports by their ids."""

log = logging.getLogger("gainboard")

W = TypeVar("W", StoredJob, StoredReport)


class Watch:
    """A watch that tells all waiting requests of one process about changes of jobs and reports.

    It belongs to one event loop. Only one read of the table runs at a time, however many requests wait.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._waiting: dict[asyncio.Future[Any], Any] = {}
        self._look: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._is_closed = False

    @property
    def waiting(self) -> int:
        """The number of requests that wait for a change."""
        return len(self._waiting)

    def close(self) -> None:
        """Wake all waiting requests with the last known state, because the server stops. From now on nobody waits."""
        self._is_closed = True
        for future, before in self._waiting.items():
            if not future.done():
                future.set_result(before)

    def wake(self) -> None:
        """Read the table now, if anyone waits, because a job may have changed. Any thread may call this."""
        if self._loop is not None and self._waiting:
            with suppress(RuntimeError):  # the loop has ended
                self._loop.call_soon_threadsafe(self._news.set)

    async def ended(self) -> None:
        """Close the watch, and wait until no read is under way: only then may the database be closed."""
        self.close()
        if self._look is not None:
            await asyncio.wait([self._look])

    async def until_over(self, job: W, seconds: float) -> W:
        """Return the job or report once it is over, or as it is when the time is up."""
        try:
            async with asyncio.timeout(seconds):
                async for changed in self.changes(job):
                    job = changed
        except TimeoutError:
            pass
        return job

    async def changes(self, job: W, pulse: float | None = None) -> AsyncIterator[W]:
        """Yield the job or report as it is known, then at each new state or progress, until it is over.

        With `pulse`, also yield it unchanged whenever it has not changed for so many seconds.
        """
        yield job
        while not (job.is_over or self._is_closed):
            before, job = job, await self._next(job, pulse)
            if job != before or (pulse is not None and not self._is_closed):
                yield job

    async def _next(self, before: W, seconds: float | None) -> W:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[W] = loop.create_future()
        self._waiting[future] = before
        if self._look is None or self._look.done():
            self._loop, self._news = loop, asyncio.Event()
            self._look = asyncio.create_task(self._keep_looking())
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            return before
        finally:
            del self._waiting[future]

    async def _keep_looking(self) -> None:
        while self._waiting and not self._is_closed:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._news.wait()
            self._news.clear()  # before the table is read: what changes afterwards is news again
            try:
                # A copy, because requests come and go while the thread reads.
                by_id = await asyncio.to_thread(self._read, list(self._waiting.values()))
            except Unavailable as error:
                log.warning("requests that wait for jobs are delayed until the database answers: %s", error.message)
                continue
            except Exception:  # otherwise all waiting requests would wait for ever
                log.exception("unexpected error while jobs were read")
                continue
            for future, before in self._waiting.items():
                now = by_id.get(before.id)
                if now is not None and now != before and not future.done():
                    future.set_result(now)

    def _read(self, awaited: list[Any]) -> dict[str, Any]:
        identities: dict[type, set[str]] = defaultdict(set)
        for work in awaited:
            identities[type(work)].add(work.id)
        with self._workspace.database.reading() as tx:
            return {key: work for kind, ids in identities.items() for key, work in AMONG[kind](tx, ids).items()}
