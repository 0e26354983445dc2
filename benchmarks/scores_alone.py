"""Shows what large collections of scores cost: the upload of a matrix, boards under another metric, and their page.

    python -m benchmarks.scores_alone [--systems 1000,3000,10000] [--topics 1000] [--missing 0]

starts a server for each number of systems, and uploads two matrices of random scores (CSV, a row for each system). It
prints seconds, CPU seconds and the server's peak memory, without that of its children: of an upload; of the board's
first rows, of all rows as JSON and as CSV, each under the metric that the request before was not about, with letters,
rank sets and intervals; and of the page. `--missing` is the share of scores that are missing.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.processes import Spent, forget_peak, peak_memory, spend
from benchmarks.servers import PLAIN, Server, gainboard

PATH = "/v1/collections/large"
NAMES = ("accuracy", "f1")
TIMES = 2


def generate_csv(systems: int, topics: int, missing: float, seed: int) -> bytes:
    """Return a matrix of correct and wrong answers of systems that differ, of which a share is missing."""
    drawn = np.random.default_rng(seed)
    skill, ease = drawn.normal(0, 1, (systems, 1)), drawn.normal(0, 1, topics)
    scores = (skill + ease + drawn.logistic(size=(systems, topics)) > 0).astype(int)
    lacking = drawn.random((systems, topics)) < missing
    lines = ["system," + ",".join(f"question-{topic}" for topic in range(topics))]
    for row, (of_system, lacks) in enumerate(zip(scores.tolist(), lacking.tolist(), strict=True)):
        cells = ("" if gap else str(score) for score, gap in zip(of_system, lacks, strict=True))
        lines.append(f"system-{row}," + ",".join(cells))
    return "\n".join(lines).encode()


def measure(server: Server, systems: int, topics: int, missing: float) -> Iterator[tuple[str, Spent, int]]:
    """Yield what was done, what it cost (the median of several), and the peak of the server's memory in bytes."""
    client = server.client
    client.timeout = 600
    sent = {"name": "large", "kind": "scores", "policy": {"phase": "released"}, "public": True}
    client.post("/v1/collections", json=sent).raise_for_status()

    def ask(address: str, content: bytes | None = None) -> bytes:
        answer = client.get(address) if content is None else client.put(address, content=content)
        return answer.raise_for_status().content

    def measured(what: str, addresses: Sequence[str]) -> tuple[str, Spent, int]:
        forget_peak(server.process)
        size = len(ask(addresses[0]))  # the first one may import
        costs = [spend(server.process, partial(ask, address)) for address in [*addresses] * TIMES]
        costs.sort(key=lambda cost: cost.cpu or cost.wall)
        return f"{what}, {size / 1e6:.2f} MB", costs[len(costs) // 2], peak_memory(server.process) or 0

    for seed, name in enumerate(NAMES):
        content = generate_csv(systems, topics, missing, seed)
        forget_peak(server.process)
        cost = spend(server.process, partial(ask, f"{PATH}/score-matrices/{name}", content))
        yield f"upload of {name}, {len(content) / 1e6:.0f} MB", cost, peak_memory(server.process) or 0
    for what, address in {
        "board, first 50 rows": f"{PATH}/leaderboard?top=50&metric=",
        "board, all rows": f"{PATH}/leaderboard?metric=",
        "board, all rows as CSV": f"{PATH}/leaderboard?format=csv&metric=",
        "page of the board": "/c/large?metric=",
    }.items():
        yield measured(what, [address + name for name in NAMES])


def main() -> None:
    """Print a line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", default="1000,3000,10000")
    parser.add_argument("--topics", type=int, default=1000)
    parser.add_argument("--missing", type=float, default=0.0)
    asked = parser.parse_args()
    print("systems  what                                        seconds   CPU s     MiB")
    for systems in map(int, asked.systems.split(",")):
        with TemporaryDirectory() as folder, gainboard(Path(folder), PLAIN) as server:
            for what, cost, peak in measure(server, systems, asked.topics, asked.missing):
                cpu = cost.wall if cost.cpu is None else cost.cpu
                print(f"{systems:>7}  {what:<42} {cost.wall:8.2f} {cpu:7.2f} {peak / 2**20:7.0f}", flush=True)


if __name__ == "__main__":
    main()
