"""The embedded engine: of all processes that serve a database, one has its jobs worked, in processes of its own."""

from __future__ import annotations

import logging
from threading import Event, Thread
from uuid import uuid4

from app.errors import Unavailable
from app.evaluation.workspace import Workspace
from app.jobs.process import Reply
from app.jobs.slot import Slot
from app.store import jobs
from app.store.ownership import Ownership
from app.store.records import Claim

BUSY_SECONDS = 0.2
"""Between two looks at the table while something is worked: another server's cancellation is only there."""
IDLE_SECONDS = 0.5
"""The same while nothing is: another server's jobs are only there."""

log = logging.getLogger("gainboard")


class Engine:
    """Runs in a thread from `start` to `stop`, as long as it owns the database's jobs, and waits to own them else.

    Nothing is known here alone: claims, progress and results are in the tables, so that this process may die at
    any moment. Whoever owns the jobs next gives back what its processes had begun.
    """

    def __init__(self, workspace: Workspace, slots: int) -> None:
        self._workspace = workspace
        self._name = uuid4().hex
        self._ownership = Ownership(workspace.database)
        self._news = Event()
        self._stopping = False
        self._owns = self._is_in_doubt = False
        self._replies: list[tuple[Claim, Reply]] = []
        self._thread: Thread | None = None
        self._slots = [Slot(workspace.database.url, self._news.set) for _ in range(slots)]

    def start(self) -> None:
        """Begins to work jobs, unless there are no slots to do so."""
        if self._slots:
            self._thread = Thread(target=self._run, name="jobs", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """There may be a new job, or one less."""
        self._news.set()

    def stop(self) -> None:
        """Ends the processes; what they were at is begun again by the next owner, and does not count against it."""
        self._stopping = True
        self._news.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping:
            self._news.clear()
            try:
                self._turn()
            except Unavailable as error:
                # What was being written may be there or not.
                self._is_in_doubt = True
                log.warning("jobs wait for the database: %s", error.message)
            except Exception:
                log.exception("unexpected error in the job engine")
            is_busy = any(slot.claim for slot in self._slots)
            self._news.wait(BUSY_SECONDS if is_busy else IDLE_SECONDS)
        self._leave()

    def _turn(self) -> None:
        if not self._has_ownership():
            return
        self._collect()
        self._drop_lost()
        self._put_back_doubtful()
        for slot in self._slots:
            if slot.claim is None and not self._begin(slot):
                slot.retire()

    def _has_ownership(self) -> bool:
        has = self._ownership.acquire()
        if has != self._owns:
            # Before: there is nothing. After: whoever owns the jobs next gives it to others.
            self._drop_all()
        if has and not self._owns:
            with self._workspace.database.writing() as tx:
                jobs.take_over(tx, self._workspace.now())
        self._owns = has
        return has

    def _collect(self) -> None:
        for slot in self._slots:
            claim = slot.claim
            if claim is not None and (reply := slot.reply()) is not None:
                self._replies.append((claim, reply))
        while self._replies:
            self._settle(*self._replies[0])
            del self._replies[0]

    def _settle(self, claim: Claim, reply: Reply) -> None:
        if reply.outcome == "done":
            return
        log.error("chunk %d of job %d: %s", claim.position, claim.job_number, reply.trace or reply.message)
        with self._workspace.database.writing() as tx:
            if reply.outcome == "unavailable":
                jobs.put_back(tx, claim)
            else:
                is_final = reply.outcome == "refused"
                jobs.give_back(tx, claim, self._workspace.now(), reply.message, is_final)

    def _drop_lost(self) -> None:
        for slot in self._slots:
            if slot.claim is None:
                continue
            with self._workspace.database.reading() as tx:
                is_lost = jobs.is_lost(tx, slot.claim)
            if is_lost:
                slot.drop()

    def _put_back_doubtful(self) -> None:
        if not self._is_in_doubt:
            return
        with self._workspace.database.writing() as tx:
            jobs.put_back_all(tx, self._name, [slot.claim.name for slot in self._slots if slot.claim is not None])
        self._is_in_doubt = False

    def _begin(self, slot: Slot) -> bool:
        with self._workspace.database.reading() as tx:
            if not jobs.is_anything_ready(tx):
                return False
        with self._workspace.database.writing() as tx:
            claim = jobs.claim(tx, self._name, self._workspace.now())
        if claim is not None:
            slot.give(claim)
        return claim is not None

    def _drop_all(self) -> None:
        for slot in self._slots:
            slot.drop()

    def _leave(self) -> None:
        self._drop_all()
        try:
            if self._owns:
                with self._workspace.database.writing() as tx:
                    jobs.put_back_all(tx, self._name)
        except Unavailable:
            pass  # the next owner gives back what is left
        finally:
            self._ownership.release()
