"""`python -m benchmarks.results`: what requests for a large stored result cost the server, and how long others wait.

It fills a collection, asks for a job over all pairs of runs, starts the server anew and reads every form of the result,
while another client asks for `/healthz` all the time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import httpx

from benchmarks.data import LEVELS, Campaign, Size
from benchmarks.processes import IS_COUNTED, NOT_COUNTED, cpu_seconds, memory
from benchmarks.servers import Server, gainboard
from benchmarks.waiting import another, finished

PATH = "/v1/collections/wide"
REPEATED = 20
"""Times that a request is sent."""


@dataclass(frozen=True)
class Cost:
    """The cost of a request: seconds of the server's CPU and of the client, bytes sent and of memory."""

    status: int
    sent: int
    cpu: float
    seconds: float
    grown: int
    waited: float
    """The longest that the other client waited."""

    def __str__(self) -> str:
        return (
            f"{self.status} | {self.sent / 1e6:,.2f} MB | {self.cpu * 1e3:,.1f} ms | {self.seconds * 1e3:,.1f} ms | "
            f"{self.grown / 1e6:,.0f} MB | {self.waited * 1e3:,.0f} ms"
        )


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print a table in Markdown."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.results", description=__doc__)
    parser.add_argument("--runs", type=int, default=1000, help="that are compared (default: 1000)")
    parser.add_argument("--metrics", nargs="+", default=["AP"], help="under which they are (default: AP)")
    parser.add_argument("--seed", type=int, default=0, help="of the generated campaign (default: 0)")
    parsed = parser.parse_args(arguments)
    if not IS_COUNTED:
        parser.error(NOT_COUNTED)
    size = Size(topics=250, judged=60, retrieved=20, runs=parsed.runs)
    with TemporaryDirectory(prefix="gainboard-benchmark-") as folder:
        with gainboard(Path(folder)) as server:
            fill(server.client, Campaign(parsed.seed, size))
            began = time.perf_counter()
            job = finished(server.client, PATH, "bootstrap-sensitivity", {"metrics": parsed.metrics})
            print(f"{parsed.runs} runs, {len(parsed.metrics)} metrics: {time.perf_counter() - began:.0f} s of waiting")
        # A server that has computed nothing.
        with gainboard(Path(folder)) as server:
            print("\n| request | status | sent | CPU | time | memory grows by | others wait |\n|" + " --- |" * 7)
            for what, path, encoding, times in requests(f"/v1/jobs/{job}", parsed.runs):
                print(f"| {what} | {measured(server, path, encoding, times)} |", flush=True)
    return 0


def fill(client: httpx.Client, campaign: Campaign) -> None:
    """Store the judgments and all runs of a campaign."""
    client.post("/v1/collections", json={"name": "wide", "levels": LEVELS}).raise_for_status()
    client.put(f"{PATH}/qrels", content=campaign.qrels()).raise_for_status()
    for number in range(campaign.size.runs):
        client.post(f"{PATH}/runs", params={"team": "t"}, content=campaign.run(number)).raise_for_status()


def requests(job: str, runs: int) -> Iterator[tuple[str, str, str, int]]:
    """Return what is asked for, where, in which encoding, and how often."""
    yield "status, the first time", job, "gzip", 1
    yield "status", job, "gzip", REPEATED
    yield "result", f"{job}/result", "gzip", 3
    yield "sensitivity.csv, the first time", f"{job}/tables/sensitivity.csv", "gzip", 1
    yield "sensitivity.csv", f"{job}/tables/sensitivity.csv", "gzip", REPEATED
    yield "pairs.csv, gzip", f"{job}/tables/pairs.csv", "gzip", 3
    yield "pairs.csv, not compressed", f"{job}/tables/pairs.csv", "identity", 3
    yield "asl-curves.svg, the first time", f"{job}/figures/asl-curves.svg", "gzip", 1
    yield "asl-curves.svg", f"{job}/figures/asl-curves.svg", "gzip", REPEATED
    yield "pairs, the first time", f"{job}/pairs?limit=500", "gzip", 1
    yield "500 pairs", f"{job}/pairs?limit=500", "gzip", REPEATED
    yield "500 pairs of a run", f"{job}/pairs?run=system-{runs // 2}&limit=500", "gzip", REPEATED
    yield "500 significant pairs", f"{job}/pairs?significant=0.05&limit=500", "gzip", REPEATED


def measured(server: Server, path: str, encoding: str, times: int) -> Cost:
    """Return the cost of a request, sent several times; the other client's requests are in it, 50 a second at most."""
    waits: list[float] = []
    before, held = cpu_seconds(server.process) or 0.0, memory(server.process) or 0
    seconds = []
    with another(server, waits):
        for _ in range(times):
            began = time.perf_counter()
            status, sent = _read(server.client, path, encoding)
            seconds.append(time.perf_counter() - began)
    cpu = ((cpu_seconds(server.process) or 0.0) - before) / times
    grown = (memory(server.process) or 0) - held
    return Cost(status, sent, cpu, median(seconds), grown, max(waits, default=0.0))


def _read(client: httpx.Client, path: str, encoding: str) -> tuple[int, int]:
    with client.stream("GET", path, headers={"Accept-Encoding": encoding}) as answer:
        sent = sum(map(len, answer.iter_raw()))
        return answer.status_code, sent


if __name__ == "__main__":
    sys.exit(main())
