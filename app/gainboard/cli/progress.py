"""The progress of a command: one line on standard error that changes, and disappears at the end.

Nothing is shown if standard error is not a terminal. These few lines are our own: there is only one bar at a time, and
importing a library for it would take longer than scoring most files.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gainboard.store.backup import Told

DELAY_SECONDS = 0.5
"""Nothing is shown before this many seconds."""
_PAUSE_SECONDS = 0.1
_WIDTH = 20
_ERASE = "\r\033[K"


class ProgressLine:
    """A context manager for a line of progress. Call `at` after every step, however often; it limits its own output."""

    def __init__(self, label: str, unit: str = "", stream: TextIO | None = None) -> None:
        """Name what is counted. `unit` is written behind numbers: `B` for bytes."""
        self._label, self._unit = label, unit
        self._stream = stream or sys.stderr
        self._is_shown = is_terminal(self._stream)
        self._began = time.monotonic()
        self._next = self._began + DELAY_SECONDS
        self._is_drawn = False

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()

    def clear(self) -> None:
        """Erase the line, so that something else can be printed. The next call of `at` shows it again."""
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=self._stream, flush=True)

    def at(self, done: float, total: float | None, note: str = "") -> None:
        """Show `done` of `total`, which is None if the total is unknown."""
        now = time.monotonic()
        if self._is_shown and now >= self._next:
            self._next, self._is_drawn = now + _PAUSE_SECONDS, True
            line = progress_line(self._label, done, total, now - self._began, self._unit, note)
            # The last column stays free, because some terminals begin a new line after it.
            width = shutil.get_terminal_size().columns - 1
            print(_ERASE + line[:width], end="", file=self._stream, flush=True)


def progress_line(label: str, done: float, total: float | None, seconds: float, unit: str = "", note: str = "") -> str:
    """Return the line after so many seconds: a bar, the count, the rate and the remaining time."""
    rate = done / seconds if seconds > 0 else 0.0
    parts = [label, f"{_short(done)}{unit}", f"{_short(rate)}{unit}/s", note]
    if total:
        share = min(done / total, 1.0)
        filled = int(share * _WIDTH)
        parts[1] = f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {_short(done)}/{_short(total)}{unit}"
        if 0 < done <= total:
            minutes, rest = divmod(round((total - done) / rate), 60)
            clock = f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"
            parts.insert(3, f"{clock} left")
    return "  ".join(part for part in parts if part)


def is_terminal(stream: TextIO) -> bool:
    """Return whether a line written to the stream can be changed."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colours(stream: TextIO) -> bool:
    """Return whether text on the stream may have colours and weights: https://no-color.org."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def _short(number: float) -> str:
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 1000 * size else f"{number / size:.0f}{letter}"
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"


@contextmanager
def table_progress(label: str) -> Iterator[Told]:
    """Show the progress of copying each table, if standard error is a terminal."""
    with ProgressLine(label) as shown:
        yield lambda table, done, expected: shown.at(done, expected, f"rows of {table}")


@contextmanager
def interruptible() -> Iterator[Callable[[], None]]:
    """Let SIGTERM end the block as Ctrl+C does, so that nothing half-done stays.

    Yield a function that raises KeyboardInterrupt if SIGTERM came. Some C code swallows the exception that the signal
    raises, so a block that would go on for ever calls this function before it does.
    """
    came = False

    def interrupt(signum: int, frame: object) -> None:
        nonlocal came
        came = True
        raise KeyboardInterrupt

    def check() -> None:
        if came:
            raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield check
    finally:
        signal.signal(signal.SIGTERM, before)


def list_tables(rows: Mapping[str, int]) -> str:
    """Return the tables that have rows and their numbers of rows, one line each."""
    width = max(map(len, rows))
    return "\n".join(f"  {name:{width}}  {count:>10,}" for name, count in rows.items() if count)
