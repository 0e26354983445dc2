"""`python -m benchmarks.campaign --postgresql URL`: a large generated campaign on a fleet, for docs/operating.md.

It fills the database, which must be empty: runs of 100 documents for each topic, drawn at random. Then it measures
boards, a bootstrap job over all pairs of runs with one worker and with two, and dashboards that poll. It needs Linux
and the extra `cluster`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import numpy as np
from sqlalchemy import create_engine, text

from benchmarks.processes import environment_of_users
from benchmarks.servers import Server, gainboard

DOCUMENTS = 100
PATH = "/v1/collections/big"
DASHBOARDS, LOOKS, PAUSE = 200, 5, 2.0


@contextmanager
def _worker(database: str) -> Iterator[None]:
    command = [sys.executable, "-m", "gainboard", "worker", "--job-slots", "1"]
    process = subprocess.Popen(
        command, env=environment_of_users() | {"GAINBOARD_DATABASE_URL": database}, stderr=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def _fill(client: httpx.Client, runs: int, topics: int) -> None:
    drawn = np.random.default_rng(0)
    settings = {"name": "big", "levels": 3, "policy": {"quotas": {"bytes": None}}}
    client.post("/v1/collections", json=settings).raise_for_status()
    levels = drawn.integers(0, 4, (topics, DOCUMENTS)).tolist()
    judged = "".join(f"{t} 0 d{t}_{d} {level}\n" for t, row in enumerate(levels) for d, level in enumerate(row))
    client.put(f"{PATH}/qrels", content=judged).raise_for_status()
    spent = 0.0
    for number in range(runs):
        ranked = drawn.permuted(np.tile(np.arange(DOCUMENTS), (topics, 1)), axis=1).tolist()
        lines = [
            f"{t} Q0 d{t}_{d} {rank} {-rank} r{number}\n"
            for t, row in enumerate(ranked)
            for rank, d in enumerate(row, 1)
        ]
        began = time.perf_counter()
        client.post(f"{PATH}/runs", params={"team": f"t{number % 50}"}, content="".join(lines)).raise_for_status()
        spent += time.perf_counter() - began
    print(f"uploads: {runs} runs of {topics * DOCUMENTS:,} lines, {1e3 * spent / runs:.0f} ms each", flush=True)


def _boards(client: httpx.Client) -> None:
    settings = {"the first board": {}, "new parameters": {"beta": "7", "gains": "9:4:1"}}
    for name, query in settings.items():
        for again in ("", ", again"):
            began = time.perf_counter()
            client.get(f"{PATH}/leaderboard", params={"metric": "Q"} | query).raise_for_status()
            print(f"{name}{again}: {1e3 * (time.perf_counter() - began):.0f} ms", flush=True)


def _job(client: httpx.Client, database: str, seed: int, workers: int) -> None:
    asked = {"kind": "bootstrap-sensitivity", "params": {"metrics": ["Q"], "seed": seed}}
    before, began = _commits(database), time.perf_counter()
    peak = 0.0
    place = client.post(f"{PATH}/jobs", json=asked).raise_for_status().headers["location"]
    state = "queued"
    while state in ("queued", "running"):
        found: Any = client.get(place, params={"wait": 1}).json()
        state, peak = found["state"], max(peak, _computing_memory())
    seconds = time.perf_counter() - began
    print(
        f"bootstrap of all pairs, {workers} worker(s): {state} in {seconds:.1f} s, {_commits(database) - before} "
        f"transactions, at most {peak:.0f} MB in a process",
        flush=True,
    )


def _commits(database: str) -> int:
    engine = create_engine(database, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        found = connection.execute(text("SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"))
        count = int(found.scalar_one())
    engine.dispose()
    return count


def _computing_memory() -> float:
    """The largest peak of a process that computes, in MB."""
    peaks = [0.0]
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if b"gainboard.jobs.process" in (folder / "cmdline").read_bytes():
                lines = (folder / "status").read_text().splitlines()
                peaks += [int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")]
        except OSError:
            continue  # it has just ended
    return max(peaks)


def _cpu(process: int) -> float:
    ticks = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[11:13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def _polls(server: Server) -> None:
    took: list[float] = []

    async def look(client: httpx.AsyncClient) -> None:
        headers: dict[str, str] = {}
        for _ in range(LOOKS):
            began = time.perf_counter()
            answer = await client.get(f"{PATH}/leaderboard", params={"metric": "Q"}, headers=headers)
            took.append(time.perf_counter() - began)
            headers = {"If-None-Match": answer.headers["etag"]}
            await asyncio.sleep(PAUSE)

    async def all_look() -> None:
        headers = {"Authorization": server.client.headers["Authorization"]}
        async with httpx.AsyncClient(base_url=server.client.base_url, headers=headers, timeout=60) as client:
            await asyncio.gather(*(look(client) for _ in range(DASHBOARDS)))

    before = _cpu(server.process)
    asyncio.run(all_look())
    spent = 1e3 * (_cpu(server.process) - before) / len(took)
    median, p95 = (1e3 * quantiles(took, n=20)[place] for place in (9, 18))
    print(
        f"{DASHBOARDS} dashboards, {len(took)} looks: {median:.0f} ms median, {p95:.0f} ms p95, "
        f"{spent:.2f} ms of CPU each"
    )


def main() -> int:
    """Measure, and print what was measured."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.campaign", description=__doc__)
    parser.add_argument("--postgresql", required=True, metavar="URL", help="an empty database")
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--topics", type=int, default=500)
    parsed = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gainboard-campaign-")))
        server = stack.enter_context(gainboard(folder, "fast", parsed.postgresql, job_slots=0))
        _fill(server.client, parsed.runs, parsed.topics)
        _boards(server.client)
        for workers in (1, 2):
            stack.enter_context(_worker(parsed.postgresql))
            while server.client.get("/readyz").json()["workers"] < workers:
                time.sleep(0.1)
            _job(server.client, parsed.postgresql, workers, workers)
        _polls(server)
    return 0


if __name__ == "__main__":
    sys.exit(main())
