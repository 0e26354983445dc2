"""`python -m benchmarks.seeds`: how much the reports on the real runs depend on the seed.

It asks for the report `reliability-of-graded-metrics`, and for its job of kind `swap-rate` again under other seeds.
Then it prints the discrimination power by the rule of earlier versions and by that of now, as a table in Markdown. A
second table has the marks of the report `controlling-late-arrival-penalty`: under each seed alone, and with several.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx

from benchmarks.reports import REAL, load_real
from benchmarks.servers import ServerFailed, gainboard

REPORT, KIND = "reliability-of-graded-metrics", "swap-rate"
BEFORE, NOW = "all-higher", "first"
LATE_ARRIVAL, SEEDS = "controlling-late-arrival-penalty", 5
"""The report with marks, and its own number of seeds."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.seeds", description=__doc__)
    parser.add_argument("--seeds", type=int, default=16, help="of the swap rates, from 0 on (default: 16)")
    real = os.environ.get("GAINBOARD_REAL_DATA")
    parser.add_argument(
        "--real",
        type=Path,
        metavar="FOLDER",
        default=Path(real) if real else None,
        help="of the real runs (default: GAINBOARD_REAL_DATA)",
    )
    parsed = parser.parse_args(arguments)
    if parsed.real is None:
        parser.error("name the folder of the real runs: --real FOLDER")
    with TemporaryDirectory(prefix="gainboard-benchmark-") as folder, gainboard(Path(folder)) as server:
        load_real(server.client, parsed.real)
        params = planned(server.client)
        answers = [swap_rates(server.client, {**params, "seed": seed}) for seed in range(parsed.seeds)]
        alone = [marks(server.client, seed, 1) for seed in range(parsed.seeds)]
        several = [marks(server.client, seed, SEEDS) for seed in range(parsed.seeds)]
    print(f"| metric | before: power | none | difference | now: power | none | difference |\n|{' --- |' * 7}")
    for metrics in zip(*answers, strict=True):
        cells = [cell for rule in (BEFORE, NOW) for cell in spread([metric["by_rule"][rule] for metric in metrics])]
        print(f"| {' | '.join([metrics[0]['metric'], *cells])} |")
    counts = sorted(len(each) for each in alone)
    print(f"\n{counts[0]} to {counts[-1]} metrics are marked under a seed alone.\n")
    print(f"| metric | marked, one seed | bold, {SEEDS} seeds | italic, {SEEDS} seeds |\n|{' --- |' * 4}")
    for metric in sorted({name for each in (*alone, *several) for name in each}):
        numbers = [sum(each.get(metric) == "bold" for each in alone)]
        numbers += [sum(each.get(metric) == style for each in several) for style in ("bold", "italic")]
        print(f"| {' | '.join([metric, *map(str, numbers)])} |")
    return 0


def marks(client: httpx.Client, seed: int, seeds: int) -> Mapping[str, str]:
    """Return the style of each metric that is marked in Tables 2 and 3 of the paper on late arrival."""
    sent = {"name": LATE_ARRIVAL, "collections": [REAL], "params": {"seed": seed, "seeds": seeds}}
    result = client.get(answered(client, "/v1/reports", sent)["result_url"]).raise_for_status().json()
    (table,) = (table for table in result["tables"] if table["number"] == "Tables 2-3")
    return {table["rows"][mark["row"]][mark["column"]]: mark["mark"] for mark in table["marks"]}


def planned(client: httpx.Client) -> Mapping[str, Any]:
    """Return the parameters of the report's swap rates."""
    report = answered(client, "/v1/reports", {"name": REPORT, "collections": [REAL]})
    (job,) = (job for job in report["jobs"] if job["kind"] == KIND)
    params: Mapping[str, Any] = client.get(job["url"]).raise_for_status().json()["params"]
    return params


def swap_rates(client: httpx.Client, params: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the metrics of a job of kind `swap-rate`."""
    job = answered(client, f"/v1/collections/{REAL}/jobs", {"kind": KIND, "params": params})
    metrics: Sequence[Mapping[str, Any]] = client.get(job["result_url"]).raise_for_status().json()["metrics"]
    return metrics


def answered(client: httpx.Client, path: str, sent: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a job or report, once it has succeeded."""
    answer = client.post(path, json=sent).raise_for_status()
    work: dict[str, Any] = answer.json()
    while work["state"] in ("queued", "running"):
        work = client.get(answer.headers["location"], params={"wait": 30}).raise_for_status().json()
    if work["state"] != "succeeded":
        raise ServerFailed(f"{path}: {work['error']}")
    return work


def spread(columns: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the least and the greatest power, in how many seeds there is none, and the same of the difference."""
    power = [100 * each["discrimination_power"] for each in columns if each["discrimination_power"] is not None]
    required = [each["absolute_difference_required"] for each in columns]
    difference = [each for each in required if each is not None]
    return [_range(power, 1, " %"), str(required.count(None) or ""), _range(difference, 2)]


def _range(numbers: Sequence[float], digits: int, unit: str = "") -> str:
    low, high = (f"{number:.{digits}f}" for number in (min(numbers, default=math.nan), max(numbers, default=math.nan)))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


if __name__ == "__main__":
    sys.exit(main())
