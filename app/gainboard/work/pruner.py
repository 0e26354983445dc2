"""The thread of a server that deletes the content of runs withdrawn long ago, once a day."""

from __future__ import annotations

import logging
from threading import Event, Thread

from gainboard.errors import DatabaseBusy
from gainboard.evaluation.pruning import prune
from gainboard.evaluation.workspace import Workspace

FIRST_SECONDS = 60.0
"""Seconds from the start to the first time, because a starting server has more urgent things to do."""
EVERY_SECONDS = 24 * 3600.0

log = logging.getLogger("gainboard")


class Pruner:
    """The thread between `start` and `stop`. Several servers on one database may each have one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._stop = Event()
        self._thread = Thread(target=self._run, name="pruner", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread after the transaction that it is in."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        pause = FIRST_SECONDS
        while not self._stop.wait(pause):
            pause = EVERY_SECONDS
            try:
                pruned = prune(self._workspace, stop=self._stop)
            except DatabaseBusy as busy:
                log.warning("withdrawn runs are pruned tomorrow, because the database is busy: %s", busy.message)
            except Exception:  # whatever it is, the next time must come
                log.exception("unexpected error while withdrawn runs were pruned")
            else:
                if pruned.runs:
                    log.info("deleted the content of %d withdrawn runs: %d bytes", pruned.runs, pruned.bytes)
