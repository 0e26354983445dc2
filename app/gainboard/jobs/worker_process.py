"""The processes that run chunks: one, which can be killed, with the claim that it works on; and all of an owner.

The owner measures for Prometheus how long chunks take, how they end, and how many were started again.
"""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Event, Thread
from typing import TYPE_CHECKING, Literal, get_args

from gainboard import acceleration, children
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.process import Outcome, Reply
from gainboard.store import claims, files, jobs
from gainboard.store.database import Database
from gainboard.store.job_records import Claim

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

log = logging.getLogger("gainboard")

IDLE_SECONDS = 60.0
"""Seconds after which a process without work ends, to free its memory."""
BUCKETS = (0.1, 0.3, 1, 3, 5, 10, 20, 30, 60, 120, 300)
"""Seconds. A chunk is cut to take some seconds on an ordinary machine."""


class WorkerProcess:
    """One process at a time, and its claim; idle at first.

    `wake` is called from another thread whenever there may be news.
    """

    def __init__(self, database: Database, wake: Callable[[], None]) -> None:
        self._database = database
        self._wake = wake
        self._process: subprocess.Popen[str] | None = None
        self._ended = Event()
        self._reply: Reply | None = None
        self._idle_since = time.monotonic()
        self._began = time.monotonic()
        self.claim: Claim | None = None

    def give(self, claim: Claim) -> None:
        """Give a claim to the process; start a new process if there is none."""
        self.claim, self._reply, self._began = claim, None, time.monotonic()
        try:
            try:
                self._hand_over(claim)
            except BrokenPipeError:
                # The idle process has just ended. This is not the fault of the new claim, so it does not count as a
                # failure.
                self.kill()
                self._hand_over(claim)
        except OSError as error:
            self.kill()
            self._reply = Reply(claim.name, "unavailable", f"No process could start the work: {error.strerror}.")
            self._wake()

    def reply(self) -> Reply | None:
        """Return the outcome of the claim once it is known; the process is then idle."""
        if self.claim is None:
            return None
        # This comes first, because a process may reply and end between two checks.
        has_ended = self._ended.is_set()
        reply = self._reply
        if reply is None and has_ended:
            code = self._process.returncode if self._process else None
            how = "killed" if code is None else children.ending(code)
            reply = Reply(self.claim.name, "raised", f"The process that computed this part ended unexpectedly ({how}).")
        if reply is not None:
            self.claim, self._reply = None, None
            self._idle_since = time.monotonic()
        return reply

    @property
    def seconds(self) -> float:
        """The time since the last claim was given."""
        return time.monotonic() - self._began

    def kill(self) -> None:
        """Kill the process, whatever it is doing."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        assert process.stdin is not None
        with suppress(OSError):  # the rest of a line that the process did not read
            process.stdin.close()

    def drop(self) -> None:
        """Kill the process and forget the claim, which another process has now, or nobody."""
        self.kill()
        self.claim, self._reply = None, None

    def retire(self) -> None:
        """End a process that has had no work for a while."""
        if self.claim is None and time.monotonic() - self._idle_since > IDLE_SECONDS:
            self.kill()

    def _hand_over(self, claim: Claim) -> None:
        if self._process is None or self._ended.is_set():
            self.kill()
            self._ended = Event()
            with _deaf_children():
                self._process = subprocess.Popen(
                    children.command("gainboard.jobs.process"),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                    encoding="utf-8",
                    env=children.environment(),
                    start_new_session=True,
                )
            # With its own process and event, because the object may have others when this process ends.
            Thread(target=self._listen, args=(self._process, self._ended), daemon=True).start()
            objects = self._database.objects
            self._send(
                {
                    "url": self._database.url,
                    "objects": objects.address if objects else None,
                    # null where this process uses plain code, and "" where numba chooses the folder
                    "compiled": str(acceleration.kept_in() or "") if acceleration.is_ready() else None,
                }
            )
        self._send(asdict(claim))

    def _send(self, message: dict[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _listen(self, process: subprocess.Popen[str], ended: Event) -> None:
        assert process.stdout is not None
        try:
            with process.stdout:
                for line in process.stdout:
                    try:
                        reply = Reply(**json.loads(line))
                    except (ValueError, TypeError):
                        continue  # the process ended in the middle of a line
                    # A reply of a process that was killed may still have been on its way.
                    if self.claim is not None and reply.claim == self.claim.name:
                        self._reply = reply
                    self._wake()
        finally:
            # In this order: whoever sees the end finds the exit code.
            process.wait()
            ended.set()
            self._wake()


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Make processes that are started here ignore SIGTERM and similar signals.

    A service manager may send them to all processes of the service. Only the owner decides which process ends, and what
    counts as a failed attempt. The end of standard input tells a process that its owner has died.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class JobTelemetry:
    """The measurements of one process since its start; without a registry, nothing is measured."""

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self._seconds = self._freed = None
        if registry is not None:
            from prometheus_client import Counter, Histogram, ProcessCollector  # noqa: PLC0415 (of the `metrics` extra)

            ProcessCollector(registry=registry)  # when the process started, so that restarts can be counted
            what = "Time of a chunk of a job in its process, by outcome"
            self._seconds = Histogram("gainboard_chunk_seconds", what, ("outcome",), buckets=BUCKETS, registry=registry)
            # From 0 on: Prometheus sees no increase in a counter whose first value is 1.
            for outcome in get_args(Outcome):
                self._seconds.labels(outcome)
            freed = "Chunks that were started again because the process that had them died"
            self._freed = Counter("gainboard_claims_freed", freed, registry=registry)

    def note_chunk(self, outcome: Outcome, seconds: float) -> None:
        """Count a chunk that has ended."""
        if self._seconds is not None:
            self._seconds.labels(outcome).observe(seconds)

    def note_freed(self, count: int) -> None:
        """Count chunks that are started again."""
        if self._freed is not None:
            self._freed.inc(count)


class WorkerProcesses:
    """The processes of one owner of claims, and all that an owner does with them, whoever wakes it.

    The engine calls `tend` and `begin` for each of them, from one thread. Each raises Unavailable if the database does
    not answer. Then call it again: it loses nothing.
    """

    def __init__(
        self, workspace: Workspace, wakes: Iterable[Callable[[], None]], measures: JobTelemetry | None = None
    ) -> None:
        self.owner = ""
        """The id of the owner in the register (`store.processes`), which begins the names of its claims."""
        self.measures = measures or JobTelemetry()
        self._workspace = workspace
        self._processes = [WorkerProcess(workspace.database, wake) for wake in wakes]
        self._unstored: dict[WorkerProcess, tuple[Claim, Reply]] = {}
        self._turns = claims.Turns()
        self._is_in_doubt = False

    def __iter__(self) -> Iterator[WorkerProcess]:
        return iter(self._processes)

    def __len__(self) -> int:
        return len(self._processes)

    def claimed(self) -> list[str]:
        """Return the names of the claims that the processes have, and of those whose end is not stored yet."""
        unstored = [claim.name for claim, _ in list(self._unstored.values())]
        return unstored + [claim.name for process in self._processes if (claim := process.claim) is not None]

    def begin(self, process: WorkerProcess) -> bool:
        """Give an idle process a chunk that is ready. Return False if there is none."""
        database = self._workspace.database
        if self._is_in_doubt:
            with database.writing() as tx:
                claims.put_back_all(tx, self.owner, self.claimed())
        # Until the transaction has ended well, nobody knows whether the claim was stored.
        self._is_in_doubt = True
        with database.writing() as tx:
            claim = claims.claim(tx, self.owner, self._workspace.now(), self._turns)
        if claim is not None:
            process.give(claim)
        self._is_in_doubt = False
        return claim is not None

    def tend(self, process: WorkerProcess) -> Outcome | Literal["lost", "idle"] | None:
        """Return how the chunk of a process has ended, once that is stored, and None while it goes on.

        A chunk is `lost` if nobody wants it any more from this process, which is then stopped. A process without a
        chunk is `idle`.
        """
        claim = process.claim
        if claim is not None and (reply := process.reply()) is not None:
            self.measures.note_chunk(reply.outcome, process.seconds)
            self._unstored[process] = claim, reply
        if process in self._unstored:
            claim, reply = self._unstored[process]
            self._store_end(claim, reply)
            # Only now, so that no end is lost if the database fails.
            del self._unstored[process]
            return reply.outcome
        if claim is None:
            return "idle"
        with self._workspace.database.reading() as tx:
            is_lost = claims.is_lost(tx, claim)
        if not is_lost:
            return None
        process.drop()
        with self._workspace.database.writing() as tx:
            # The job of these files is over; files of other jobs may be written at this moment.
            if jobs.job_of(tx, claim).is_over:
                files.clear_unfinished(tx, claim.job_number)
        return "lost"

    def drop(self) -> None:
        """Stop all processes. Whoever lives returns their chunks."""
        self._unstored.clear()
        for process in self._processes:
            process.drop()

    def _store_end(self, claim: Claim, reply: Reply) -> None:
        if reply.outcome == "done":
            return  # the process has stored it
        # Whoever asked is told of a refusal, which is no fault of the service.
        level = logging.WARNING if reply.outcome == "refused" else logging.ERROR
        log.log(level, "chunk %d of job %d failed: %s", claim.position, claim.job_number, reply.trace or reply.message)
        with self._workspace.database.writing() as tx:
            if reply.outcome == "unavailable":
                claims.put_back(tx, claim, self._workspace.now())
            else:
                claims.give_back(tx, claim, self._workspace.now(), reply.message, reply.outcome == "refused")
