"""A slot: one killable process at a time, and the claim it works."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from threading import Event, Thread

import app
from app.jobs.process import Reply
from app.store.records import Claim

IDLE_SECONDS = 60.0
"""After which a process without work ends, and its memory is free."""
_ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}


class Slot:
    """Made idle. `wake` is called from another thread whenever there may be news."""

    def __init__(self, url: str, wake: Callable[[], None]) -> None:
        self._url = url
        self._wake = wake
        self._process: subprocess.Popen[str] | None = None
        self._ended = Event()
        self._reply: Reply | None = None
        self._idle_since = time.monotonic()
        self.claim: Claim | None = None

    def give(self, claim: Claim) -> None:
        """Has the process work a claim; a new process where there is none."""
        self.claim, self._reply = claim, None
        try:
            if self._process is None or self._ended.is_set():
                self._start()
            self._send(asdict(claim))
        except OSError:
            self.kill()  # `reply` says so

    def reply(self) -> Reply | None:
        """What became of the claim, once that is known; the slot is free from then on."""
        if self.claim is None:
            return None
        reply = self._reply
        if reply is None and self._ended.is_set():
            reply = Reply(self.claim.name, "raised", f"The process that computed it ended ({self._code()}).")
        if reply is not None:
            self.claim, self._reply = None, None
            self._idle_since = time.monotonic()
        return reply

    def kill(self) -> None:
        """Ends the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def drop(self) -> None:
        """Ends the process and forgets the claim, which is another's now or nobody's."""
        self.kill()
        self.claim, self._reply = None, None

    def retire(self) -> None:
        """Ends a process that has had no work for a while."""
        if self.claim is None and time.monotonic() - self._idle_since > IDLE_SECONDS:
            self.kill()
            self._process = None

    def _code(self) -> str:
        code = self._process.returncode if self._process else None
        return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"

    def _start(self) -> None:
        folder = str(Path(app.__file__).parent.parent)
        paths = os.pathsep.join(filter(None, (folder, os.environ.get("PYTHONPATH"))))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "app.jobs.process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            env={**os.environ, **_ONE_THREAD, "PYTHONPATH": paths},
            # Out of the terminal's reach: an interrupt there is the owner's to handle.
            start_new_session=True,
        )
        self._ended = Event()
        Thread(target=self._listen, args=(self._process, self._ended), daemon=True).start()
        self._send({"url": self._url})

    def _send(self, message: dict[str, object]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def _listen(self, process: subprocess.Popen[str], ended: Event) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                reply = Reply(**json.loads(line))
                if self.claim is not None and reply.claim == self.claim.name:
                    self._reply = reply
                self._wake()
        process.wait()
        ended.set()
        self._wake()
