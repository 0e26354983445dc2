"""Tar archives whose author is a stranger."""

from __future__ import annotations

import os
import tarfile
from io import SEEK_END
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Final

PIECE: Final = 1 << 20
BLOCK: Final = 512
TAR_HEADERS: Final = (b"x", b"g", b"L", b"K", b"X")
"""The types of tar's entries that say something of the next one, and that `tarfile` reads at once."""
MOST_HEADER: Final = 64 << 10
MOST_MEMBERS: Final = 200_000


def require_plain_tar(packed: IO[bytes]) -> None:
    """Raise ValueError for an archive that `tarfile` could read only with much memory: it reads whole headers."""
    end, at, members = packed.seek(0, SEEK_END), 0, 0
    while at + BLOCK <= end:
        packed.seek(at)
        header = packed.read(BLOCK)
        if not header.strip(b"\0"):
            break
        size = tarfile.nti(header[124:136])  # type: ignore[attr-defined]
        members += 1
        is_header = header[156:157] in TAR_HEADERS
        if size < 0 or (is_header and size > MOST_HEADER) or members > MOST_MEMBERS:
            raise ValueError(f"it has a header of {size:,} bytes, or more than {MOST_MEMBERS:,} files")
        if is_header and b"GNU.sparse" in packed.read(size):
            raise ValueError("it has sparse files")
        at += BLOCK + -(-size // BLOCK) * BLOCK
    packed.seek(0)


def extract(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive below a folder. Raise TarError for links, devices, and paths that lead out of it.

    `tarfile` has a filter for this, but not in Python 3.11.2, which Debian 12 has.
    """
    root = Path(os.path.abspath(folder))
    for member in archive:
        path = Path(os.path.normpath(root / member.name))
        content = archive.extractfile(member) if member.isreg() else None
        if not path.is_relative_to(root) or (content is None and not member.isdir()):
            raise tarfile.TarError(f"{member.name!r} is no plain file of the archive's own folder")
        (path if content is None else path.parent).mkdir(parents=True, exist_ok=True)
        if content is not None:
            with content, path.open("wb") as file:
                copyfileobj(content, file)
