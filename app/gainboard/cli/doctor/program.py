"""The program and the machine that it runs on."""

from __future__ import annotations

import os
import platform
import sqlite3
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import gainboard
from gainboard.cli.doctor.checking import Examined, Finding, check
from gainboard.settings import available_cores

OLDEST_SQLITE = (3, 35, 0)
FEWEST_FILES = 1024
EXTRAS = {"fast": "numba", "figures": "matplotlib", "metrics": "prometheus_client", "postgres": "psycopg"}
"""The module that each brings."""


@check
def versions(subject: Examined) -> Iterator[Finding]:
    """What is installed, and where it runs."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "sqlalchemy", "fastapi", "uvicorn"))
    yield Finding("ok", f"Gainboard {gainboard.__version__}, {python}, SQLite {sqlite3.sqlite_version}, {libraries}")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        yield Finding("problem", "this SQLite is too old", f"Use a Python whose SQLite is {wanted} or newer.")


@check
def machine(subject: Examined) -> Iterator[Finding]:
    """Its kind, and what the process may use of it."""
    yield Finding("ok", f"{platform.platform()}, {platform.machine()}, {available_cores()} of {os.cpu_count()} cores")
    if find_spec("resource") is None:  # not on Windows
        return
    import resource  # noqa: PLC0415

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= most < FEWEST_FILES:
        yield Finding("note", f"{most} open files at most", "Each client has one: raise it with `ulimit -n 4096`.")


@check
def extras(subject: Examined) -> Iterator[Finding]:
    """Which are installed."""
    there = [name for name, module in EXTRAS.items() if find_spec(module) is not None]
    absent = [name for name in EXTRAS if name not in there]
    yield Finding("ok", f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(absent) or 'none'}")


@check
def compiled(subject: Examined) -> Iterator[Finding]:
    """Whether the `fast` extra has compiled already."""
    if subject.settings is None or find_spec(EXTRAS["fast"]) is None:
        return
    if subject.settings.fast == "off":
        yield Finding("note", "GAINBOARD_FAST=off: plain code serves, several times as slowly")
        return
    named = subject.environment.get("NUMBA_CACHE_DIR")
    folder = Path(named) if named else subject.settings.compiled
    if folder is None:
        yield Finding("ok", "what is compiled is kept beside the code, or in the user's cache folder")
    elif count := sum(1 for _ in folder.rglob("*.nbc")):
        yield Finding("ok", f"{count} compiled functions are kept in {folder}")
    else:
        yield Finding(
            "note",
            f"nothing is compiled in {folder} yet: plain code serves for the first minute",
            "`gainboard warm` compiles ahead.",
        )
