"""The program, the machine that it runs on, the settings, and the folder of the data; what is secret is not shown."""

from __future__ import annotations

import os
import platform
import shutil
import sqlite3
import stat
from collections.abc import Iterator
from difflib import get_close_matches
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

import gainboard
from gainboard.cli.doctor import Finding, Subject, check
from gainboard.settings import PREFIX, Settings, available_cores

OLDEST_SQLITE = (3, 35, 0)
FEWEST_FILES = 1024
EXTRAS = {"fast": "numba", "figures": "matplotlib", "metrics": "prometheus_client", "postgres": "psycopg"}
"""The module that each brings."""
HIDDEN = "***"
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
LEAST_FREE = 256 << 20
MOUNTS = Path("/proc/self/mounts")


@check
def versions(subject: Subject) -> Iterator[Finding]:
    """What is installed, and where it runs."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "sqlalchemy", "fastapi", "uvicorn"))
    yield Finding("ok", f"Gainboard {gainboard.__version__}, {python}, SQLite {sqlite3.sqlite_version}, {libraries}")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        yield Finding("problem", "this SQLite is too old", f"Use a Python whose SQLite is {wanted} or newer.")


@check
def machine(subject: Subject) -> Iterator[Finding]:
    """Its kind, and what the process may use of it."""
    yield Finding("ok", f"{platform.platform()}, {platform.machine()}, {available_cores()} of {os.cpu_count()} cores")
    if find_spec("resource") is None:  # not on Windows
        return
    import resource  # noqa: PLC0415

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= most < FEWEST_FILES:
        yield Finding("note", f"{most} open files at most", "Each client has one: raise it with `ulimit -n 4096`.")


@check
def extras(subject: Subject) -> Iterator[Finding]:
    """Which are installed."""
    there = [name for name, module in EXTRAS.items() if find_spec(module) is not None]
    absent = [name for name in EXTRAS if name not in there]
    yield Finding("ok", f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(absent) or 'none'}")


@check
def compiled(subject: Subject) -> Iterator[Finding]:
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


@check
def settings(subject: Subject) -> Iterator[Finding]:
    """Every one that is set, and the defaults of the others in a line."""
    if subject.settings is None:
        yield Finding("problem", subject.refused, "No command that opens the database starts before that is corrected.")
        return
    unset = []
    for name in Settings.model_fields:
        source = _source(subject, name)
        if source:
            yield Finding("ok", f"{PREFIX}{name.upper()} = {_format_setting(subject.settings, name)} ({source})")
        else:
            unset.append(f"{name.upper()} = {_format_setting(subject.settings, name)}")
    yield Finding("ok", f"not set, so as by default: {', '.join(unset)}")


def _source(subject: Subject, name: str) -> str:
    if name == "data" and subject.data is not None:
        return "--data"
    return "environment" if subject.environment.get(PREFIX + name.upper()) else ""


def _format_setting(settings: Settings, name: str) -> str:
    value = getattr(settings, name)
    if value is None:
        return "none"
    if isinstance(value, SecretStr):
        return f"{HIDDEN}, not shown"
    return without_secrets(value) if name == "database_url" else str(value) or "empty"


def without_secrets(url: str) -> str:
    """Return an address of a database without its password, wherever the password stands."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # the latter where the port is no number
        return f"{HIDDEN}, which is no address"  # and may be a password
    hidden = {key: HIDDEN for key in parsed.query if "pass" in key.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


@check
def unknown_variables(subject: Subject) -> Iterator[Finding]:
    """Those that look like settings and are none."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in Settings.unknown(subject.environment):
        near = get_close_matches(name, known, 1, 0.85)
        advice = f"Is {near[0]} meant?" if near else "It has no effect."
        yield Finding("note", f"{name} is no setting", advice)


@check
def data_folder(subject: Subject) -> Iterator[Finding]:
    """Whether it is there, and whose."""
    if (folder := _folder(subject)) is None:
        return
    if not folder.exists():
        yield Finding("note", f"there is no {folder}", "The first start makes it; is it the one that is meant?")
    elif not folder.is_dir():
        yield Finding("problem", f"{folder} is no folder", "Name another in GAINBOARD_DATA or with --data.")
    else:
        yield Finding("ok", str(folder.resolve()))
        yield from _rights(folder)


def _folder(subject: Subject) -> Path | None:
    path = subject.database.path if subject.database is not None else None
    return path.parent if path is not None else None


def _rights(folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding("problem", "this user may not write into it", f"Run as its owner, or give it away: {folder}.")
    found = folder.stat()
    if stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.filemode(found.st_mode)
        yield Finding("note", f"others may look into it ({mode}), and it has the judgments", f"chmod 700 {folder}")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        yield Finding("note", f"it belongs to user {found.st_uid}, and this is user {os.geteuid()}")


@check
def disk(subject: Subject) -> Iterator[Finding]:
    """Whether there is room, and whether the disk is one of this machine."""
    path = subject.database.path if subject.database is not None else None
    if path is None or not path.parent.is_dir():
        return
    folder, free = path.parent, shutil.disk_usage(path.parent).free
    taken = sum(each.stat().st_size for each in folder.glob(f"{path.name}*"))
    room = f"{free / 1e9:,.1f} GB free, the database takes {taken / 1e9:,.3f} GB"
    if free < LEAST_FREE:
        yield Finding("problem", room, "Uploads will be refused with 503 once it is full: make room.")
    elif free < taken:
        yield Finding("note", room, "A backup has no room beside it.")
    else:
        yield Finding("ok", room)
    if (kind := file_system(folder)) in NETWORKED:
        yield Finding("problem", f"it is on a network ({kind}), which breaks SQLite's locks", "Use a local disk.")


def file_system(folder: Path) -> str | None:
    """Return the kind of file system that a folder is on; None if unknown."""
    if not MOUNTS.exists():
        return None
    rows = [line.split() for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    mounted = [(row[1].encode().decode("unicode_escape"), row[2]) for row in rows]
    resolved = folder.resolve()
    above = [(where, kind) for where, kind in mounted if resolved.is_relative_to(where)]
    return max(above, key=lambda found: len(found[0]))[1] if above else None
