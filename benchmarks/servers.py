"""Servers as users start them: processes of their own, on a free port of this machine."""

from __future__ import annotations

import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.processes import environment_of_users

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
    log: Path

    def wait_for_compiled(self) -> None:
        """Return once the compiled code is loaded, however long it takes. Raises ServerFailed if it cannot be."""
        while not all(self.client.get("/readyz").json()["compiled"].values()):
            if "the plain code serves" in self.log.read_text(errors="replace"):
                raise ServerFailed("the compiled code was not loaded")
            time.sleep(0.05)


@contextmanager
def gainboard(
    data: Path, column: str = PLAIN, database: str | None = None, job_slots: int | None = None
) -> Iterator[Server]:
    """Run Gainboard over the database in the folder `data`, or over another, with an organiser's client.

    Both end on leaving. On entry, the compiled code is loaded, if the column has any.
    """
    with gainboard_at_once(data, column, database, job_slots) as server:
        if column == FAST:
            server.wait_for_compiled()
        yield server


@contextmanager
def gainboard_at_once(
    data: Path, column: str = PLAIN, database: str | None = None, job_slots: int | None = None
) -> Iterator[Server]:
    """Run the same, which has compiled and loaded nothing yet."""
    environment = environment_of_users()
    token = secrets.token_urlsafe()
    environment["GAINBOARD_ADMIN_TOKEN"] = token
    environment["GAINBOARD_FAST"] = "on" if column == FAST else "off"
    if database:
        environment["GAINBOARD_DATABASE_URL"] = database
    if job_slots is not None:
        environment["GAINBOARD_JOB_SLOTS"] = str(job_slots)
    arguments = [*_GAINBOARD, "serve", "--data", str(data)]
    with _running(arguments, environment, data / "server.log", "/healthz", token) as server:
        yield server


@contextmanager
def bare(body: Path, encoding: str) -> Iterator[Server]:
    """Run a FastAPI application that does nothing but send these bytes."""
    arguments = ["-m", "benchmarks.bare", "--body", str(body), "--encoding", encoding]
    with _running(arguments, environment_of_users(), body.with_suffix(".log"), "/unchanged", "") as server:
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
        client.timeout = httpx.Timeout(None)  # whatever takes long is measured all the same
        began = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments, "--port", str(port)], env=environment, stdout=errors, stderr=errors
        )
        try:
            _wait(process, client, ready, log)
            yield Server(client, time.perf_counter() - began, process.pid, log)
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
