"""Servers in processes of their own, which can be stopped and killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any

from gainboard.jobs.engine import Engine
from tests.conftest import ADMIN
from tests.jobs.bench import Bench, computing, is_there, is_zombie
from tests.outside import outside
from tests.waiting import until


class Server:
    """`gainboard serve` over a database, from its start to its end."""

    def __init__(self, database_url: str, slots: int = 1, host: str = "127.0.0.1") -> None:
        with socket.create_server((host, 0)) as free:
            port = free.getsockname()[1]
        self.url = f"http://{host}:{port}"
        settings = {"DATABASE_URL": database_url, "ADMIN_TOKEN": ADMIN, "JOB_SLOTS": str(slots)}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gainboard", "serve", "--host", host, "--port", str(port)],
            env=outside(**{f"GAINBOARD_{name}": value for name, value in settings.items()}),
            stderr=subprocess.DEVNULL,
        )

    def computing(self) -> list[int]:
        """The processes that compute for it."""
        return computing(self.process.pid)

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self.process.kill()
        self.process.wait()

    def terminate(self) -> int:
        """Asks it to end, and gives its exit code."""
        self.process.terminate()
        return self.process.wait(30)


@contextmanager
def server(database_url: str, slots: int = 1, host: str = "127.0.0.1") -> Iterator[Server]:
    """A server that is killed in the end, and the processes that it leaves behind have ended."""
    running = Server(database_url, slots, host)
    try:
        yield running
    finally:
        left = running.computing()
        running.kill()
        all_end(left)


class FleetWorker:
    """`gainboard worker` over a database, from its start to its end."""

    def __init__(
        self,
        database_url: str,
        slots: int = 1,
        dead_after: float = 30,
        prefix: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        settings = {"GAINBOARD_DATABASE_URL": database_url, "GAINBOARD_WORKER_TIMEOUT": str(dead_after)}
        self.process = subprocess.Popen(
            [*prefix, sys.executable, "-m", "gainboard", "worker", "--job-slots", str(slots), *options],
            env=outside(**settings),
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            self.said.extend(lines)

    def computing(self) -> list[int]:
        """The processes that compute for it."""
        return computing(self.process.pid)

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self.process.kill()
        self.process.wait()
        self._reading.join()

    def terminate(self) -> int:
        """Asks it to end, and gives its exit code."""
        self.process.terminate()
        return self.process.wait(60)


@contextmanager
def fleet_worker(database_url: str, slots: int = 1, **given: Any) -> Iterator[FleetWorker]:
    """A worker that is killed in the end, and the processes that it leaves behind have ended."""
    running = FleetWorker(database_url, slots, **given)
    try:
        yield running
    finally:
        left = running.computing()
        running.kill()
        all_end(left)


@contextmanager
def working(bench: Bench, slots: int = 1, changed: Callable[[], None] = lambda: None) -> Iterator[Engine]:
    """An engine at work, which leaves nothing behind."""
    before = computing()
    engine = Engine(bench.workspace, slots, changed=changed)
    engine.start()
    try:
        yield engine
    finally:
        pids = [pid for pid in computing() if pid not in before]
        engine.stop()
        assert [pid for pid in pids if is_there(pid) or is_zombie(pid)] == []


def all_end(pids: list[int], seconds: float = 30) -> None:
    """Waits for the end of processes."""
    until(lambda: not any(map(is_there, pids)), seconds)


def kill(pid: int) -> None:
    """Ends a process at once, if it has not ended by itself."""
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
