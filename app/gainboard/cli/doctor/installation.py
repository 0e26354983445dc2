"""Checks of the program, the machine, the settings and the data folder. Secrets are not shown."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import sqlite3
from collections.abc import Iterator
from difflib import get_close_matches
from glob import escape
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from pydantic import SecretStr
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

import gainboard
from gainboard.cli.doctor.checks import Finding, Subject, check
from gainboard.settings import PREFIX, Settings, available_cores
from gainboard.store import private

OLDEST_SQLITE = (3, 35, 0)
FEWEST_FILES = 1024
EXTRAS = {"fast": "numba", "figures": "matplotlib", "metrics": "prometheus_client", "postgres": "psycopg"}
"""The module that each extra installs."""
HIDDEN = "***"
NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
LEAST_FREE = 256 << 20
MOUNTS = Path("/proc/self/mounts")


@check
def versions(subject: Subject) -> Iterator[Finding]:
    """Show the versions of Gainboard, Python and the libraries."""
    python = f"{platform.python_implementation()} {platform.python_version()}"
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "scipy", "sqlalchemy", "fastapi", "uvicorn"))
    yield Finding("ok", f"Gainboard {gainboard.__version__}, {python}, SQLite {sqlite3.sqlite_version}, {libraries}")
    if sqlite3.sqlite_version_info < OLDEST_SQLITE:
        wanted = ".".join(map(str, OLDEST_SQLITE))
        yield Finding("problem", "this SQLite is too old", f"Use a Python whose SQLite is {wanted} or newer.")


@check
def machine(subject: Subject) -> Iterator[Finding]:
    """Show the machine, and what the process may use of it."""
    yield Finding("ok", f"{platform.platform()}, {platform.machine()}, {available_cores()} of {os.cpu_count()} cores")
    if find_spec("resource") is None:  # not on Windows
        return
    import resource  # noqa: PLC0415

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if 0 <= most < FEWEST_FILES:
        yield Finding("note", f"at most {most} open files", "Each client needs one. Raise the limit: `ulimit -n 4096`.")


@check
def extras(subject: Subject) -> Iterator[Finding]:
    """Show which extras are installed."""
    there = [name for name, module in EXTRAS.items() if find_spec(module) is not None]
    absent = [name for name in EXTRAS if name not in there]
    yield Finding("ok", f"installed: {', '.join(there) or 'none'}; not installed: {', '.join(absent) or 'none'}")


@check
def compiled(subject: Subject) -> Iterator[Finding]:
    """Check that the functions of the `fast` extra are compiled."""
    if subject.settings is None or find_spec(EXTRAS["fast"]) is None:
        return
    if subject.settings.fast == "off":
        yield Finding("note", "GAINBOARD_FAST=off: plain code is used, which is several times slower")
        return
    named = subject.environment.get("NUMBA_CACHE_DIR")
    folder = Path(named) if named else subject.settings.compiled
    if folder is None:
        yield Finding("ok", "compiled code is kept beside the source code, or in the user's cache folder")
    elif count := sum(1 for _ in folder.rglob("*.nbc")):
        yield Finding("ok", f"{count} compiled functions are kept in {folder}")
    else:
        yield Finding(
            "note",
            f"nothing is compiled in {folder} yet: the slower plain code is used for the first minute after a start",
            "Run `gainboard warm` to compile before a start.",
        )


@check
def settings(subject: Subject) -> Iterator[Finding]:
    """Show every setting that is set, and the names of those with their default."""
    if subject.settings is None:
        yield Finding("problem", subject.refused, "Correct it first: no command can open the database before.")
        return
    unset = []
    for name in Settings.model_fields:
        source = _source(subject, name)
        if source:
            yield Finding("ok", f"{PREFIX}{name.upper()} = {_format_setting(subject.settings, name)} ({source})")
        else:
            unset.append(f"{name.upper()} = {_format_setting(subject.settings, name)}")
    yield Finding("ok", f"at their defaults: {', '.join(unset)}")


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
    """Return a database's address without its password, wherever the password is in the address."""
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError):  # urlsplit raises ValueError if the port is not a number
        return f"{HIDDEN}, which is not a valid address"  # it may contain a password
    hidden = {key: HIDDEN for key in parsed.query if "pass" in key.lower()}
    return parsed.update_query_dict(hidden).render_as_string(hide_password=True)


