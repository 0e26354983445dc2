"""Processes that run a module of ours: readers of large files, jobs, the compiler."""

from __future__ import annotations

import os
import sys
from pathlib import Path

ONE_THREAD = {f"{library}_NUM_THREADS": "1" for library in ("OPENBLAS", "OMP", "MKL", "VECLIB_MAXIMUM")}
"""Variables that keep linear algebra in one thread. Threads that wait for a product spin, which takes the cores from
others: with two of them, a board took more than twice the processor's time."""
_SECRETS = ("GAINBOARD_ADMIN_TOKEN", "GAINBOARD_DATABASE_URL")


def command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module. It imports nothing from the folder in which this process was started."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """Return the environment of the command: it finds our modules, and libraries use one thread each.

    It has neither the organiser's token nor the address of the database, which has a password. Who needs the address is
    told it.
    """
    kept = {name: value for name, value in os.environ.items() if name not in _SECRETS}
    paths = filter(None, (str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH")))
    return {**kept, **ONE_THREAD, "PYTHONPATH": os.pathsep.join(paths)}


def ending(code: int) -> str:
    """Return how a process has ended, from its return code: `exit code 1`, `signal 9`."""
    return f"signal {-code}" if code < 0 else f"exit code {code}"
