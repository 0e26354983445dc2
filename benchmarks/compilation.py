"""The first start of a server with the fast extra: what compiling costs its child, and what loading leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.processes import children_cpu_seconds, memory
from benchmarks.report import Row, Target
from benchmarks.servers import FAST, PLAIN, gainboard, gainboard_at_once

MOST_MEMORY = 130_000_000


def measure_compilation(folder: Path) -> Iterator[Row]:
    """Yield the cost of the first compilation, into the folder of the fast column, which later servers load from."""
    with gainboard(folder / "without", PLAIN) as server:
        before = memory(server.process)
    began = time.perf_counter()
    with gainboard_at_once(folder / FAST, FAST) as server:
        server.wait_for_compiled()
        wall = time.perf_counter() - began
        cpu, after = children_cpu_seconds(server.process), memory(server.process)
    yield Row("first compilation, CPU of the child process", wall, cpu=cpu)
    if before is not None and after is not None:
        what = "first compilation, memory that the server keeps, over a plain one's"
        yield Row(what, after - before, target=Target(MOST_MEMORY), unit="B")
