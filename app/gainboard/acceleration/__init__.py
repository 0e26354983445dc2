"""The one switch of the `fast` extra: functions compiled by numba, with plain code of the same meaning beside them.

Every ring may import this module. Code that has a compiled twin writes

    def _load() -> Callable[[Bytes], int]:
        from gainboard.trec import kernels  # the only import of a module that uses `njit`

        kernels.count(np.zeros(1, np.uint8))  # compiles for these types, or loads what an earlier start compiled
        return kernels.count

    COUNT = OptionalKernel("counting", _load)

and calls `COUNT.get()` at each use. None means that the plain code is used: the extra is not installed or is switched
off, nothing is loaded yet, or the compiler failed. No request ever waits for the compiler. Processes that never call
`start` or `load` use plain code. Those of jobs do, except that `load_noted` lets them read many files by compiled code.
numba renews a function's cache only when the function's own file changes, so everything that a kernel calls is in the
kernel's file.

Only `warm` compiles. A server runs it in a child process, so that the server does not need the compiler's memory, and
loads the result from disk. A process that reads a large upload also loads it, from the same folder.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, Thread, get_ident
from typing import Any, Generic, TypeVar

from gainboard import children

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

logger = logging.getLogger("gainboard.acceleration")


class NotCompiled(Exception):
    """A function would have to be compiled first: for this version of it, of numba, or for this processor."""


class OptionalKernel(Generic[T]):
    """The compiled form of one function, once it is loaded. `load` imports, compiles and returns it."""

    every: list[OptionalKernel[Any]] = []  # noqa: RUF012 (of the class: all that there are)

    def __init__(self, name: str, load: Callable[[], T]) -> None:
        """Remember how to load it."""
        self.name = name
        self.module = load.__module__
        self._load = load
        self._loaded: T | None = None
        self._lock = Lock()
        OptionalKernel.every.append(self)

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

    # As in NumPy, a division by zero must give infinity or NaN. numba's own way raises an exception.
    compiled: F = decorator(cache=True, nogil=True, error_model="numpy")(function)
    return compiled


def names() -> list[str]:
    """Return the names of all twins."""
    return [twin.name for twin in OptionalKernel.every]


def loaded() -> dict[str, bool]:
    """Return whether each twin is loaded, by name."""
    return {twin.name: twin.get() is not None for twin in OptionalKernel.every}


def is_installed() -> bool:
    """Return whether the `fast` extra is installed."""
    return find_spec("numba") is not None


def is_ready() -> bool:
    """Return whether every twin is loaded."""
    return all(twin.get() is not None for twin in OptionalKernel.every)


def warm(folder: Path | None) -> None:
    """Load every twin, compiled into the folder or, without one, where numba chooses.

    Raise any error of the compiler.
    """
    _keep_in(folder)
    for twin in OptionalKernel.every:
        twin.load()


def load(folder: Path | None, twins: Iterable[OptionalKernel[Any]] | None = None) -> None:
    """Load these twins, or all, as an earlier process has compiled them into the folder.

    Raise NotCompiled at the first that is not compiled, or any error of the import.
    """
    _keep_in(folder)
    with _no_compiling():
        for twin in OptionalKernel.every if twins is None else twins:
            twin.load()


def load_kept() -> None:
    """Load every twin if `gainboard warm` has compiled it where numba chooses, for a process that lives shortly.

    Plain code gives the same answers, so no error is worth a message.
    """
    if _may_be_kept():
        with suppress(Exception):
            load(None)


def _may_be_kept() -> bool:
    """Return False if numba has kept nothing. To ask numba itself takes half a second."""
    # It chooses the folder of its variable, else that of Python's byte code, else one of the user's.
    beside = {Path(sys.modules[twin.module].__file__ or "").parent / "__pycache__" for twin in OptionalKernel.every}
    return "NUMBA_CACHE_DIR" in os.environ or any(
        not os.access(folder, os.W_OK) or any(folder.glob("*.nbi")) for folder in beside
    )


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


def kept_in() -> Path | None:
    """Return the folder that this process loads compiled code from; None if numba chooses, or is not imported."""
    numba = sys.modules.get("numba")
    return Path(numba.config.CACHE_DIR) if numba and numba.config.CACHE_DIR else None


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
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=children.environment(),
    ) as child:
        assert child.stderr is not None
        said = child.stderr.read().decode(errors="replace").strip()
    ended = f"the process that compiles has failed ({children.ending(child.returncode)})"
    return f"{ended}: {said.rpartition(chr(10))[2]}" if child.returncode else ""


def _keep_in(folder: Path | None) -> None:
    import numba  # noqa: PLC0415

    # What an operator has set in NUMBA_CACHE_DIR stays.
    if folder is not None and not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(folder)


@contextmanager
def _no_compiling() -> Iterator[None]:
    """Raise NotCompiled inside the block, in this thread, where numba is about to compile."""
    from numba.core import event  # noqa: PLC0415

    thread = get_ident()

    class Refusal(event.Listener):  # type: ignore[misc]  # of a class without types
        def on_start(self, event: Any) -> None:
            if get_ident() == thread:
                raise NotCompiled(f"{event.data['dispatcher'].__name__} is not compiled for these types")

        def on_end(self, event: Any) -> None:
            pass

    with event.install_listener("numba:compile", Refusal()):
        yield


def _end_with_parent() -> None:
    os.read(0, 1)  # not sys.stdin: its lock may be held when the interpreter ends
    os._exit(1)


def _main(folder: str, modules: Sequence[str]) -> None:
    os.nice(10)  # requests are more urgent than compiling
    Thread(target=_end_with_parent, daemon=True).start()
    for module in modules:
        # The import enters the module's kernels in `OptionalKernel.every`.
        import_module(module)
    # Not `warm` itself: as __main__, this file is another module than the one that kernels import, with an empty list.
    import_module("gainboard.acceleration").warm(Path(folder) if folder else None)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2:])
