"""What the commands that copy a database have in common: how far they are, what was copied, and how they are ended."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from gainboard.cli.progress import Progress
from gainboard.store.backup import Told


@contextmanager
def progress(label: str) -> Iterator[Told]:
    """Shows how far each table is, where standard error is a terminal."""
    with Progress(label) as shown:
        yield lambda table, done, expected: shown.at(done, expected, f"rows of {table}")


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
