"""The server's memory after many requests, no two of which are alike."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.expressions import EXPRESSIONS
from benchmarks.processes import memory
from benchmarks.report import Row, Target
from benchmarks.servers import Server
from benchmarks.upload import COLLECTION

MANY, FEW, SHORT = 15_000, 1_500, 60
MOST_MEMORY = 300_000_000
_ROOM = 1.05
"""How much larger the memory may be at the end than halfway, and still counts as flat: judged of many requests only,
for a server that has answered few is still filling its caches."""


def measure_memory(
    server: Server, seed: int, runs: int, requests: int, fresh: Iterator[dict[str, str]]
) -> Iterator[Row]:
    """Yield the memory after all requests, beside that after the first half."""
    random = np.random.default_rng(seed)
    halfway: int | None = None
    for number in range(requests):
        _ask(server, random, runs, fresh)
        if number == requests // 2:
            halfway = memory(server.process)
    end = memory(server.process)
    if halfway is None or end is None:
        return
    what = f"memory after {requests:,} varied requests"
    yield Row(what, end, target=Target(MOST_MEMORY), unit="B")
    target = Target(_ROOM) if requests >= MANY else None
    yield Row(f"{what} / after half of them", end, halfway, end / halfway, target, unit="B")


def _ask(server: Server, random: np.random.Generator, runs: int, fresh: Iterator[dict[str, str]]) -> None:
    """Send one request: most are scored under parameters and cut-offs that nobody asked for before."""
    chosen = random.choice(len(EXPRESSIONS), random.integers(1, 6), replace=False).tolist()
    cutoff, run = int(random.integers(1, 1000)), f"system-{random.integers(runs):02}"
    metrics = sorted({*(EXPRESSIONS[place] for place in chosen), f"nDCG@{cutoff}", f"P@{cutoff}"})
    asked: dict[str, str | list[str]] = {"metric": metrics, **next(fresh)}
    path, query, status = (
        ("/leaderboard", asked, 200),
        ("/scores", {**asked, "run": run}, 200),
        ("/scores", {**asked, "run": run, "topics": "all"}, 200),
        ("/runs", {"limit": str(cutoff % 100 + 1)}, 200),
        ("/scores", {**asked, "run": f"nobody-{random.integers(1 << 40)}"}, 404),
        ("/leaderboard", {"metric": f"nDCG@{cutoff}", "gains": f"{random.integers(1 << 40)}:x"}, 422),
    )[random.choice(6, p=(0.3, 0.3, 0.2, 0.1, 0.05, 0.05))]
    answer = server.client.get(f"{COLLECTION}{path}", params=query)
    if answer.status_code != status:
        answer.raise_for_status()
        raise AssertionError(f"{answer.url}: {answer.status_code} instead of {status}")