@check
def unknown_variables(subject: Subject) -> Iterator[Finding]:
    """Find variables that look like settings but are not."""
    known = [PREFIX + name.upper() for name in Settings.model_fields]
    for name in Settings.unknown(subject.environment):
        near = get_close_matches(name, known, 1, 0.85)
        advice = f"Is {near[0]} meant?" if near else "It is ignored."
        yield Finding("note", f"{name} is not a setting", advice)


@check
def data_folder(subject: Subject) -> Iterator[Finding]:
    """Check that the data folder exists, and that this user may write into it."""
    if (folder := _folder(subject)) is None:
        return
    if not folder.exists():
        yield Finding("note", f"there is no {folder}", "The first start creates it. Is this the folder that you mean?")
    elif not folder.is_dir():
        yield Finding("problem", f"{folder} is not a folder", "Name another one in GAINBOARD_DATA or with --data.")
    else:
        yield Finding("ok", str(folder.resolve()))
        yield from _rights(folder)


def _folder(subject: Subject) -> Path | None:
    path = subject.database.path if subject.database is not None else None
    return path.parent if path is not None else None


def _rights(folder: Path) -> Iterator[Finding]:
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        yield Finding(
            "problem",
            "this user may not write into it",
            f"Run Gainboard as the folder's owner, or give the folder to this user: {folder}.",
        )
    found = folder.stat()
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        yield Finding("note", f"it belongs to user {found.st_uid}, but this is user {os.geteuid()}")


@check
def rights(subject: Subject) -> Iterator[Finding]:
    """Check that other users cannot read what is stored."""
    closed = []
    for place in filter(Path.exists, _stored_in(subject)):
        if not (wider := list(private.wider(place))):
            closed.append(str(place))
            continue
        (path, mode), more = wider[0], f" and {len(wider) - 1:,} more" if wider[1:] else ""
        advice = f"chmod {'-R ' if place.is_dir() else ''}go= {shlex.quote(str(place))}"
        yield Finding("note", f"other users may use {path} ({mode}){more}, and it has the judgments", advice)
    if closed:
        yield Finding("ok", f"only this user may use {', '.join(closed)}")


def _stored_in(subject: Subject) -> Iterator[Path]:
    """Yield the files and folders that Gainboard makes, as far as they are on this machine."""
    settings, database = subject.settings, subject.database
    if settings is None or database is None:
        return
    if settings.compiled is not None:
        yield settings.data
    if settings.database_url is not None and database.path is not None:
        yield from sorted(database.path.parent.glob(f"{escape(database.path.name)}*"))
    if database.objects is not None and database.objects.folder is not None:
        yield database.objects.folder


@check
def disk(subject: Subject) -> Iterator[Finding]:
    """Check the free space, and that the disk is local."""
    path = subject.database.path if subject.database is not None else None
    if path is None or not path.parent.is_dir():
        return
    folder, free = path.parent, shutil.disk_usage(path.parent).free
    taken = sum(each.stat().st_size for each in folder.glob(f"{path.name}*"))
    room = f"{free / 1e9:,.1f} GB free, the database takes {taken / 1e9:,.3f} GB"
    if free < LEAST_FREE:
        yield Finding("problem", room, "Uploads are refused with 503 when the disk is full. Free some space.")
    elif free < taken:
        yield Finding("note", room, "There is no space for a backup on this disk.")
    else:
        yield Finding("ok", room)
    if (kind := file_system(folder)) in NETWORKED:
        yield Finding("problem", f"it is on a network ({kind}), where SQLite's locks do not work", "Use a local disk.")


def file_system(folder: Path) -> str | None:
    """Return the kind of file system that a folder is on; None if unknown."""
    if not MOUNTS.exists():
        return None
    rows = [line.split() for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    mounted = [(row[1].encode().decode("unicode_escape"), row[2]) for row in rows]
    resolved = folder.resolve()
    above = [(where, kind) for where, kind in mounted if resolved.is_relative_to(where)]
    return max(above, key=lambda found: len(found[0]))[1] if above else None
