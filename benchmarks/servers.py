"""Servers as users start them: processes of their own, on a free port of this machine."""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx

_GAINBOARD = ["-c", "import sys; from gainboard.cli import main; sys.exit(main())"]
_PATIENCE = 60.0
PLAIN, FAST = "plain", "fast"
"""The two columns of the targets: without the `fast` extra, and with it."""


class ServerFailed(Exception):
    """A server did not start, or refused what it should have done; the message has what it said."""


@dataclass(frozen=True)
class Server:
    """A running server: a client of it, the seconds from its start to its first answer, and its process."""

    client: httpx.Client
    first_answer: float
    process: int

    def peak_memory(self) -> int | None:
        """The most bytes that the process held in memory so far, where the system tells."""
        status = Path(f"/proc/{self.process}/status")
        if not status.exists():
            return None
        (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) << 10

    def forget_peak(self) -> None:
        """Has the system count the peak from now on."""
        with suppress(OSError):
            Path(f"/proc/{self.process}/clear_refs").write_text("5")


@contextmanager
def gainboard(data: Path, column: str = PLAIN) -> Iterator[Server]:
    """Gainboard over the database in the folder `data`, with an organiser's client; both end on leaving. Its compiled
    code is loaded once this is entered, if it is to have any."""
    # Settings of whoever runs this must not lead to a database that is theirs.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GAINBOARD_")}
    token = secrets.token_urlsafe()
    environment["GAINBOARD_ADMIN_TOKEN"] = token
    environment["GAINBOARD_FAST"] = "on" if column == FAST else "off"
    arguments = [*_GAINBOARD, "serve", "--data", str(data)]
    if column == FAST:
        # The first time it takes a minute; what comes out stays in the folder.
        warming = [sys.executable, *_GAINBOARD, "warm", "--data", str(data)]
        subprocess.run(warming, env=environment, check=True, stdout=subprocess.DEVNULL)
    with _running(arguments, environment, data / "server.log", "/healthz", token) as server:
        _wait_for_compiled(server.client, column)
        yield server


def _wait_for_compiled(client: httpx.Client, column: str) -> None:
    deadline = time.perf_counter() + _PATIENCE
    while column == FAST and not all(client.get("/readyz").json()["compiled"].values()):
        if time.perf_counter() > deadline:
            raise ServerFailed("the compiled code was not loaded")
        time.sleep(0.05)


@contextmanager
def bare(body: Path, encoding: str) -> Iterator[Server]:
    """A FastAPI application that does nothing but send these bytes."""
    arguments = ["-m", "benchmarks.bare", "--body", str(body), "--encoding", encoding]
    with _running(arguments, dict(os.environ), body.with_suffix(".log"), "/unchanged", "") as server:
        yield server


@contextmanager
def _running(
    arguments: Sequence[str], environment: dict[str, str], log: Path, ready: str, token: str
) -> Iterator[Server]:
    log.parent.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with (
        log.open("wb") as errors,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers) as client,
    ):
        client.timeout = httpx.Timeout(_PATIENCE)
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments, "--port", str(port)], env=environment, stdout=errors, stderr=errors
        )
        try:
            _wait(process, client, ready, log)
            yield Server(client, time.perf_counter() - began, process.pid)
        finally:
            client.close()
            _stop(process)


def _wait(process: subprocess.Popen[bytes], client: httpx.Client, ready: str, log: Path) -> None:
    deadline = time.perf_counter() + _PATIENCE
    while process.poll() is None and time.perf_counter() < deadline:
        try:
            client.get(ready)
        except httpx.ConnectError:
            time.sleep(0.005)
        else:
            return
    raise ServerFailed(log.read_text(errors="replace")[-2000:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port
