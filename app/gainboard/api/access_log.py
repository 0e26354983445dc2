"""The access log: a line for each request, written beside the requests."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from datetime import UTC, datetime
from threading import Event, Lock, Thread
from typing import NamedTuple

access = logging.getLogger("gainboard.access")
_encode = json.JSONEncoder(ensure_ascii=False).encode


class Answered(NamedTuple):
    """A request that is over, as the log tells of it: no query, which may name what should not stay in a log."""

    time: float
    """Seconds since 1970; the others are as they are written."""
    request_id: str
    method: str
    path: str
    status: int
    seconds: float

    def line(self) -> str:
        """Return its line."""
        ended = datetime.fromtimestamp(self.time, UTC).isoformat()
        line = {"time": ended, "level": "info", "logger": access.name, "message": "request"}
        return _encode(line | self._asdict() | {"time": ended})


class AccessLog:
    """Writes a line for each request in a thread of its own, so that no request waits for the log.

    The lines are in the order in which the requests ended. None is lost when the service stops, and none when the log
    is slow to take them: once too many wait, whoever brings the next one writes them.
    """

    MOST_WAITING = 10_000
    SECONDS = 0.1
    """Between two writings."""

    def __init__(self) -> None:
        self._waiting: deque[Answered] = deque()
        self._writing = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Write in a thread from now on."""
        self._stopped.clear()
        self._thread = Thread(target=self._run, name="access-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what waits; what comes later is written at once."""
        if (thread := self._thread) is not None:
            self._thread = None
            self._stopped.set()
            thread.join()
        self._write()

    def note(self, request_id: str, method: str, path: str, status: int, seconds: float) -> None:
        """Have the request's line written."""
        if not access.isEnabledFor(logging.INFO):
            return
        self._waiting.append(Answered(time.time(), request_id, method, path, status, round(seconds, 6)))
        if self._thread is None or len(self._waiting) > self.MOST_WAITING:
            self._write()

    def _run(self) -> None:
        while not self._stopped.wait(self.SECONDS):
            self._write()

    def _write(self) -> None:
        with self._writing:
            lines = [self._waiting.popleft().line() for _ in range(len(self._waiting))]
            if lines:
                access.info("%s", "\n".join(lines))
