"""One task for each of many files, in as many processes as there are cores."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gainboard.cli.progress import ProgressLine
from gainboard.errors import BadSetting

T = TypeVar("T")
LOOK_SECONDS = 0.1
"""Seconds between two updates of the progress."""
WORTH_PROCESSES = 8 << 20
"""The size of files, in bytes, from which processes save more time than their start takes."""


class Count(Protocol):
    """A count of bytes, which grows while files are read."""

    value: int


@dataclass
class PlainCount:
    """A count within this process."""

    value: int = 0


class _ShownCount:
    """A count that is shown whenever it changes."""

    def __init__(self, progress: ProgressLine, total: int) -> None:
        self._progress, self._total, self._value = progress, total, 0

    @property
    def value(self) -> int:
        return self._value

    @value.setter
    def value(self, value: int) -> None:
        self._value = value
        self._progress.at(value, self._total)


FileTask = Callable[[str, Count], T]
"""A task for the file of a name, which counts the bytes that it reads. The task and its results can be pickled."""


def process_files(work: FileTask[T], names: Sequence[str], *, label: str, size: int, processes: int) -> list[T]:
    """Return the results of a task for each file, in the order of the names; `size` is their total size.

    Show progress.
    """
    with ProgressLine(label, "B") as progress:
        if processes > 1:
            return _in_processes(work, names, progress, size, processes)
        count = _ShownCount(progress, size)
        return [work(name, count) for name in names]


def _in_processes(
    work: FileTask[T], names: Sequence[str], progress: ProgressLine, size: int, processes: int
) -> list[T]:
    import multiprocessing  # noqa: PLC0415 (these take a tenth of the time of a small file)
    from concurrent.futures import BrokenExecutor, ProcessPoolExecutor, wait  # noqa: PLC0415

    # Two processes that add at the same time may lose some bytes of the count, which only shows progress.
    count: Any = multiprocessing.Value("q")
    with ProcessPoolExecutor(processes, initializer=_begin, initargs=(work, count)) as pool:
        waiting = [pool.submit(_do, name) for name in names]
        try:
            while wait(waiting, LOOK_SECONDS).not_done:
                progress.at(count.value, size)
            return [future.result() for future in waiting]
        except BrokenExecutor as error:
            raise BadSetting(
                "A process that read files was stopped from outside, most likely because memory ran out. Read fewer "
                "files at once."
            ) from error
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # nobody waits for the other files
            raise


def choose_processes(names: Sequence[str], size: int) -> int:
    """Return the best number of processes to read these files, of `size` bytes together."""
    if size < WORTH_PROCESSES or not all(
        map(os.path.isfile, names)
    ):  # standard input cannot be handed to another process
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, len(names))


_work: FileTask[Any]
_count: Count


def _begin(work: FileTask[Any], count: Any) -> None:
    global _work, _count
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a terminal interrupts the whole group, and one traceback is enough
    _work, _count = work, count


def _do(name: str) -> Any:
    return _work(name, _count)
