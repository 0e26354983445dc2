"""The content of runs that were withdrawn long ago: deleted, because nobody can read it any more.

The runs stay in the database by name, hash and time, as the audit log has them. Of an import that a crash has ended,
nothing stays.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Event, Thread

from gainboard.errors import Unavailable
from gainboard.evaluation import audit
from gainboard.evaluation.workspace import Workspace
from gainboard.store import blobs, imports, runs
from gainboard.store.database import exclude_others

KEPT_DAYS = 30
"""The days for which the content of a withdrawn run is kept, unless somebody asks for fewer."""
_LOCK = 0x7072756E


@dataclass(frozen=True, slots=True)
class Pruned:
    """The number of withdrawn runs without content from now on, and the decompressed bytes that were deleted.

    Content that another run, qrels or a result has as well is kept, so `bytes` may be 0.
    """

    runs: int
    bytes: int


def find_prunable(workspace: Workspace, days: int = KEPT_DAYS) -> Pruned:
    """Count what `prune` would delete, and delete nothing."""
    before = _before(workspace, days)
    with workspace.database.reading() as tx:
        return Pruned(runs.count_prunable(tx, before), blobs.bytes_without(tx, runs.is_prunable(before)))


def prune(workspace: Workspace, days: int = KEPT_DAYS, stop: Event | None = None) -> Pruned:
    """Delete the content of the runs that were withdrawn at least so many days ago, until `stop` is set.

    It is deleted in many short transactions, because nobody else can write during one of them. Deleted as well is what
    failed imports have stored, and objects of uploads that failed long ago.
    """
    before = _before(workspace, days)
    count = size = 0
    while not (stop and stop.is_set()):
        # There is mostly nothing to do, and a transaction that reads blocks nobody.
        with workspace.database.reading() as tx:
            if not runs.count_prunable(tx, before):
                break
        with workspace.database.writing() as tx:
            # Several servers may prune at the same time. One after the other, they count each file once.
            exclude_others(tx, _LOCK)
            hashes = runs.mark_pruned(tx, before, workspace.now())
            deleted = blobs.delete_unneeded(tx, sorted(set(hashes)))
            if hashes:
                freed = deleted.bytes
                audit.record(tx, None, "runs-pruned", f"{len(hashes)} runs", None, runs=len(hashes), bytes=freed)
        # After the transaction, because a rollback must find all objects in their place.
        blobs.delete_forgotten(workspace.database, deleted)
        count, size = count + len(hashes), size + deleted.bytes
    while not (stop and stop.is_set()):
        with workspace.database.reading() as tx:
            if imports.find_abandoned(tx) is None:
                break
        with workspace.database.writing() as tx:
            exclude_others(tx, _LOCK)
            collection_id = imports.find_abandoned(tx)
            hashes = imports.delete_some(tx, collection_id) if collection_id is not None else []
            deleted = blobs.delete_unneeded(tx, sorted(set(hashes)))
        blobs.delete_forgotten(workspace.database, deleted)
    blobs.delete_orphans(workspace.database)
    return Pruned(count, size)


def _before(workspace: Workspace, days: int) -> datetime:
    return workspace.now() - timedelta(days=days)


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
            except Unavailable as busy:
                log.warning("withdrawn runs are pruned tomorrow, because they cannot be now: %s", busy.message)
            # Whatever it is, the next time must come.
            except Exception:
                log.exception("unexpected error while withdrawn runs were pruned")
            else:
                if pruned.runs:
                    log.info("deleted the content of %d withdrawn runs: %d bytes", pruned.runs, pruned.bytes)
