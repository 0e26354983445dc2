"""The CPU time and the memory of another process, as the system counts them."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from benchmarks import HAD_ONE_THREAD, ONE_THREAD

IS_COUNTED = sys.platform == "linux"
"""Whether the system tells about other processes: Linux does, macOS does not."""
NOT_COUNTED = "the server's CPU time and memory: only Linux tells them of another process"


class Spent(NamedTuple):
    """The seconds of an action: on the clock, and of CPU; the latter is None where it is not counted."""

    wall: float
    cpu: float | None


def cpu_seconds(process: int) -> float | None:
    """Return the CPU time of all threads of a process, in steps of a nanosecond.

    It is the sum of `/proc/PID/task/*/schedstat` and of the threads that have ended, which that folder forgets.
    """
    # The clock's number is made as in the C library's clock_getcpuclockid.
    return time.clock_gettime(~process << 3 | 2) if IS_COUNTED else None


def children_cpu_seconds(process: int) -> float | None:
    """Return the CPU time of the children of a process that have ended, in steps of a hundredth of a second."""
    if not IS_COUNTED:
        return None
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def _with_children(process: int) -> float | None:
    own = cpu_seconds(process)
    # Of its own children, a process is told in microseconds.
    children = _children() if process == os.getpid() else children_cpu_seconds(process)
    return None if own is None or children is None else own + children


def memory(process: int) -> int | None:
    """Return the bytes that a process holds in memory now."""
    return _status(process, "VmRSS")


def peak_memory(process: int) -> int | None:
    """Return the most bytes that a process held in memory since `forget_peak`."""
    return _status(process, "VmHWM")


def forget_peak(process: int) -> None:
    """Have the system count the peak from now on."""
    with suppress(OSError):
        Path(f"/proc/{process}/clear_refs").write_text("5")


def spend(process: int, action: Callable[[], object], times: int = 1) -> Spent:
    """Return what an action cost a process and its children that have ended, for one of so many times."""
    before, began = _with_children(process), time.perf_counter()
    for _ in range(times):
        action()
    wall, after = time.perf_counter() - began, _with_children(process)
    return Spent(wall / times, None if before is None or after is None else (after - before) / times)


def environment_of_users() -> dict[str, str]:
    """Return the environment of commands and servers: this one, without what only this process needs.

    Settings of whoever runs this are left out, too: they must not lead to a database that is theirs.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GAINBOARD_")}
    if not HAD_ONE_THREAD:
        kept.pop(ONE_THREAD, None)
    return kept


def run_command(command: Sequence[str]) -> Spent:
    """Return what a command cost, its own children included. Raises CalledProcessError if it fails."""
    before, began, environment = _children(), time.perf_counter(), environment_of_users()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return Spent(time.perf_counter() - began, _children() - before)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _status(process: int, name: str) -> int | None:
    if not IS_COUNTED:
        return None
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith(f"{name}:"))
    return int(line.split()[1]) << 10
