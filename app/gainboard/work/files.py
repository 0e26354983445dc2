"""The files of a result: written by its worker as they are made, and read as they are stored."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterable, Iterator

from gainboard.errors import Unexpected
from gainboard.evaluation.workspace import Workspace
from gainboard.store import claims, files
from gainboard.store.blobs import PART_BYTES
from gainboard.store.database import Transaction
from gainboard.store.files import GZIP
from gainboard.store.job_records import Claim, StoredFile, StoredJob

LEVEL = 4
"""The level of compression. Of a table of pairs, level 1 leaves 6 % more, and level 6 takes 2.6 times as long."""
MOST_WAITING = 8 << 20
"""The bytes that may wait for the transaction that ends the job. More are written before it, which nobody waits for."""


class ClaimLost(Exception):
    """Somebody else works the chunk now, or nobody wants it any more. Workers catch it, and go on to the next chunk."""


class FileWriter:
    """Writes the files of one job, for the holder of the claim on its last chunk.

    Each is compressed while it is made and written part by part, so that it may be larger than memory. Nobody sees
    one of them before `keep`.
    """

    def __init__(self, workspace: Workspace, claim: Claim) -> None:
        self._workspace, self._claim = workspace, claim
        self._waiting: list[tuple[str, int, bytes]] = []
        self._files: list[StoredFile] = []
        self._is_begun = False

    def write(self, path: str, pieces: Iterable[bytes], *, is_compressed: bool = False) -> None:
        """Write a file. Raises ClaimLost where a worker that was slow is no longer wanted."""
        sha256, size = hashlib.sha256(), 0
        for position, part in enumerate(_parts(pieces, sha256.update, 0 if is_compressed else LEVEL)):
            self._waiting.append((path, position, part))
            size += len(part)
            if sum(len(data) for _, _, data in self._waiting) > MOST_WAITING:
                self._flush()
        self._files.append(StoredFile(self._claim.job_number, path, sha256.hexdigest(), size))

    def _flush(self) -> None:
        with self._workspace.database.writing() as tx:
            if not claims.holds(tx, self._claim):
                raise ClaimLost
            self._write(tx)

    def _write(self, tx: Transaction) -> None:
        if not self._is_begun:
            # A worker who died over the same chunk may have left some.
            files.clear(tx, self._claim.job_number)
            self._is_begun = True
        for path, position, data in self._waiting:
            files.add_part(tx, self._claim.job_number, path, position, data)
        self._waiting.clear()

    def keep(self, tx: Transaction) -> None:
        """Complete all files in the transaction that ends the job; the claim holds."""
        self._write(tx)
        files.add(tx, self._files)


def _parts(pieces: Iterable[bytes], note: Callable[[bytes], None], level: int) -> Iterator[bytes]:
    """Return what the pieces come to as gzip, in parts of `PART_BYTES`; `note` is told each piece."""
    compressor, held = zlib.compressobj(level, wbits=GZIP), bytearray()
    for piece in pieces:
        note(piece)
        held += compressor.compress(piece)
        while len(held) >= PART_BYTES:
            yield bytes(held[:PART_BYTES])
            del held[:PART_BYTES]
    yield bytes(held) + compressor.flush()


def find_file(workspace: Workspace, maker: StoredJob, path: str) -> StoredFile | None:
    """Return the file of this path that a job has made, or None."""
    with workspace.database.reading() as tx:
        return files.find(tx, maker.number, path)


def packed_file(workspace: Workspace, file: StoredFile) -> Iterator[bytes]:
    """Return the file as gzip, part by part."""
    return files.get(workspace.database, file)


def read_file(workspace: Workspace, file: StoredFile) -> Iterator[bytes]:
    """Return the content of the file, in pieces of at most `PART_BYTES`."""
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
        # Whoever reads it sees a broken stream, not a shorter file.
        raise Unexpected(f"The stored file {file.path} of job number {file.job_number} is cut off.")
