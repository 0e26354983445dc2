"""How far something is: a line on standard error that changes while it goes on and is gone at its end.

Nothing is shown where that is no terminal. It is a few lines of our own because there is nothing else to it: one bar at
a time, and a library for it would take longer to import than most files to score.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from gainboard.store.backup import Told

DELAY_SECONDS = 0.5
"""Nothing is shown of what ends sooner."""
_PAUSE_SECONDS = 0.1
_WIDTH = 20
_ERASE = "\r\033[K"


class ProgressLine:
    """A context manager; whoever works calls `at` whenever something is done, however often that is."""

    def __init__(self, label: str, unit: str = "", stream: TextIO | None = None) -> None:
        """`unit` is what is counted, as it is written behind numbers: `B` for bytes."""
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
        """Erase the line, so that another can be printed; the next call of `at` shows it again."""
        if self._is_drawn:
            self._is_drawn = False
            print(_ERASE, end="", file=self._stream, flush=True)

    def at(self, done: float, total: float | None, note: str = "") -> None:
        """Show `done` of `total`; None if nobody knows the total."""
        now = time.monotonic()
        if self._is_shown and now >= self._next:
            self._next, self._is_drawn = now + _PAUSE_SECONDS, True
            line = progress_line(self._label, done, total, now - self._began, self._unit, note)
            width = shutil.get_terminal_size().columns - 1
            print(_ERASE + line[:width], end="", file=self._stream, flush=True)


def progress_line(label: str, done: float, total: float | None, seconds: float, unit: str = "", note: str = "") -> str:
    """Return the line after so many seconds: the share as a bar, the count, the rate and the time that remains."""
    rate = done / seconds if seconds > 0 else 0.0
    parts = [label, f"{_short(done)}{unit}", f"{_short(rate)}{unit}/s", note]
    if total:
        share = min(done / total, 1.0)
        filled = int(share * _WIDTH)
        parts[1] = f"[{'#' * filled}{'-' * (_WIDTH - filled)}] {_short(done)}/{_short(total)}{unit}"
        parts[3:3] = [f"{_clock((total - done) / rate)} left"] if 0 < done <= total else []
    return "  ".join(part for part in parts if part)


def is_terminal(stream: TextIO) -> bool:
    """Tell whether a line that was written to the stream can be changed."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colours(stream: TextIO) -> bool:
    """Tell whether text on the stream may have colours and weights: https://no-color.org."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def _short(number: float) -> str:
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 1000 * size else f"{number / size:.0f}{letter}"
    return f"{number:.3g}" if number < 100 else f"{number:.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}" if minutes >= 60 else f"{minutes}:{rest:02}"


@contextmanager
def table_progress(label: str) -> Iterator[Told]:
    """Show how far the copy of each table is, if standard error is a terminal."""
    with ProgressLine(label) as shown:
        yield lambda table, done, expected: shown.at(done, expected, f"rows of {table}")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let SIGTERM end what is done here as Ctrl+C does, so that nothing half-done stays."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def list_tables(rows: Mapping[str, int]) -> str:
    """Return the tables that have rows and their numbers of rows, a line each."""
    width = max(map(len, rows))
    return "\n".join(f"  {name:{width}}  {count:>10,}" for name, count in rows.items() if count)
