"""The files of a result. A worker writes them while it makes them, and they are read in their stored form."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from gainboard.errors import Unexpected
from gainboard.evaluation.workspace import Workspace
from gainboard.store import claims, files
from gainboard.store.blobs import PART_BYTES
from gainboard.store.database import Transaction
from gainboard.store.files import GZIP
from gainboard.store.job_records import Claim, StoredFile, StoredJob

LEVEL = 4
"""The level of compression. For a table of pairs, level 1 leaves 6 % more bytes, and level 6 takes 2.6 times as long.
"""
MOST_WAITING = 8 << 20
"""The bytes that may wait for the transaction that ends the job. More bytes are written earlier, so that this
transaction is short.
"""


class ClaimLost(Exception):
    """An error that tells a worker that another worker has its chunk, or that the job is over.

    It takes the next chunk.
    """


class Writer(Protocol):
    """A writer of files of a result, such as `FileWriter`."""

    def write(self, path: str, pieces: Iterable[bytes], *, is_compressed: bool = False) -> None:
        """Write a file."""


class FileWriter:
    """A writer of the files of one job, for the worker that holds the claim on its last chunk.

    Each file is compressed while it is made, and written part by part, so it may be larger than memory. Nobody sees the
    files before `keep`.
    """

    def __init__(self, workspace: Workspace, claim: Claim) -> None:
        self._workspace, self._claim = workspace, claim
        self._waiting: list[tuple[str, int, bytes]] = []
        self._files: list[StoredFile] = []
        self._is_begun = False

    def write(self, path: str, pieces: Iterable[bytes], *, is_compressed: bool = False) -> None:
        """Write a file. Raise ClaimLost if this worker was slow and has lost its claim."""
        sha256, size = hashlib.sha256(), 0
        # All files are gzip, so content that is compressed already is only wrapped: level 0.
        for position, part in enumerate(_parts(pieces, sha256.update, 0 if is_compressed else LEVEL)):
            self._waiting.append((path, position, part))
            size += len(part)
            if sum(len(data) for _, _, data in self._waiting) > MOST_WAITING:
                with self._workspace.database.writing() as tx:
                    if not claims.holds(tx, self._claim):
                        raise ClaimLost
                    self._write(tx)
        self._files.append(StoredFile(self._claim.job_number, path, sha256.hexdigest(), size))

    def _write(self, tx: Transaction) -> None:
        if not self._is_begun:
            # A worker that died over the same chunk may have left parts of it.
            files.clear(tx, self._claim.job_number)
            self._is_begun = True
        for path, position, data in self._waiting:
            files.add_part(tx, self._claim.job_number, path, position, data)
        self._waiting.clear()

    def keep(self, tx: Transaction) -> None:
        """Complete all files in the transaction that ends the job. The claim is still held then."""
        self._write(tx)
        files.add(tx, self._files)


def _parts(pieces: Iterable[bytes], note: Callable[[bytes], None], level: int) -> Iterator[bytes]:
    """Yield the pieces as gzip, in parts of `PART_BYTES`. `note` gets each piece."""
    compressor, held = zlib.compressobj(level, wbits=GZIP), bytearray()
    for piece in pieces:
        note(piece)
        held += compressor.compress(piece)
        while len(held) >= PART_BYTES:
            yield bytes(held[:PART_BYTES])
            del held[:PART_BYTES]
    yield bytes(held) + compressor.flush()


def write_parts(tx: Transaction, job_number: int, path: str, pieces: Iterable[bytes]) -> StoredFile:
    """Write a file of a job that is over already, and return it for `files.add`."""
    sha256, size = hashlib.sha256(), 0
    for position, part in enumerate(_parts(pieces, sha256.update, LEVEL)):
        files.add_part(tx, job_number, path, position, part)
        size += len(part)
    return StoredFile(job_number, path, sha256.hexdigest(), size)


def find_file(workspace: Workspace, maker: StoredJob, path: str) -> StoredFile | None:
    """Return the file with this path that a job has made, or None."""
    with workspace.database.reading() as tx:
        return files.find(tx, maker.number, path)


def packed_file(workspace: Workspace, file: StoredFile) -> Iterator[bytes]:
    """Yield the file as gzip, part by part."""
    return files.get(workspace.database, file)


def read_file(workspace: Workspace, file: StoredFile) -> Iterator[bytes]:
    """Yield the content of the file, in pieces of at most `PART_BYTES`."""
    decompressor = zlib.decompressobj(GZIP)
    for part in packed_file(workspace, file):
        data = part
        while data:
            if piece := decompressor.decompress(data, PART_BYTES):
                yield piece
            data = decompressor.unconsumed_tail
    if rest := decompressor.flush():
        yield rest
    if not decompressor.eof:
        # An error here breaks the connection. Without it, the reader would get a shorter file that looks complete.
        raise Unexpected(
            f"The stored file {file.path} of job number {file.job_number} is incomplete. Run `gainboard doctor "
            "--thorough`."
        )
