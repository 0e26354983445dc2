"""The reading of large uploads in a process of its own, because the reader keeps the server's process busy."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TypeVar

from gainboard import acceleration, children
from gainboard.acceleration import serving
from gainboard.errors import OutOfMemory
from gainboard.trec import READING

T = TypeVar("T")
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
        children.command("gainboard.evaluation.runs.apart"),
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
    outcome = _done(task)
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


def _done(task: Task) -> ChildOutcome:
    uncompiled = ""
    try:
        uncompiled = _why_uncompiled(task)
        return ChildOutcome(task.function(*task.arguments), None, uncompiled)
    except Exception as error:  # noqa: BLE001 (the server raises it)
        error.add_note(f"In the process that reads large files:\n{traceback.format_exc()}")
        return ChildOutcome(None, error, uncompiled)


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
