"""The intake of an uploaded file: read as a stream, hashed and, unless it is well compressed, compressed in one pass.

A large file is read in a process of its own, because the reader keeps the server's process busy.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from os import SEEK_END
from pathlib import Path
from tempfile import SpooledTemporaryFile
from threading import Thread
from typing import IO, Any, BinaryIO, NamedTuple, TypeVar, cast

from gainboard import acceleration, children
from gainboard.acceleration import serving
from gainboard.errors import OutOfMemory
from gainboard.evaluation.runs.run_files import Chunks
from gainboard.store.blobs import Content, prepared
from gainboard.store.database import Database
from gainboard.trec import READING, FileLimits, decompress_body, is_compressed
from gainboard.trec.bodies import ZSTD, Packing, ZstdCompressor

NICENESS = 5
"""Large uploads have a lower priority than requests."""
LOOK_SECONDS = 0.2
"""The seconds between two looks at whether an answer is still wanted."""


@dataclass(frozen=True)
class Task:
    """A function of the package, and its arguments.

    `compiled` says whether the compiled reader is used, and `compiled_in` is its folder (`acceleration.kept_in`).
    """

    function: Callable[..., Any]
    arguments: Sequence[Any]
    compiled: bool
    compiled_in: Path | None = None


class ChildOutcome(NamedTuple):
    """A result or else an error; `uncompiled` says why the compiled reader, if it was asked for, was not used."""

    value: Any
    error: Exception | None
    uncompiled: str


def apart(
    function: Callable[..., T],
    *arguments: Any,
    files: Sequence[int] = (),
    require_client: Callable[[], None] = lambda: None,
) -> T:
    """Return what the function returns in another process, or raise what it raises.

    `files` are descriptors that this process shares with the other one, under the same numbers. `require_client` is
    asked again and again: what it raises ends the other process, and is raised. Raise OutOfMemory if the other process
    was killed, which the system does if memory is short, and RuntimeError if it ended otherwise.
    """
    task = Task(function, arguments, READING.get() is not None, acceleration.kept_in())
    outcome = ChildOutcome(*_answer(pickle.dumps(task), files, require_client))
    if outcome.uncompiled and READING.get() is not None:
        # Here, too, so that no later process tries the same again.
        serving.give_up([READING], outcome.uncompiled)
    if outcome.error is not None:
        raise outcome.error
    returned: T = outcome.value
    return returned


def _answer(task: bytes, files: Sequence[int], require_client: Callable[[], None]) -> tuple[Any, ...]:
    with _started(files) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # The process has ended already; its answer, or the lack of one, says why.
            with suppress(BrokenPipeError):
                process.stdin.write(task)
                process.stdin.flush()
            while not wait([process.stdout.fileno()], LOOK_SECONDS):
                require_client()
            answer = process.stdout.read()
            if not answer:
                raise _failure(process.wait())
        finally:
            # It has answered, or nobody waits for it.
            process.kill()
            # Closing would send the rest of a task that the process did not read.
            with suppress(BrokenPipeError):
                process.stdin.close()
    # Our own module has pickled this. What the file contained is data in it, and never a pickle.
    outcome: tuple[Any, ...] = pickle.loads(answer)
    return outcome


def _failure(code: int) -> Exception:
    """Return the error for a process that has ended without an answer."""
    # The kernel sends it when memory runs out.
    if code == -signal.SIGKILL:
        return OutOfMemory(
            "The server stopped reading this file, probably because memory ran out. Nothing was stored. Send the file "
            "again later."
        )
    return RuntimeError(
        f"The process that reads large files has ended without an answer ({children.ending(code)}). What it said on "
        "standard error is above."
    )


def _started(files: Sequence[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        children.command("gainboard.evaluation.runs.intake"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=children.environment(),
        pass_fds=files,
        # Ctrl+C in a terminal is for the server.
        start_new_session=True,
    )


def main() -> None:
    """Do one task."""
    # A service manager may send it to all processes, and the server decides how they end.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    # Whatever a library prints must not get into the answer.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    os.nice(NICENESS)
    task: Task = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_server, daemon=True).start()
    uncompiled = ""
    try:
        uncompiled = _why_uncompiled(task)
        outcome = ChildOutcome(task.function(*task.arguments), None, uncompiled)
    except Exception as error:  # noqa: BLE001 (the server raises it)
        error.add_note(f"In the process that reads large files:\n{traceback.format_exc()}")
        outcome = ChildOutcome(None, error, uncompiled)
    # A plain tuple, because this module has another name here.
    try:
        packed = pickle.dumps(tuple(outcome))
    # There was room for what was made, but not for its copy.
    except MemoryError as error:
        packed = pickle.dumps((None, error, outcome.uncompiled))
    with answers:
        answers.write(packed)


def _end_with_server() -> None:
    # Not by sys.stdin, whose lock may be held when the interpreter ends.
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


def _why_uncompiled(task: Task) -> str:
    """Load the compiled reader if the task asks for it. Return why that failed, or an empty text."""
    if task.compiled:
        try:
            acceleration.load(task.compiled_in, [READING])
        except MemoryError:
            raise
        except Exception as error:  # noqa: BLE001 (numba may fail in any way; the plain reader reads the same)
            return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    main()


COMPRESSION_LEVEL = 1
"""The level of zstd. On run files it is faster than the default of 3, and the result is no larger."""

WELL_PACKED = 0.4
"""A body is stored as it was sent if it is one zstd frame of at most this share of its content. Level 1 makes 0.22 to
0.34 of a run."""

LARGE_BYTES = 16 << 20
LARGE_COMPRESSED_BYTES = 4 << 20
"""A body larger than this is read in a process of its own; most compressed files become five times as large."""
HEAD_BYTES = 16
"""So many bytes tell whether a file is compressed, and how."""

IN_MEMORY_BYTES = 8 << 20
"""A body larger than this is kept on disk, so that memory does not grow with uploads."""


T = TypeVar("T")


@dataclass
class Body:
    """The bytes that arrived: a file that can be read again from its start, and its declared compression."""

    file: BinaryIO
    encoding: str | None = None

    @property
    def size(self) -> int:
        return self.file.seek(0, SEEK_END)

    @property
    def is_large(self) -> bool:
        """True if it is to be read in a process of its own."""
        self.file.seek(0)
        compressed = is_compressed(self.file.read(HEAD_BYTES), self.encoding)
        return self.size > (LARGE_COMPRESSED_BYTES if compressed else LARGE_BYTES)


class Intake:
    """One uploaded file. `chunks` yields its content; hash and size are known after the last chunk.

    This is a context manager. At its end it deletes the compressed copy, which `prepared` needs unless the body is
    stored as it was sent: to compress a large run again would take as long as to read it.
    """

    def __init__(self, body: Body, limits: FileLimits, compressed: IO[bytes] | None = None) -> None:
        self._body = body
        self._limits = limits
        self._compressed = compressed or cast(IO[bytes], SpooledTemporaryFile(max_size=IN_MEMORY_BYTES))  # noqa: SIM115
        self.sha256, self.size, self.is_sent_stored = "", 0, False

    def __enter__(self) -> Intake:
        return self

    def __exit__(self, *exception: object) -> None:
        self._compressed.close()

    def chunks(self) -> Iterator[bytes]:
        """Yield the decompressed content from its start; a second call begins again."""
        packing, digest, self.size = Packing(), hashlib.sha256(), 0
        content = self._content(packing)
        may_be_stored = packing.codec == ZSTD.name
        # A second reading begins anew, for example by the plain reader once the compiled one has given up.
        self._compressed.seek(0)
        self._compressed.truncate()
        for chunk in content if may_be_stored else self._compressing(content):
            digest.update(chunk)
            self.size += len(chunk)
            yield chunk
        self.sha256 = digest.hexdigest()
        self.is_sent_stored = may_be_stored and packing.members == 1 and self._body.size <= WELL_PACKED * self.size
        if may_be_stored and not self.is_sent_stored:
            # Only now it is known that the body is not compressed well enough to be stored as it was sent.
            deque(self._compressing(self._content()), maxlen=0)

    def _content(self, packing: Packing | None = None) -> Iterator[bytes]:
        self._body.file.seek(0)
        return decompress_body(self._body.file, self._body.encoding, self._limits, packing)

    def _compressing(self, content: Iterator[bytes]) -> Iterator[bytes]:
        compressor = ZstdCompressor(COMPRESSION_LEVEL)
        for chunk in content:
            self._compressed.write(compressor.compress(chunk))
            yield chunk
        self._compressed.write(compressor.flush())

    def read(self, task: Callable[[Chunks], T]) -> T:
        """Return what a function makes of the content. A large body is read in a process of its own.

        The function and what it returns must be picklable.
        """
        if not self._body.is_large:
            return task(self.chunks)
        # To ask for a descriptor moves a file from memory to the disk, where the other process can read it.
        files = self._body.file.fileno(), self._compressed.fileno()
        content: T
        content, self.sha256, self.size, self.is_sent_stored = apart(
            _read_there, task, *files, self._body.encoding, self._limits, files=files
        )
        return content

    def prepared(self, database: Database) -> AbstractContextManager[Content]:
        """Return a context around the transaction that stores the content."""
        stored = self._body.file if self.is_sent_stored else self._compressed
        return prepared(database, self.sha256, self.size, stored)


def read_by(reader: Callable[..., T], chunks: Chunks, **options: Any) -> T:
    """Return what a reader makes of the content; a task for `Intake.read`, once all but the chunks is bound."""
    return reader(chunks(), **options)


def _read_there(
    task: Callable[[Chunks], T], body: int, compressed: int, encoding: str | None, limits: FileLimits
) -> tuple[T, str, int, bool]:
    """Read a body in another process, from a descriptor; leave its compressed copy in the other descriptor."""
    with os.fdopen(body, "rb") as file, Intake(Body(file, encoding), limits, os.fdopen(compressed, "w+b")) as intake:
        return task(intake.chunks), intake.sha256, intake.size, intake.is_sent_stored
