"""The folder of the data and the disk that it is on, where the database is SQLite's."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from gainboard.cli.doctor.checking import Examined, Finding, check

NETWORKED = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "fuse.sshfs", "fuse.glusterfs"}
LEAST_FREE = 256 << 20
MOUNTS = Path("/proc/self/mounts")


@check
def data_folder(subject: Examined) -> Iterator[Finding]:
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


def _folder(subject: Examined) -> Path | None:
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
def disk(subject: Examined) -> Iterator[Finding]:
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
    """The kind of file system that a folder is on; None where that is not to be had."""
    if not MOUNTS.exists():
        return None
    rows = [line.split() for line in MOUNTS.read_text(encoding="utf-8", errors="replace").splitlines()]
    mounted = [(row[1].encode().decode("unicode_escape"), row[2]) for row in rows]
    place = folder.resolve()
    above = [(where, kind) for where, kind in mounted if place.is_relative_to(where)]
    return max(above, key=lambda found: len(found[0]))[1] if above else None
