"""The engine of a fleet: a worker that runs jobs on any host, called by tickets.

Procrastinate brings tickets and keeps heartbeats. What a worker does with a ticket is the same as in the embedded
engine: it claims chunks and gives them to processes of its own, until nothing is ready.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import socket
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from threading import Event
from typing import TypeVar

import procrastinate
from procrastinate.exceptions import ConnectorException
from procrastinate.schema import SchemaManager
from procrastinate.worker import Worker as Dispatcher

import gainboard
from gainboard.errors import BadSetting, Unavailable
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker_process import JobTelemetry, WorkerProcess, WorkerProcesses
from gainboard.store import fleet
from gainboard.store.fleet import FleetWorker
from gainboard.store.jobs import QUEUE, install_tickets
from gainboard.store.ownership import Ownership

LOOK_SECONDS = 0.25
"""Seconds between two looks whether a chunk is still wanted. Only the table shows that its job was cancelled."""
TROUBLE_SECONDS = 1.0
"""Seconds before the next try, after the database did not answer."""
WAIT_SECONDS = 5.0
"""Seconds before the next try while a server runs the jobs itself."""

log = logging.getLogger("gainboard")
T = TypeVar("T")


@dataclass(frozen=True)
class Pace:
    """The times of a worker, in seconds: from its last heartbeat until it counts as dead, and for its end."""

    dead_after: float = fleet.DEAD_AFTER
    drain: float = 30.0

    @property
    def heartbeat(self) -> float:
        return self.dead_after / 3

    @property
    def look(self) -> float:
        return self.dead_after / 2


class _Round(Dispatcher):
    """Procrastinate's worker, from one connection with the database to the next. It says when it was told to stop."""

    def __init__(self, app: procrastinate.App, slots: int, pace: Pace) -> None:
        super().__init__(
            app,
            queues=[QUEUE],
            name="gainboard",
            concurrency=slots,
            fetch_job_polling_interval=pace.look,
            shutdown_graceful_timeout=pace.drain + 10,  # our own deadline comes first, and returns chunks in good order
            delete_jobs="always",  # a ticket that was followed says nothing any more
            install_signal_handlers=False,  # signals outlast a round: see `_run`
            update_heartbeat_interval=pace.heartbeat,
            stalled_worker_timeout=pace.dead_after,
        )
        self.is_over = Event()

    def stop(self) -> None:
        """End the round: take no more tickets, and wait for those under way."""
        self.is_over.set()
        super().stop()  # type: ignore[no-untyped-call]


