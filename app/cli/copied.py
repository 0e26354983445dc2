"""What the commands that copy a database have in common: how far they are, what was copied, and how they are ended."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from app.store.backup import Told

REDRAWN_SECONDS = 0.1


@contextmanager
def progress() -> Iterator[Told]:
    """On a terminal, one line of standard error that changes, and is gone at the end; else nothing."""
    if not sys.stderr.isatty():
        yield lambda table, done, expected: None
        return
    drawn = 0.0

    def told(table: str, done: int, expected: int) -> None:
        nonlocal drawn
        if (now := time.monotonic()) - drawn >= REDRAWN_SECONDS:
            drawn = now
            print(f"\r\033[K{table}: {done:,} of {expected:,} rows", end="", file=sys.stderr, flush=True)

    try:
        yield told
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """SIGTERM ends what is done here as Ctrl+C does, so that nothing half-done stays."""
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _interrupt(signum: int, frame: object) -> None:
    raise KeyboardInterrupt


def listed(rows: Mapping[str, int]) -> str:
    """The tables that have rows, and how many; a line each."""
    width = max(map(len, rows))
    return "\n".join(f"  {name:{width}}  {count:>10,}" for name, count in rows.items() if count)
