"""The size of a run in the database, and the time that a server takes to start."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from shutil import copytree
from statistics import median

from benchmarks.processes import memory
from benchmarks.report import Row, Target
from benchmarks.servers import FAST, PLAIN, gainboard

_MOST_MEMORY = {PLAIN: 140_000_000, FAST: 240_000_000}


def database_bytes(data: Path) -> int:
    """Return the bytes in use of the database in this folder, whether its server runs or not."""
    with closing(sqlite3.connect(data / "gainboard.db")) as connection:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def storage(before: int, after: int, raw: int, runs: int) -> Row:
    """Return the bytes of a run in the database, with all that is kept about it, beside those of its file."""
    grown = (after - before) / runs
    return Row(
        "database bytes of a run / raw text",
        grown,
        raw / runs,
        (after - before) / raw,
        Target(0.35),
        unit="B",
    )


def measure_start(folder: Path, repetitions: int, column: str) -> Iterator[Row]:
    """Return the time to import, migrate, listen and answer over a new folder, into which compiled code is copied."""
    seconds: list[float] = []
    for number in range(repetitions):
        data = folder / f"start-{column}-{number}"
        if column == FAST:
            copytree(folder / FAST / "compiled", data / "compiled")
        with gainboard(data, column) as server:
            seconds.append(server.first_answer)
    yield Row(f"{column}: start to first answer, new database", median(seconds), target=Target(1.6))
    with gainboard(data, column) as server:
        if (held := memory(server.process)) is not None:
            yield Row(f"{column}: memory once it is ready", held, target=Target(_MOST_MEMORY[column]), unit="B")
