"""The size of a run in the database, and the time that servers and commands take to start."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from shutil import copytree
from statistics import median

from benchmarks.report import Row, Target
from benchmarks.servers import FAST, PLAIN, gainboard

_UNTIL_CONNECTING = """
import os, socket, sys, time

def end(*arguments, **options):
    print(time.process_time(), file=sys.stderr, flush=True)
    os._exit(0)

socket.create_connection = end
from gainboard.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    end() if ended.code == 0 else sys.exit(1)
sys.exit(1)
"""


def database_bytes(data: Path) -> int:
    """The bytes in use of the database in this folder, as of now, whether its server runs or not."""
    with closing(sqlite3.connect(data / "gainboard.db")) as connection:
        pages, free, size = (
            int(connection.execute(f"PRAGMA {name}").fetchone()[0])
            for name in ("page_count", "freelist_count", "page_size")
        )
    return (pages - free) * size


def storage(before: int, after: int, raw: int, runs: int) -> Row:
    """Bytes of a run in the database, everything kept about it included, beside those of its file."""
    grown = (after - before) / runs
    return Row(
        "database bytes of a run / raw text",
        grown,
        raw / runs,
        (after - before) / raw,
        Target(0.35),
        unit="B",
    )


def measure_commands(repetitions: int) -> list[Row]:
    """The CPU time of a command from its start: to the end of its help, and to its request to a server."""
    return [
        Row("CPU of `gainboard --help`", _cpu("--help", repetitions), target=Target(0.15)),
        Row("CPU of `gainboard me` until its request goes out", _cpu("me", repetitions), target=Target(0.5)),
    ]


def _cpu(command: str, repetitions: int) -> float:
    """The median over new processes. A request goes out when the command first connects, which ends it here."""
    environment = {**os.environ, "GAINBOARD_SERVER": "http://127.0.0.1:9"}
    line = [sys.executable, "-c", _UNTIL_CONNECTING, command]
    done = [
        subprocess.run(line, env=environment, capture_output=True, text=True, check=True) for _ in range(repetitions)
    ]
    return median(float(each.stderr.splitlines()[-1]) for each in done)


def measure_start(folder: Path, repetitions: int, column: str) -> Row:
    """New database folders: import, migrate, listen, answer; with what is compiled already in its place."""
    seconds: list[float] = []
    for number in range(repetitions):
        data = folder / f"start-{column}-{number}"
        if column == FAST:
            copytree(folder / FAST / "compiled", data / "compiled")
        with gainboard(data, column) as server:
            seconds.append(server.first_answer)
    target = Target(2.0 if column == PLAIN else 3.0)
    return Row(f"{column}: start to first answer, new database", median(seconds), target=target)
