"""Compiled code and memory in the processes of a server.

A server loads it in the background. A child process compiles first what is not compiled yet, so that the server does
not need the compiler's memory. A process that reads a large upload loads it from the same folder. Processes of jobs use
plain code, except that `load_noted` lets them read many files by compiled code.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import mmap
import os
import subprocess
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any

from gainboard import children
from gainboard.acceleration import NotCompiled, OptionalKernel, is_installed, load, warm

logger = logging.getLogger("gainboard.acceleration")

_noted: list[Path | None] = []


def note(folder: Path | None) -> None:
    """Note that an earlier process has compiled into this folder, or where numba chooses, for `load_noted`."""
    _noted[:] = [folder]


def load_noted(twins: Sequence[OptionalKernel[Any]]) -> None:
    """Load these twins if something was noted, once. It takes half a second, so call it before much work only."""
    if not _noted:
        return
    folder = _noted.pop()
    try:
        load(folder, twins)
    except Exception as error:  # noqa: BLE001 (numba may fail in any way; nothing depends on it)
        give_up(twins, f"{type(error).__name__}: {error}")


def give_up(twins: Sequence[OptionalKernel[Any]], why: str) -> None:
    """Return to the plain code of these twins, and log why."""
    for twin in twins:
        twin.unload()
    names = " and ".join(twin.name for twin in twins)
    logger.warning("compiled code cannot be loaded, so plain code is used for %s: %s", names, why)


def start(folder: Path | None) -> Thread | None:
    """Load every twin in the background. A child process first compiles what is not compiled yet.

    If a twin fails, that is logged and its plain code stays in use.
    """
    if not is_installed():
        logger.info("the fast extra is not installed: plain code is used.")
        return None
    thread = Thread(target=_load_all, args=(folder,), name="compiled", daemon=True)
    thread.start()
    return thread


def _load_all(folder: Path | None) -> None:
    if missing := _load_each(folder, OptionalKernel.every):
        failure = _compile_apart(folder)
        if left := _load_each(folder, missing):
            give_up(left, failure or "what was compiled cannot be found again")
    # numba has made 90,000 objects, which stay. A full collection that looks at them stops all threads for 40 ms.
    gc.freeze()
    _give_compiler_back()


def _give_compiler_back() -> None:
    """Return the memory that holds LLVM's own code, 50 MB of it, to the system: nothing is compiled here any more.

    It was read from a file and never written, so what is needed again after all is read again.
    """
    maps = Path("/proc/self/maps")
    if not maps.exists():  # only Linux tells
        return
    advise = ctypes.CDLL(None).madvise
    for line in maps.read_text(encoding="utf-8").splitlines():
        addresses, rights, *_ = line.split()
        if rights == "r-xp" and "/libllvmlite" in line:
            begin, end = (int(address, 16) for address in addresses.split("-"))
            advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)


def share_heaps() -> None:
    """Let the threads of this process share two heaps, and each heap keep what is free at its end, up to 16 MiB.

    Glibc gives each thread its own heap. It takes a large block from the system, and gives it back when it is free: the
    pages of the next block are then cleared again, which took 7 % of an upload.
    """
    _call_glibc("mallopt", _MOST_HEAPS, 2)
    _call_glibc("mallopt", _LEAST_OUTSIDE, 8 << 20)
    _call_glibc("mallopt", _MOST_KEPT, 16 << 20)


def give_memory_back() -> None:
    """Return all memory that is free to the system."""
    _call_glibc("malloc_trim", 0)


_MOST_KEPT, _LEAST_OUTSIDE, _MOST_HEAPS = -1, -3, -8
"""The numbers of glibc's parameters M_TRIM_THRESHOLD, M_MMAP_THRESHOLD and M_ARENA_MAX."""


def _call_glibc(name: str, *arguments: int) -> None:
    function = getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
    if function is not None:  # other libraries have other ways
        function(*arguments)


def _load_each(folder: Path | None, twins: Iterable[OptionalKernel[Any]]) -> list[OptionalKernel[Any]]:
    """Load twins, and return those that must be compiled first. Log any other failure: to compile would not help."""
    missing = []
    for twin in twins:
        try:
            load(folder, [twin])
        except NotCompiled:
            missing.append(twin)
        except Exception as error:  # noqa: BLE001 (numba may fail in any way; nothing depends on it)
            give_up([twin], f"{type(error).__name__}: {error}")
    return missing


def _compile_apart(folder: Path | None) -> str:
    """Compile in a child process. Return the last line of its error, or an empty text if it succeeds."""
    modules = [twin.module for twin in OptionalKernel.every]
    command = children.command(__name__, str(folder or ""), *modules)
    # The child reads a pipe that closes when this process ends, and then ends as well.
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=children.environment()
    ) as child:
        assert child.stderr is not None
        error = child.stderr.read().decode(errors="replace").strip()
    ended = f"the process that compiles has failed ({children.ending(child.returncode)})"
    return f"{ended}: {error.rpartition(chr(10))[2]}" if child.returncode else ""


def _end_with_parent() -> None:
    os.read(0, 1)  # not sys.stdin: its lock may be held when the interpreter ends
    os._exit(1)


def _main(folder: str, modules: Sequence[str]) -> None:
    os.nice(10)  # requests are more urgent than compiling
    Thread(target=_end_with_parent, daemon=True).start()
    for module in modules:
        # The import enters the module's kernels in `OptionalKernel.every`.
        import_module(module)
    warm(Path(folder) if folder else None)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
