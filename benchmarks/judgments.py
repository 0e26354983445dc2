"""A million judgments uploaded: the server's CPU time, and the memory that it takes and gives back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace

from benchmarks.data import LEVELS, Campaign, Size
from benchmarks.processes import forget_peak, memory, peak_memory, spend
from benchmarks.report import Row, Target, cpu_cost
from benchmarks.servers import Server

SIZE = Size(topics=1000, judged=1000, retrieved=0, runs=0)
SHORT_SIZE = replace(SIZE, topics=50)
MOST_MEMORY = 150_000_000
_SETTLING = 2.0
"""Seconds after which the server should have given back what it no longer needs."""


def measure_judgments(server: Server, seed: int, size: Size) -> Iterator[Row]:
    """Yield the cost of a large qrels file in a server that has seen a small one."""
    small = Campaign(seed, replace(size, topics=5)).qrels()
    _upload(server, "small", small)
    file = Campaign(seed, size).qrels()
    what = f"{size.topics * size.judged:,} judgments uploaded"
    forget_peak(server.process)
    before = memory(server.process)
    yield cpu_cost(f"{what}, CPU", [spend(server.process, lambda: _upload(server, "judgments", file))], Target(2.5))
    time.sleep(_SETTLING)
    if before is None:
        return
    peak, after = peak_memory(server.process), memory(server.process)
    assert peak is not None
    assert after is not None
    yield Row(f"{what}, memory meanwhile", peak - before, unit="B")
    yield Row(f"{what}, memory kept", after - before, target=Target(MOST_MEMORY), unit="B")


def _upload(server: Server, name: str, qrels: bytes) -> None:
    server.client.post("/v1/collections", json={"name": name, "levels": LEVELS}).raise_for_status()
    server.client.put(f"/v1/collections/{name}/qrels", content=qrels).raise_for_status()
