"""The embedded engine. One of the processes that serve a database runs its jobs, in processes of its own."""

from __future__ import annotations

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Event, Thread
from typing import Literal
from uuid import uuid4

from gainboard.errors import Unavailable
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.worker_process import JobTelemetry, WorkerProcesses
from gainboard.store import claims
from gainboard.store.ownership import Ownership

BUSY_SECONDS = 0.2
"""Seconds between two reads of the table while jobs run. Only the table shows that another server cancelled a job."""
IDLE_SECONDS = 0.5
"""Seconds between two reads while no job runs. Only the table shows jobs that another server has queued."""
TROUBLE_SECONDS = 1.0
"""Seconds before the next try, after the database did not answer this process or a worker."""

log = logging.getLogger("gainboard")


class Engine:
    """A thread that runs the database's jobs while it owns them, and otherwise waits to own them.

    All state is in the tables: claims, progress and results. This process may therefore die at any moment. The next
    owner returns the chunks that its processes had begun.
    """

    def __init__(
        self,
        workspace: Workspace,
        slots: int,
        measures: JobTelemetry | None = None,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare to run jobs in this number of processes. `changed` is called whenever a job may have changed."""
        self._workspace, self._changed = workspace, changed
        self._ownership = Ownership(workspace.database)
        self._news = Event()
        self._stop = Event()
        self._owns = self._is_troubled = False
        self._thread: Thread | None = None
        self._processes = WorkerProcesses(workspace, [self._news.set] * slots, measures)
        self._processes.owner = uuid4().hex

    @property
    def works(self) -> Literal["here", "elsewhere", "off"]:
        """The server that runs the database's jobs: this one, another one (or soon this one), or never this one."""
        if not self._processes:
            return "off"
        return "here" if self._owns else "elsewhere"

    @property
    def slots(self) -> int:
        """The number of processes in which this server may run jobs."""
        return len(self._processes)

    def start(self) -> None:
        """Start to run jobs, unless there are no slots."""
        if self._processes:
            self._thread = Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Look for jobs at once, because one may have been queued or cancelled."""
        self._news.set()

    def stop(self) -> None:
        """Stop the processes. The next owner starts their chunks again, and this does not count as a failure."""
        self._stop.set()
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
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
            if self._is_troubled:
                self._stop.wait(TROUBLE_SECONDS)
            else:
                self._news.wait(BUSY_SECONDS if self._processes.claimed() else IDLE_SECONDS)
        self._processes.drop()
        try:
            # If the database does not answer now, the next owner returns what is left.
            with suppress(Unavailable):
                if self._owns:
                    with self._workspace.database.writing() as tx:
                        claims.put_back_all(tx, self._processes.owner)
        finally:
            self._ownership.release()

    def _turn(self) -> None:
        if not self._has_ownership():
            return
        for process in self._processes:
            ended = self._processes.tend(process)
            self._is_troubled = self._is_troubled or ended == "unavailable"
            if ended not in (None, "idle"):
                self._changed()
        # After all ends are stored: one of them may have made the last chunk of its job ready.
        for process in self._processes:
            if process.claim is not None:
                continue
            if self._processes.begin(process):
                self._changed()
            else:
                process.retire()

    def _has_ownership(self) -> bool:
        if self._owns and self._ownership.holds():
            return True
        self._owns = False
        if not self._ownership.acquire():
            # the new owner has given the chunks of this process to others
            self._processes.drop()
            return False
        # Ownership was lost and won again. Another server may have owned the jobs in between, so only its chunks are
        # returned.
        with self._workspace.database.writing() as tx:
            freed = claims.take_over(tx, self._workspace.now(), self._processes.claimed())
        self._processes.measures.note_freed(freed)
        self._owns = True
        return True
