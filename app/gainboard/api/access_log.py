"""The access log: one line for each request, written by a thread of its own."""

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
    """A finished request, as the log shows it. The query is left out: it may hold what should not stay in a log."""

    time: float
    """Seconds since 1970. The other fields are logged unchanged."""
    request_id: str
    method: str
    path: str
    status: int
    seconds: float
    token: str | None
    """The id of the token that the request or its session has, valid or not; None without one."""

    def line(self) -> str:
        """Return the request's line."""
        ended = datetime.fromtimestamp(self.time, UTC).isoformat()
        line = {"time": ended, "level": "info", "logger": access.name, "message": "request"}
        return _encode(line | self._asdict() | {"time": ended})


class AccessLog:
    """A writer of one line for each request, in a thread of its own, so that no request waits for the log.

    The lines are in the order in which the requests ended. No line is lost when the service stops or when the log is
    slow: if too many lines wait, the thread that adds the next line writes them all.
    """

    MOST_WAITING = 10_000
    SECONDS = 0.1
    """Seconds between two writes."""

    def __init__(self) -> None:
        self._waiting: deque[Answered] = deque()
        self._writing = Lock()
        self._stopped = Event()
        self._thread: Thread | None = None

    def start(self) -> None:
        """Start the thread that writes."""
        self._stopped.clear()
        self._thread = Thread(target=self._run, name="access-log", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write the lines that wait. Later lines are written at once."""
        if (thread := self._thread) is not None:
            self._thread = None
            self._stopped.set()
            thread.join()
        self._write()

    def note(
        self, request_id: str, method: str, path: str, status: int, seconds: float, token: str | None = None
    ) -> None:
        """Add the request's line to the log."""
        if not access.isEnabledFor(logging.INFO):
            return
        self._waiting.append(Answered(time.time(), request_id, method, path, status, round(seconds, 6), token))
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
