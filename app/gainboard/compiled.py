"""The one switch of the `fast` extra: functions compiled by numba beside plain code that means the same.

A leaf that every ring may import. Who has a compiled twin of something writes

    def _load() -> Callable[[Bytes], int]:
        from gainboard.trec import kernels  # the only import of a module that uses `njit`

        kernels.count(np.zeros(1, np.uint8))  # compiles for these types, or loads what an earlier start compiled
        return kernels.count

    COUNT = Twin("counting", _load, kernels="gainboard.trec.kernels")

and asks `COUNT.get()` at each use: None means that the plain code serves, be it because the extra is not installed,
it is switched off, nothing was loaded yet, or the compiler failed. No request ever waits for it. Processes that
nobody told to `start`, as those of jobs, are plain. A function's cache is renewed when its own file changes and no
other, so all that a kernel calls stands in its file.

What is not compiled yet is compiled by a child process, which ends with the time and memory that it takes; this
process then loads what the child has kept. A file beside what was compiled says that there is nothing to compile.
"""

from __future__ import annotations

import logging
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

logger = logging.getLogger("gainboard.compiled")


class Twin(Generic[T]):
    """What is compiled of one thing, once it is loaded; `load` imports, compiles and returns it."""

    every: list[Twin[Any]] = []  # noqa: RUF012 (of the class: all that there are)

    def __init__(self, name: str, load: Callable[[], T], *, kernels: str) -> None:
        """`kernels` is the module of all that is compiled."""
        self.name = name
        self.kernels = kernels
        self.module = load.__module__
        self._load = load
        self._loaded: T | None = None
        self._lock = Lock()
        Twin.every.append(self)

    def get(self) -> T | None:
        """The compiled twin; None where the plain code serves."""
        return self._loaded

    def load(self) -> T:
        """Compiles it, or loads what an earlier process compiled. Raises whatever goes wrong."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def unload(self) -> None:
        """Goes back to the plain code."""
        self._loaded = None


def njit(function: F) -> F:
    """numba's decorator: compiled, kept on disk, and run without the interpreter's lock."""
    from numba import njit as decorator  # noqa: PLC0415

    compiled: F = decorator(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def names() -> list[str]:
    """Of all twins."""
    return [twin.name for twin in Twin.every]


def loaded() -> dict[str, bool]:
    """Of each twin, whether it is loaded."""
    return {twin.name: twin.get() is not None for twin in Twin.every}


def is_installed() -> bool:
    """Whether the `fast` extra is."""
    return find_spec("numba") is not None


def is_ready() -> bool:
    """Whether every twin is loaded."""
    return all(twin.get() is not None for twin in Twin.every)


def is_warm(folder: Path | None) -> bool:
    """Whether all that the twins compile has been compiled into the folder, so that loading it takes a second."""
    return is_installed() and _mark(folder).exists()


def warm(folder: Path | None) -> None:
    """Loads every twin, compiled into a folder; numba's own choice without one. Raises whatever goes wrong."""
    _keep_in(folder)
    for twin in Twin.every:
        twin.load()
    with suppress(OSError):  # without the mark, the next process asks a child again
        _mark(folder).touch()


def start(folder: Path | None) -> Thread | None:
    """Loads every twin in the background, after a child process has compiled what is not compiled yet.

    A twin that fails is logged, and its plain code goes on serving.
    """
    if not is_installed():
        logger.info("the fast extra is not installed: the plain code serves")
        return None
    thread = Thread(target=_load_all, args=(folder,), name="compiled", daemon=True)
    thread.start()
    return thread


def _load_all(folder: Path | None) -> None:
    steps = [] if is_warm(folder) else [lambda: _compile_apart(folder)]
    for step in (*steps, lambda: _keep_in(folder), *(twin.load for twin in Twin.every)):
        try:
            step()
        except Exception as error:  # noqa: BLE001 (the compiler may fail in any way; nothing depends on it)
            logger.warning("not compiled, the plain code serves: %s: %s", type(error).__name__, error)


def _compile_apart(folder: Path | None) -> None:
    modules = [twin.module for twin in Twin.every]
    command = [sys.executable, "-m", __name__, str(folder or ""), *modules]
    # The child reads a pipe that ends with this process, and ends then as well.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as child:
        assert child.stderr is not None
        said = child.stderr.read().decode(errors="replace").strip()
    if child.returncode:
        logger.warning("the process that compiles has failed: %s", said.rpartition("\n")[2])


def _keep_in(folder: Path | None) -> None:
    import numba  # noqa: PLC0415

    if folder is not None and not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(folder)


def _mark(folder: Path | None) -> Path:
    """The file that says that all of this is compiled: by this compiler, for this processor, of these sources."""
    sources = [Path(spec.origin) for twin in Twin.every if (spec := find_spec(twin.kernels)) and spec.origin]
    what = (version("numba"), sys.version, platform.processor(), platform.machine())
    stamps = [(str(source), source.stat().st_mtime_ns, source.stat().st_size) for source in sources]
    name = sha256(repr((what, stamps)).encode()).hexdigest()[:16]
    return (folder or Path(__file__).parent / "__pycache__") / f"compiled-{name}"


def _end_with_parent() -> None:
    os.read(0, 1)  # not sys.stdin, whose lock would be missed at the end
    os._exit(1)


def _main(folder: str, modules: Sequence[str]) -> None:
    os.nice(10)  # those who are served come first
    Thread(target=_end_with_parent, daemon=True).start()
    for module in modules:
        import_module(module)
    import_module("gainboard.compiled").warm(Path(folder) if folder else None)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
