"""Files and folders that only this user may use, whatever the umask: judgments and runs are in them."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

UMASK = 0o077
"""The umask of processes that write for themselves only: libraries in them, such as the compiler, make files, too."""


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents. The rights of existing ones stay. Raise OSError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    # Parents one by one, because `parents=True` would make them with other rights.
    except FileNotFoundError:
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def make_file(path: Path) -> None:
    """Create an empty file. Raise FileExistsError if it exists, or another OSError."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def wider(top: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders of a tree that other users may use in any way, each with its mode in letters."""
    below = (Path(folder, name) for folder, *names in os.walk(top) for name in sorted(chain(*names)))
    for path in (top, *below):
        with suppress(FileNotFoundError):  # a server may delete files meanwhile
            mode = path.lstat().st_mode
            if mode & 0o077 and not stat.S_ISLNK(mode):
                yield path, stat.filemode(mode)
