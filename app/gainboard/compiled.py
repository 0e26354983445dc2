"""The one switch of the `fast` extra: functions compiled by numba, with plain code of the same meaning beside them.

Every ring may import this module. Code that has a compiled twin writes

    def _load() -> Callable[[Bytes], int]:
        from gainboard.trec import kernels  # the only import of a module that uses `njit`

        kernels.count(np.zeros(1, np.uint8))  # compiles for these types, or loads what an earlier start compiled
        return kernels.count

    COUNT = Twin("counting", _load, kernels="gainboard.trec.kernels")

and calls `COUNT.get()` at each use. None means that the plain code is used: the extra is not installed or is switched
off, nothing is loaded yet, or the compiler failed. No request ever waits for the compiler. Processes that never call
`start`, such as those of jobs, use plain code. numba renews a function's cache only when the function's own file
changes, so everything that a kernel calls is in the kernel's file.

A child process compiles what is not compiled yet, so that this process does not need the compiler's memory. This
process then loads the result from disk. A file beside the compiled code marks that nothing is left to compile.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread
from typing import Any, Generic, TypeVar

from gainboard import children

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

logger = logging.getLogger("gainboard.compiled")


class Twin(Generic[T]):
    """The compiled form of one function, once it is loaded. `load` imports, compiles and returns it."""

    every: list[Twin[Any]] = []  # noqa: RUF012 (of the class: all that there are)

    def __init__(self, name: str, load: Callable[[], T], *, kernels: str) -> None:
        """Remember how to load it; `kernels` is the module of all that is compiled."""
        self.name = name
        self.kernels = kernels
        self.module = load.__module__
        self._load = load
        self._loaded: T | None = None
        self._lock = Lock()
        Twin.every.append(self)

    def get(self) -> T | None:
        """Return the compiled twin, or None if the plain code is used."""
        return self._loaded

    def load(self) -> T:
        """Compile the twin, or load what an earlier process compiled. Raise any error of the compiler."""
        with self._lock:
            if self._loaded is None:
                self._loaded = self._load()
            return self._loaded

    def unload(self) -> None:
        """Return to the plain code."""
        self._loaded = None


def njit(function: F) -> F:
    """Decorate a function as numba does: compiled, kept on disk, and run without the interpreter's lock."""
    from numba import njit as decorator  # noqa: PLC0415

    compiled: F = decorator(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def names() -> list[str]:
    """Return the names of all twins."""
    return [twin.name for twin in Twin.every]


def loaded() -> dict[str, bool]:
    """Return whether each twin is loaded, by name."""
    return {twin.name: twin.get() is not None for twin in Twin.every}


def is_installed() -> bool:
    """Return whether the `fast` extra is installed."""
    return find_spec("numba") is not None


def is_ready() -> bool:
    """Return whether every twin is loaded."""
    return all(twin.get() is not None for twin in Twin.every)


def is_warm(folder: Path | None) -> bool:
    """Return whether all twins have been compiled into the folder, so that loading them takes a second."""
    return is_installed() and _mark(folder).exists()


def warm(folder: Path | None) -> None:
    """Load every twin, compiled into the folder or, without one, where numba chooses.

    Raise any error of the compiler.
    """
    _keep_in(folder)
    for twin in Twin.every:
        twin.load()
    with suppress(OSError):  # without the mark, the next process starts a child again
        _mark(folder).touch()


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
    steps = [] if is_warm(folder) else [lambda: _compile_apart(folder)]
    for step in (*steps, lambda: _keep_in(folder), *(twin.load for twin in Twin.every)):
        try:
            step()
        except Exception as error:  # noqa: BLE001 (the compiler may fail in any way; nothing depends on it)
            logger.warning(
                "a function could not be compiled, so plain code is used: %s: %s", type(error).__name__, error
            )


def _compile_apart(folder: Path | None) -> None:
    modules = [twin.module for twin in Twin.every]
    command = children.command(__name__, str(folder or ""), *modules)
    # The child reads a pipe that closes when this process ends, and then ends as well.
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=children.environment(),
    ) as child:
        assert child.stderr is not None
        said = child.stderr.read().decode(errors="replace").strip()
    if child.returncode:
        logger.warning("the process that compiles has failed, so plain code is used: %s", said.rpartition("\n")[2])


def _keep_in(folder: Path | None) -> None:
    import numba  # noqa: PLC0415

    if folder is not None and not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(folder)


def _mark(folder: Path | None) -> Path:
    """Return the file that marks everything as compiled: by this compiler, for this processor, from these sources."""
    # Imported here, as every command imports this module, and they take a tenth of a short one's time.
    import platform  # noqa: PLC0415
    from importlib.metadata import version  # noqa: PLC0415

    sources = [Path(spec.origin) for twin in Twin.every if (spec := find_spec(twin.kernels)) and spec.origin]
    what = (version("numba"), sys.version, platform.processor(), platform.machine())
    stamps = [(str(source), source.stat().st_mtime_ns, source.stat().st_size) for source in sources]
    name = sha256(repr((what, stamps)).encode()).hexdigest()[:16]
    return (folder or Path(__file__).parent / "__pycache__") / f"compiled-{name}"


def _end_with_parent() -> None:
    os.read(0, 1)  # not sys.stdin: its lock may be held when the interpreter ends
    os._exit(1)


def _main(folder: str, modules: Sequence[str]) -> None:
    os.nice(10)  # requests are more urgent than compiling
    Thread(target=_end_with_parent, daemon=True).start()
    for module in modules:
        import_module(module)
    import_module("gainboard.compiled").warm(Path(folder) if folder else None)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