class FleetEngine:
    """A worker of the fleet, with some slots. It runs in the main thread of its process until it is told to stop."""

    def __init__(
        self, workspace: Workspace, slots: int, pace: Pace | None = None, measures: JobTelemetry | None = None
    ) -> None:
        self._workspace = workspace
        self._pace = pace or Pace()
        self._ownership = Ownership(workspace.database, shared=True)
        news = [Event() for _ in range(slots)]
        self._processes = WorkerProcesses(workspace, [event.set for event in news], measures)
        self._news = dict(zip(self._processes, news, strict=True))
        # Only the event loop's thread uses this, so it needs no lock.
        self._free = deque(self._processes)
        # Two more than slots, because the fleet is looked after while all slots work.
        self._threads = ThreadPoolExecutor(slots + 2, thread_name_prefix="fleet")
        self._stopping = Event()
        self._deadline = float("inf")
        self._round: _Round | None = None
        self._is_registered = asyncio.Event()

    def run(self) -> None:
        """Run jobs until a signal says to stop. Raise BadSetting if this worker does not fit to the others."""
        if self._workspace.database.engine.dialect.name != "postgresql":
            raise BadSetting(
                "Workers need a PostgreSQL database (GAINBOARD_DATABASE_URL). On SQLite, `gainboard serve` runs the "
                "jobs itself."
            )
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        try:
            asyncio.run(self._run())
        finally:
            self._ownership.release()
            self._threads.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        while not self._stopping.is_set():
            try:
                await self._next_round()
            except (Unavailable, ConnectorException) as error:
                log.warning("the worker waits until the database answers: %s", error)
                await self._pause(TROUBLE_SECONDS)

    def _stop(self) -> None:
        """Begin no more chunks. At a second signal, also give up those that are under way."""
        again = self._stopping.is_set()
        self._stopping.set()
        if not again:
            count = len(self._processes.claimed())
            log.info("the worker finishes %d chunks and ends; a second signal ends it at once", count)
        self._deadline = time.monotonic() + (0 if again else self._pace.drain)
        if self._round is not None:
            self._round.stop()

    async def _pause(self, seconds: float) -> None:
        await self._in_thread(lambda: self._stopping.wait(seconds))

    async def _in_thread(self, act: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, act)

    async def _next_round(self) -> None:
        if not await self._in_thread(self._ownership.acquire):
            log.warning("a server runs the jobs of this database itself: start it with --job-slots 0")
            await self._pause(WAIT_SECONDS)
            return
        await self._in_thread(self._prepare)
        connector = procrastinate.PsycopgConnector(conninfo=self._workspace.database.libpq_url, min_size=1, max_size=4)
        app = procrastinate.App(connector=connector)
        app.task(name=QUEUE, queue=QUEUE)(self._follow_ticket)
        self._is_registered = asyncio.Event()
        async with app.open_async():
            self._round = _Round(app, len(self._processes), self._pace)
            watching = asyncio.create_task(self._watch(self._round))
            try:
                await self._round.run()  # type: ignore[no-untyped-call]
            finally:
                watching.cancel()
                with suppress(asyncio.CancelledError):
                    await watching
                await self._in_thread(self._leave)
                self._round = None

    def _prepare(self) -> None:
        with self._workspace.database.writing() as tx:
            made_by = install_tickets(tx, procrastinate.__version__, SchemaManager.get_schema())
            here, workers = gainboard.__version__, fleet.list_workers(tx)
            other = next(
                (worker for worker in workers if worker.release != here and worker.silent < self._pace.dead_after), None
            )
            if other is not None:
                raise BadSetting(
                    f"A worker of this database on {other.host} (process {other.pid}) has Gainboard {other.release}, "
                    f"and this is {here}. Parts of one job must come from one version. Stop that worker first, or "
                    f"install {other.release} here."
                )
        if made_by.split(".")[:2] != procrastinate.__version__.split(".")[:2]:
            raise BadSetting(
                f"Procrastinate {made_by} made the tables of tickets, and {procrastinate.__version__} is installed "
                f"here. Install version {made_by}, or stop all workers and delete the tables that begin with "
                "`procrastinate_`: a worker makes them again, and no job is lost."
            )

    async def _watch(self, current: _Round) -> None:
        """Register the worker, and look after the fleet until the round ends."""
        # The order matters. Procrastinate inserts the row with the heartbeat, and its number names our claims. Tickets
        # wait for `_is_registered`: before, a claim would have an owner that nobody can look up. The first look comes
        # after the registration, because a worker that is not in the list is taken for dead.
        try:
            while current.worker_id is None:
                await asyncio.sleep(LOOK_SECONDS / 10)
            number = current.worker_id
            await self._in_thread(lambda: self._register(number))
            self._is_registered.set()
            while await self._in_thread(lambda: self._is_well(number)):
                # Only those without a ticket: the thread of a ticket may be about to give its process a chunk.
                for process in self._free:
                    process.retire()
                await asyncio.sleep(self._pace.look)
        except Unavailable as error:
            log.warning("the worker lost the database: %s", error.message)
        except BaseException:
            current.stop()
            raise
        current.stop()

    def _register(self, number: int) -> None:
        count, now = len(self._processes), self._workspace.now()
        here = FleetWorker(number, socket.gethostname(), os.getpid(), gainboard.__version__, count, now)
        with self._workspace.database.writing() as tx:
            fleet.register(tx, here)
        self._processes.owner = fleet.name_of_owner(number)
        log.info("worker %d works with %d slots", number, len(self._processes))

    def _is_well(self, number: int) -> bool:
        """Return whether this worker may go on. The living worker with the lowest id also looks after the others."""
        if not self._ownership.holds():
            return False
        # The database's clock decides who lives, not the hosts' clocks, which may differ by more than a heartbeat.
        with self._workspace.database.reading() as tx:
            living = fleet.list_living(tx, self._pace.dead_after)
        if number not in living:
            log.warning("this worker was taken for dead, and begins anew")
            return False
        if number == living[0]:
            with self._workspace.database.writing() as tx:
                swept = fleet.sweep(tx, self._workspace.now(), self._pace.dead_after)
            self._processes.measures.note_freed(swept.freed)
            for dead in swept.died:
                log.warning("worker %d has died; its chunks are started again", dead)
        return True

    async def _follow_ticket(self) -> None:
        # Read before any wait: when a thread gets to this ticket, another round may have begun.
        current = self._round
        await self._is_registered.wait()
        # There is one: Procrastinate follows as many tickets at once as there are slots.
        process = self._free.popleft()
        try:
            await self._in_thread(lambda: self._work(process, current))
        finally:
            self._free.append(process)

    def _work(self, process: WorkerProcess, current: _Round | None) -> None:
        """Run chunks in a process until nothing is ready, or the round ends."""
        try:
            while current is not None and not current.is_over.is_set() and self._processes.begin(process):
                self._finish(process)
        except Unavailable as error:
            # The ticket is lost, and the next sweep puts out another one.
            log.warning("jobs cannot run until the database answers: %s", error.message)

    def _finish(self, process: WorkerProcess) -> None:
        """Wait until the process is idle: its chunk is done, has failed, or is not wanted any more."""
        news = self._news[process]
        while True:
            pause = LOOK_SECONDS
            try:
                if self._processes.tend(process) is not None:
                    return
            except Unavailable:
                # What failed is known only here, so the worker tries again until its end.
                pause = TROUBLE_SECONDS
            if time.monotonic() > self._deadline:
                process.drop()  # `_leave` returns the chunk
                return
            news.wait(pause)
            news.clear()

    def _leave(self) -> None:
        self._processes.drop()
        if not self._processes.owner:
            return
        number, self._processes.owner = int(self._processes.owner.removeprefix("worker-")), ""
        # If the database does not answer now, the others find this worker dead.
        with suppress(Unavailable), self._workspace.database.writing() as tx:
            fleet.leave(tx, number)
