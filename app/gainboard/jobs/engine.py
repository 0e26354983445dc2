"""The engine: a thread that claims chunks of jobs, and gives them to processes of its own.

Every server has one, and so has every worker of a fleet. They differ in who may run jobs (`Engine.find_rival`) and in
what wakes the thread: a server looks at the table of jobs, and tickets call a worker (`fleet`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from itertools import takewhile
from threading import Condition, Event, Thread
from typing import Literal

import gainboard
from gainboard.errors import Unavailable
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker_process import JobTelemetry, WorkerProcesses
from gainboard.store import claims
from gainboard.store.database import Transaction
from gainboard.store.processes import Process, list_processes
from gainboard.vocabulary import ProcessKind

BUSY_SECONDS = 0.2
"""Seconds between two reads of the table while jobs run. Only the table shows that another process cancelled a job."""
IDLE_SECONDS = 0.5
"""Seconds between two reads while no job runs. Only the table shows jobs that another server has queued."""
TROUBLE_SECONDS = 1.0
"""Seconds before the next try, after the database did not answer this process or a worker."""

log = logging.getLogger("gainboard")


class Engine:
    """A thread that runs the database's jobs, as far as its process may.

    All state is in the tables: claims, progress and results. This process may therefore die at any moment. Another one
    frees the chunks that it had begun (`store.processes`).
    """

    def __init__(
        self,
        workspace: Workspace,
        slots: int,
        measures: JobTelemetry | None = None,
        changed: Callable[[], None] = lambda: None,
        *,
        kind: ProcessKind = "server",
        idle_seconds: float = IDLE_SECONDS,
    ) -> None:
        """Prepare to run jobs in this number of processes. `changed` is called whenever a job may have changed."""
        self._workspace, self._changed, self._kind, self._idle_seconds = workspace, changed, kind, idle_seconds
        self._news, self._stop = Event(), Event()
        self._deadline = 0.0
        self._may_run = self._is_troubled = False
        self._looking = Condition()
        self._turns = self._last_in_vain = 0
        self._thread: Thread | None = None
        self._processes = WorkerProcesses(workspace, [self._news.set] * slots, measures)

    @property
    def works(self) -> Literal["here", "elsewhere", "off"]:
        """The place where jobs run: here, elsewhere (perhaps for a moment only), or never here."""
        if not self._processes:
            return "off"
        return "here" if self._may_run else "elsewhere"

    @property
    def slots(self) -> int:
        """The number of processes in which this one may run jobs."""
        return len(self._processes)

    def start(self) -> None:
        """Enter the register of living processes, and start to run jobs, unless there are no slots."""
        self._workspace.lease.begin(self._kind, gainboard.__version__, self.slots, self._note_freed)
        if self._processes:
            self._thread = Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Look for jobs at once, because one may have been queued or cancelled."""
        self._news.set()

    def work_until_idle(self) -> None:
        """Look for chunks at once, and wait until a look finds none that is ready, or the engine stops."""
        with self._looking:
            turn = self._turns
            self._news.set()
            # A look that had begun before this call may have missed the chunk.
            self._looking.wait_for(lambda: self._last_in_vain > turn or self._stop.is_set())

    def drain(self, seconds: float = 0) -> int:
        """Begin no more chunks, and end those under way that are not done in time. Return their number."""
        self._deadline = time.monotonic() + seconds
        self._stop.set()
        self._news.set()
        with self._looking:
            self._looking.notify_all()
        return len(self._processes.claimed())

    def stop(self) -> None:
        """Stop, at once unless it drains, and leave the register. No chunk that is begun again counts as a failure."""
        if not self._stop.is_set():
            self.drain()
        if self._thread is not None:
            self._thread.join()
        self._workspace.lease.end()

    def find_rival(self, tx: Transaction) -> Process | None:
        """Return the process to which this one leaves the jobs, because it registered earlier; None if there is none.

        SQLite has one writer at a time, so one process runs all jobs. On PostgreSQL all processes share them, except
        those of another release: parts of one job must come from one release.
        """
        database, lease = self._workspace.database, self._workspace.lease
        able = [process for process in list_processes(tx, database.path) if process.slots]
        for process in takewhile(lambda process: process.id != lease.id, able):
            if database.engine.dialect.name == "sqlite" or process.release != gainboard.__version__:
                return process
        return None

    def _run(self) -> None:
        while not self._stop.is_set() or (self._processes.claimed() and time.monotonic() < self._deadline):
            # Cleared before the turn, so that news during the turn starts another one.
            self._news.clear()
            self._is_troubled = False
            try:
                self._turn()
            except Exception as error:
                self._is_troubled = True
                if isinstance(error, Unavailable):
                    log.warning("jobs cannot run until the database answers: %s", error.message)
                else:
                    log.error("unexpected error in the job engine", exc_info=error)
            # After trouble the pause has a fixed length, even if there is news: the database should not be asked more
            # often.
            if self._is_troubled and not self._stop.is_set():
                self._stop.wait(TROUBLE_SECONDS)
            else:
                self._news.wait(BUSY_SECONDS if self._processes.claimed() else self._idle_seconds)
        # The end of the lease returns their chunks.
        self._processes.drop()

    def _turn(self) -> None:
        processes, lease, database = self._processes, self._workspace.lease, self._workspace.database
        with self._looking:
            self._turns += 1
        if processes.owner != lease.id:
            # This process was taken for dead, and its chunks were given to others. Those of the last moment are not.
            processes.drop()
            with database.writing() as tx:
                claims.put_back_all(tx, processes.owner)
            processes.owner = lease.id
        for process in processes:
            ended = processes.tend(process)
            self._is_troubled = self._is_troubled or ended == "unavailable"
            if ended not in (None, "idle"):
                self._changed()
        # After all ends are stored: one of them may have made the last chunk of its job ready.
        idle = [process for process in processes if process.claim is None]
        if not idle or self._stop.is_set():
            return
        with database.reading() as tx:
            self._may_run = lease.is_held and self.find_rival(tx) is None
            startable = sum(claims.ready(tx).values()) if self._may_run else 0
        while idle and startable and processes.begin(idle[-1]):
            idle.pop()
            startable -= 1
            self._changed()
        for process in idle:
            process.retire()
        if idle:
            with self._looking:
                self._last_in_vain = self._turns
                self._looking.notify_all()

    def _note_freed(self, count: int) -> None:
        self._processes.measures.note_freed(count)
        self._news.set()
