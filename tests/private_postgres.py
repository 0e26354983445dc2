"""A PostgreSQL server of its own for tests, from installed binaries."""

import os
import shutil
import socket
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class PrivatePostgres:
    folder: Path
    port: int
    binaries: Path

    @property
    def url(self):
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/postgres"

    def make(self):
        if os.geteuid() == 0:
            shutil.chown(self.folder, "nobody")
        self._run("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self):
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder}"
        self._run("pg_ctl", "-l", str(self.folder / "log"), "-w", "-o", f"{options} -c fsync=off", "start")

    def stop(self):
        self._run("pg_ctl", "-w", "-m", "immediate", "stop")

    def _run(self, program, *arguments):
        # PostgreSQL refuses to run as root.
        as_somebody = ["runuser", "-u", "nobody", "--"] if os.geteuid() == 0 else []
        command = [*as_somebody, str(self.binaries / program), "-D", str(self.folder / "data"), *arguments]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=self.folder)


def _binaries():
    if found := shutil.which("initdb"):
        return Path(found).parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return versions[-1].parent if versions else None


def is_installed():
    return _binaries() is not None


@contextmanager
def running(folder):
    binaries = _binaries()
    assert binaries is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = PrivatePostgres(folder, port, binaries)
    server.make()
    server.start()
    try:
        yield server
    finally:
        server.stop()
