"""Work in a process of its own, so that the server's process stays free for other requests.

    python -m gainboard.evaluation.apart

It reads one `Task` from standard input, pickled, and answers with one outcome on standard output. The end of standard
input means that the server has ended, or no longer waits. Then this process ends at once.
"""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from gainboard import children
from gainboard.errors import OutOfMemory
from gainboard.trec import READING

NICENESS = 5
"""Large uploads have a lower priority than requests."""

T = TypeVar("T")


@dataclass(frozen=True)
class Task:
    """A function of the package, and its arguments. `compiled` says whether the compiled reader is used."""

    function: Callable[..., Any]
    arguments: Sequence[Any]
    compiled: bool


def apart(function: Callable[..., T], *arguments: Any, files: Sequence[int] = ()) -> T:
    """Return what the function returns in another process, or raise what it raises.

    `files` are descriptors that this process shares with the other one, under the same numbers. Raise OutOfMemory if
    the other process was killed, which the system does if memory is short.
    """
    task = pickle.dumps(Task(function, arguments, READING.get() is not None))
    with _started(files) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(task)
            process.stdin.flush()
            answer = process.stdout.read()
        except BrokenPipeError:
            answer = b""
        finally:
            process.kill()  # it has answered, or nobody waits for it
    if not answer:
        raise OutOfMemory(
            "The server stopped reading this file, probably because memory ran out. Nothing was stored. Send the file "
            "again later."
        )
    value, error = pickle.loads(answer)
    if error is not None:
        raise error
    returned: T = value
    return returned


def _started(files: Sequence[int]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        children.command("gainboard.evaluation.apart"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=children.environment(),
        pass_fds=files,
        start_new_session=True,  # Ctrl+C in a terminal is for the server
    )


def main() -> None:
    """Do one task."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a service manager may send it to all processes; the server decides
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever a library prints must not get into the answer
    task: Task = pickle.load(sys.stdin.buffer)
    Thread(target=_end_with_server, daemon=True).start()
    os.nice(NICENESS)
    if task.compiled:
        READING.load()
    with answers:
        answers.write(_done(task))


def _end_with_server() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


def _done(task: Task) -> bytes:
    try:
        return pickle.dumps((task.function(*task.arguments), None))
    except Exception as error:  # noqa: BLE001 (the server raises it)
        return pickle.dumps((None, error))


if __name__ == "__main__":
    main()
