"""The machine of a service: its clock, its source of what nobody can guess, and files that only its user may use.

Judgments and runs are in such files and folders, whatever the umask.
"""

from __future__ import annotations

import os
import stat
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from pathlib import Path
from uuid import UUID

SECRET_BYTES = 32
UMASK = 0o077
"""The umask of processes that write for themselves only: libraries in them, such as the compiler, make files, too."""

_CLOCK = partial(datetime.now, UTC)


@dataclass(frozen=True)
class Machine:
    """The clock, in UTC, and the source of random bytes. A test gives a service another one."""

    now: Callable[[], datetime] = _CLOCK
    random_bytes: Callable[[int], bytes] = os.urandom

    def new_uuid(self) -> str:
        return str(UUID(bytes=self.random_bytes(16), version=4))

    def new_secret(self) -> str:
        """Return 256 random bits as text that fits into an address."""
        return urlsafe_b64encode(self.random_bytes(SECRET_BYTES)).rstrip(b"=").decode()


def make_private_folder(folder: Path) -> None:
    """Create a folder and its missing parents. The rights of existing ones stay. Raise OSError."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    # Parents one by one, because `parents=True` would make them with other rights.
    except FileNotFoundError:
        make_private_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def make_private_file(path: Path) -> None:
    """Create an empty file. Raise FileExistsError if it exists, or another OSError."""
    # O_EXCL, so that nothing is written into a file that somebody else has put there.
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))


def find_exposed(top: Path) -> Iterator[tuple[Path, str]]:
    """Yield the files and folders of a tree that other users may use in any way, each with its mode in letters."""
    below = (Path(folder, name) for folder, *names in os.walk(top) for name in sorted(chain(*names)))
    for path in (top, *below):
        # A server may delete files meanwhile.
        with suppress(FileNotFoundError):
            mode = path.lstat().st_mode
            if mode & 0o077 and not stat.S_ISLNK(mode):
                yield path, stat.filemode(mode)
