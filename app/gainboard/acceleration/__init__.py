"""The one switch of the `fast` extra: functions compiled by numba, with plain code of the same meaning beside them.

Every ring may import this module. Code that has a compiled twin writes

    def _load() -> Callable[[Bytes], int]:
        from gainboard.trec import kernels  # the only import of a module that uses `njit`

        kernels.count(np.zeros(1, np.uint8))  # compiles for these types, or loads what an earlier start compiled
        return kernels.count

    COUNT = OptionalKernel("counting", _load)

and calls `COUNT.get()` at each use. None means that the plain code is used: the extra is not installed or is switched
off, nothing is loaded yet, or the compiler failed. No request ever waits for the compiler. Processes that never call
`load` use plain code. numba renews a function's cache only when the function's own file changes, so everything that a
kernel calls is in the kernel's file.

Only `warm` compiles. How the processes of a server get what it compiles is in `gainboard.acceleration.serving`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, get_ident
from typing import Any, Generic, TypeVar

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


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
    return [twin.name for twin in OptionalKernel.every]


def loaded() -> dict[str, bool]:
    """Return whether each twin is loaded, by name."""
    return {twin.name: twin.get() is not None for twin in OptionalKernel.every}


def is_installed() -> bool:
    """Return whether the `fast` extra is installed."""
    return find_spec("numba") is not None


def is_ready() -> bool:
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
    # To ask numba itself whether it has kept anything takes half a second. It chooses the folder of its variable, else
    # that of Python's byte code, else one of the user's.
    beside = {Path(sys.modules[twin.module].__file__ or "").parent / "__pycache__" for twin in OptionalKernel.every}
    may_be_beside = all(not os.access(folder, os.W_OK) or any(folder.glob("*.nbi")) for folder in beside)
    if "NUMBA_CACHE_DIR" in os.environ or may_be_beside:
        with suppress(Exception):
            load(None)


def kept_in() -> Path | None:
    """Return the folder that this process loads compiled code from; None if numba chooses, or is not imported."""
    numba = sys.modules.get("numba")
    return Path(numba.config.CACHE_DIR) if numba and numba.config.CACHE_DIR else None


def _keep_in(folder: Path | None) -> None:
    import numba  # noqa: PLC0415

    _hide_linear_algebra()
    # What an operator has set in NUMBA_CACHE_DIR stays.
    if folder is not None and not numba.config.CACHE_DIR:
        numba.config.CACHE_DIR = str(folder)


def _hide_linear_algebra() -> None:
    """Let numba find no `scipy.linalg`, which takes 15 MB and 0.2 seconds. It works without, and no kernel needs it."""
    from numba.np import linalg  # noqa: PLC0415

    def absent() -> None:
        raise ImportError

    asks = getattr(linalg, "ensure_blas", None)
    # The module asks once, when it is imported. Another version of numba may ask in another way, and then finds it.
    if asks is not None and "numba.np.arraymath" not in sys.modules:
        linalg.ensure_blas = absent
        try:
            import_module("numba.np.arraymath")
        finally:
            linalg.ensure_blas = asks


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
