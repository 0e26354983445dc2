"""A worker of the fleet: an engine on any host beside PostgreSQL, which tickets of Procrastinate call.

Procrastinate brings tickets to workers with free slots, so that a worker sleeps until there is work. Who lives, and who
holds which chunk, is in our own tables.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import procrastinate
from procrastinate.exceptions import ConnectorException
from procrastinate.schema import SchemaManager
from procrastinate.worker import Worker as Dispatcher

import gainboard
from gainboard.errors import BadSetting, Unavailable
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.engine import TROUBLE_SECONDS, Engine
from gainboard.jobs.worker_process import JobTelemetry
from gainboard.store.jobs import QUEUE, install_tickets

LOOK_SECONDS = 30.0
"""Seconds between two looks for chunks and tickets while none come: a ticket or its notice may be lost."""

log = logging.getLogger("gainboard")


class FleetWorker:
    """A worker with some slots. It runs in the main thread of its process until it is told to stop.

    The chunks under way have `drain_seconds` then.
    """

    def __init__(self, workspace: Workspace, slots: int, drain_seconds: float, measures: JobTelemetry | None) -> None:
        self._database, self._drain_seconds = workspace.database, drain_seconds
        self._engine = Engine(workspace, slots, measures, kind="worker", idle_seconds=LOOK_SECONDS)
        # A thread waits for each ticket, and one for the end.
        self._threads = ThreadPoolExecutor(slots + 1, thread_name_prefix="tickets")
        self._dispatcher: Dispatcher | None = None
        self._stopping = asyncio.Event()

    def run(self) -> None:
        """Run jobs until a signal says to stop. Raise BadSetting if this worker does not fit to the others."""
        if self._database.engine.dialect.name != "postgresql":
            raise BadSetting(
                "Workers need a PostgreSQL database (GAINBOARD_DATABASE_URL). On SQLite, `gainboard serve` runs the "
                "jobs itself."
            )
        logging.getLogger("procrastinate").setLevel(logging.WARNING)
        with self._database.writing() as tx:
            made_by = install_tickets(tx, procrastinate.__version__, SchemaManager.get_schema())
        if made_by.split(".")[:2] != procrastinate.__version__.split(".")[:2]:
            raise BadSetting(
                f"Procrastinate {made_by} made the tables of tickets, and {procrastinate.__version__} is installed "
                f"here. Install version {made_by}, or stop all workers and delete the tables that begin with "
                "`procrastinate_`: a worker makes them again, and no job is lost."
            )
        self._engine.start()
        try:
            with self._database.reading() as tx:
                rival = self._engine.find_rival(tx)
            if rival is not None:
                raise BadSetting(
                    f"A {rival.kind} of this database on {rival.host} (process {rival.pid}) has Gainboard "
                    f"{rival.release}, and this is {gainboard.__version__}. Parts of one job must come from one "
                    f"version. Stop that {rival.kind} first, or install {rival.release} here."
                )
            log.info("the worker works with %d slots", self._engine.slots)
            asyncio.run(self._run())
        finally:
            self._engine.stop()
            self._threads.shutdown()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._stop)
        while not self._stopping.is_set():
            try:
                await self._follow_tickets()
            except (Unavailable, ConnectorException) as error:
                log.warning("no ticket comes until the database answers: %s", error)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), TROUBLE_SECONDS)
        # Here, because the loop still has to hear of a second signal.
        await loop.run_in_executor(self._threads, self._engine.stop)

    def _stop(self) -> None:
        """Begin no more chunks. At a second signal, also give up those that are under way."""
        if self._stopping.is_set():
            self._engine.drain()
            return
        self._stopping.set()
        count = self._engine.drain(self._drain_seconds)
        log.info("the worker finishes %d chunks and ends; a second signal ends it at once", count)
        if self._dispatcher is not None:
            self._dispatcher.stop()  # type: ignore[no-untyped-call]

    async def _follow_tickets(self) -> None:
        """Let tickets wake the engine, for as long as the connection with the database lasts."""
        connector = procrastinate.PsycopgConnector(conninfo=self._database.libpq_url, min_size=1, max_size=4)
        app = procrastinate.App(connector=connector)

        @app.task(name=QUEUE, queue=QUEUE)
        async def follow_ticket() -> None:
            # A ticket is kept while all slots are busy, so that further ones go to others.
            await asyncio.get_running_loop().run_in_executor(self._threads, self._engine.work_until_idle)

        async with app.open_async():
            self._dispatcher = Dispatcher(
                app,
                queues=[QUEUE],
                name="gainboard",
                concurrency=self._engine.slots,
                fetch_job_polling_interval=LOOK_SECONDS,
                delete_jobs="always",  # a ticket that was followed says nothing any more
                install_signal_handlers=False,  # signals outlast a connection
            )
            await self._dispatcher.run()  # type: ignore[no-untyped-call]
