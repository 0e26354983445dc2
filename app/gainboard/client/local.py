"""A service of this process alone."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from weakref import finalize

import httpx

from gainboard import children
from gainboard.client.errors import ClientError, Problem
from gainboard.errors import BadInput

HOST = "gainboard.local"
STOP_SECONDS = 15


class LocalService:
    """A service in a child process: on a socket in a folder that only this user may enter, until this process ends.

    `data` is a folder for its database; without one, everything is removed at the end. `port` is where browsers of
    this machine find it, if that was asked for, and else 0. Raise ClientError if it does not start.
    """

    def __init__(self, data: Path | None = None, *, job_slots: int | None = None, for_browsers: bool = False) -> None:
        self.token = secrets.token_urlsafe(32)
        folder = Path(tempfile.mkdtemp(prefix="gainboard-"))  # which only its owner may enter
        socket = folder / "socket"
        # Its own session: an interrupt at the keyboard is for this process, which then ends the service.
        process = subprocess.Popen(
            children.command("gainboard.cli.local_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=children.environment(),
            start_new_session=True,
        )
        self.folder, self.process = folder, process.pid
        self._end = finalize(self, _end, process, folder)
        assert process.stdin is not None
        assert process.stdout is not None
        self._entrance = secrets.token_urlsafe(32)
        asked = {
            "data": str(data or folder / "data"),
            "socket": str(socket),
            "token": self.token,
            "job_slots": job_slots,
            "entrance": self._entrance if for_browsers else "",
        }
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        with process.stdout as told:
            port = told.readline()
        if not port:
            self.close()
            raise ClientError(f"The local service did not start ({children.ending(process.returncode)}).")
        self.port = int(port)
        self.transport = httpx.HTTPTransport(uds=str(socket))

    def entrance(self, path: str) -> str:
        """Return the address that lets one browser in, once, and leads it to a page."""
        return f"http://127.0.0.1:{self.port}/enter/{self._entrance}?to={quote(path)}"

    def close(self) -> None:
        """End the service. It does so by itself at the end of this process."""
        self._end()


def _end(process: subprocess.Popen[str], folder: Path) -> None:
    assert process.stdin is not None
    process.stdin.close()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class Loaded:
    """The runs that were loaded into a collection: their names, and the refusals of faulty ones by name."""

    runs: Sequence[str]
    refused: Mapping[str, Problem | BadInput] = field(default_factory=dict)

    def __repr__(self) -> str:
        refused = f", refused: {', '.join(self.refused)}" if self.refused else ""
        return f"<Loaded: {len(self.runs)} runs{refused}>"
