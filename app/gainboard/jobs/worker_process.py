"""A slot: one process at a time, which can be killed, and the claim that it works on; and how its ends are stored."""

from __future__ import annotations

import json
import logging
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from threading import Event, Thread

from gainboard import children
from gainboard.evaluation.workspace import Workspace
from gainboard.jobs.process import Reply
from gainboard.store import claims, files, jobs
from gainboard.store.database import Database
from gainboard.store.job_records import Claim

IDLE_SECONDS = 60.0
"""Seconds after which a process without work ends, to free its memory."""


class WorkerProcess:
    """A slot, idle at first. `wake` is called from another thread whenever there may be news."""

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
        """Return the outcome of the claim once it is known; the slot is then free."""
        if self.claim is None:
            return None
        # This comes first, because a process may reply and end between two checks.
        has_ended = self._ended.is_set()
        reply = self._reply
        if reply is None and has_ended:
            reply = Reply(
                self.claim.name, "raised", f"The process that computed this part ended unexpectedly ({self._code()})."
            )
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
            self._start()
        self._send(asdict(claim))

    def _code(self) -> str:
        code = self._process.returncode if self._process else None
        return "killed" if code is None else children.ending(code)

    def _start(self) -> None:
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
        Thread(target=self._listen, args=(self._process, self._ended), daemon=True).start()
        objects = self._database.objects
        self._send({"url": self._database.url, "objects": objects.address if objects else None})

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
                    self._hear(line)
        finally:
            process.wait()
            ended.set()
            self._wake()

    def _hear(self, line: str) -> None:
        try:
            reply = Reply(**json.loads(line))
        except (ValueError, TypeError):
            return  # the process ended in the middle of a line
        if self.claim is not None and reply.claim == self.claim.name:
            self._reply = reply
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


log = logging.getLogger("gainboard")


def settle(workspace: Workspace, claim: Claim, reply: Reply) -> bool:
    """Store what a process replied. Return False if the database did not answer the process."""
    if reply.outcome == "done":
        return True
    log.error("chunk %d of job %d failed: %s", claim.position, claim.job_number, reply.trace or reply.message)
    is_answered = reply.outcome != "unavailable"
    with workspace.database.writing() as tx:
        if is_answered:
            is_final = reply.outcome == "refused"
            claims.give_back(tx, claim, workspace.now(), reply.message, is_final)
        else:
            claims.put_back(tx, claim, workspace.now())
    return is_answered


def drop_if_lost(workspace: Workspace, slot: WorkerProcess) -> bool:
    """Stop the slot's process if its work is not wanted any more. Return whether it was stopped."""
    if (claim := slot.claim) is None:
        return False
    with workspace.database.reading() as tx:
        is_lost = claims.is_lost(tx, claim)
    if is_lost:
        slot.drop()
        _forget_files(workspace, claim)
    return is_lost


def _forget_files(workspace: Workspace, lost: Claim) -> None:
    with workspace.database.writing() as tx:
        # The job of these files is over; files of other jobs may be written at this moment.
        if jobs.job_of(tx, lost).is_over:
            files.clear_unfinished(tx, lost.job_number)
