"""Objects: the content of files, kept outside of the database in a folder or in an S3-compatible store."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

from gainboard.errors import BadSetting, NoSpace, ObjectsUnreachable
from gainboard.store import machine

if TYPE_CHECKING:
    from obstore.store import ClientConfig, RetryConfig

EXAMPLES: Final = "s3://bucket/gainboard or file:///srv/gainboard-files"
_PIECE_BYTES = 4 << 20
# Whoever gives an address without TLS wants it, and a bucket in the same network often has no other.
_PATIENCE: ClientConfig = {"connect_timeout": "5s", "timeout": "60s", "allow_http": True}
_TRIES: RetryConfig = {"max_retries": 3}

log = logging.getLogger("gainboard")


class Objects:
    """A folder or a bucket. Each object is written once, under a name that is never used again.

    Its methods raise ObjectsUnreachable. The credentials of a bucket come from the usual `AWS_...` variables.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self.folder: Path | None = None
        """The folder, or None for a bucket."""
        parts = urlsplit(address)
        if parts.scheme == "file" and not parts.netloc and len(parts.path) > 1:
            self.folder = Path(unquote(parts.path))
        elif parts.scheme != "s3" or not parts.netloc:
            raise BadSetting(f"The address of files outside of the database is invalid. Valid ones are {EXAMPLES}")
        try:
            from obstore.store import LocalStore, S3Store  # noqa: PLC0415 (an optional extra)
        except ModuleNotFoundError as error:
            raise BadSetting(
                f"The extra for files outside of the database is missing ({error}). Install it, in the folder of "
                "Gainboard's source: pip install '.[objects]'"
            ) from error
        with _unusable(address):
            if self.folder:
                machine.make_private_folder(self.folder)
            self._store: LocalStore | S3Store = (
                LocalStore(self.folder)
                if self.folder
                else S3Store.from_url(address, client_options=_PATIENCE, retry_config=_TRIES)
            )

    def put(self, name: str, content: IO[bytes] | bytes) -> None:
        """Write an object. It is there as a whole, and on the disk, or not at all."""
        from obstore import put  # noqa: PLC0415

        with _translated(name):
            if self.folder:
                _write(self.folder / name, content)
            else:
                put(self._store, name, content, max_concurrency=2)

    def get(self, name: str) -> Iterator[bytes]:
        """Yield the content, in pieces of a few MiB."""
        from obstore import get  # noqa: PLC0415

        with _translated(name):
            # A named pipe in its place would never yield anything.
            if self.folder and not (self.folder / name).is_file():
                raise FileNotFoundError(name)
            for piece in get(self._store, name).stream(_PIECE_BYTES):
                yield bytes(piece)

    def delete(self, names: Iterable[str]) -> None:
        """Delete these objects; an object that does not exist is deleted already."""
        from obstore import delete  # noqa: PLC0415

        for name in names:
            with _translated(name), suppress(FileNotFoundError):
                delete(self._store, name)


@contextmanager
def _unusable(address: str) -> Iterator[None]:
    try:
        yield
    # A wrong address or configuration has several classes, and some are built-in.
    except Exception as error:
        raise BadSetting(f"Cannot keep files in {address}: {error}") from error


@contextmanager
def _translated(name: str) -> Iterator[None]:
    from obstore.exceptions import BaseError  # noqa: PLC0415

    try:
        yield
    except FileNotFoundError as error:
        log.error("the object %s is missing in the store of files", name)
        raise ObjectsUnreachable("The content of this file is missing in the store of files.") from error
    except (BaseError, OSError) as error:
        if isinstance(error, OSError) and (refusal := NoSpace.of(error)) is not None:
            raise refusal from error
        # The message may contain hosts and keys. It belongs into the log, not into an answer.
        log.warning("the store of files did not answer: %s", str(error).partition("\n")[0])
        raise ObjectsUnreachable("The store of files did not answer. Nothing was stored. Try again shortly.") from error


def _write(path: Path, content: IO[bytes] | bytes) -> None:
    # What a dead process leaves is an orphan: its name is recorded, and nothing refers to it yet. obstore would leave a
    # file whose name nobody knows, and cannot close files to others.
    machine.make_private_folder(path.parent)
    machine.make_private_file(path)
    try:
        with path.open("r+b") as file:
            shutil.copyfileobj(BytesIO(content) if isinstance(content, bytes) else content, file, _PIECE_BYTES)
            file.flush()
            # Otherwise, after a power failure, the database might refer to a file whose content was never written.
            os.fsync(file.fileno())
        # The folder has the file's name, which a power failure could take, too.
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
