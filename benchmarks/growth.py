"""`python -m benchmarks.growth`: how cost grows with topics, with runs and with depth, over HTTP.

It measures one campaign, and the same ten and a hundred times as large in one of the three.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.data import LARGE, LEVELS, Campaign, Size
from benchmarks.report import show_seconds, timed
from benchmarks.servers import FAST, PLAIN, gainboard
from gainboard import acceleration

BASE = Size(topics=10, judged=100, retrieved=100, runs=4)
FACTORS = (1, 10, 100)
WHAT = ("upload of a run", "scores of a run, new parameters", "leaderboard, new parameters", "bootstrap of all pairs")
METRICS = ("AP", "Q", "nDCG@10", "Rmeasure")


@dataclass(frozen=True)
class Curve:
    """The seconds of one operation along one dimension, at each factor; None where it was refused."""

    what: str
    dimension: str
    seconds: Sequence[float | None]
    refused: str = ""
    """The service's message about the largest, if it refused that."""

    @property
    def exponent(self) -> float | None:
        """The power by which the time grows over the last step."""
        known = [each for each in self.seconds if each]
        return math.log10(known[-1] / known[-2]) if len(known) > 1 else None


def sizes(factor: int) -> Mapping[str, Size]:
    """Return the base, times the factor in one dimension; what is deeper has as many more judgments."""
    return {
        "topics": replace(BASE, topics=BASE.topics * factor),
        "runs": replace(BASE, runs=BASE.runs * factor),
        "depth": replace(BASE, retrieved=BASE.retrieved * factor, judged=BASE.judged * factor),
    }


def measure_growth(client: httpx.Client, seed: int, factors: Sequence[int] = FACTORS) -> list[Curve]:
    """Return every operation at every size."""
    dimensions = list(sizes(1))
    found: dict[tuple[str, str], list[float | None]] = {(what, each): [] for each in dimensions for what in WHAT}
    refused: dict[tuple[str, str], str] = {}
    for factor in factors:
        for dimension, size in sizes(factor).items():
            path = f"/v1/collections/{dimension}-{factor}"
            for what, seconds, message in _measured(client, path, Campaign(seed, size)):
                found[what, dimension].append(seconds)
                if message:
                    refused[what, dimension] = message
    return [
        Curve(what, dimension, seconds, refused.get((what, dimension), ""))
        for (what, dimension), seconds in found.items()
    ]


def show_large(client: httpx.Client, seed: int) -> str:
    """Return a list of every operation on the campaign of 200 runs."""
    measured = _measured(client, "/v1/collections/large", Campaign(seed, LARGE))
    shown = [
        f"- {what}: {refused if seconds is None else show_seconds(seconds)}" for what, seconds, refused in measured
    ]
    return "\n".join([f"{LARGE.topics} topics, {LARGE.runs} runs:", *shown])


def _measured(client: httpx.Client, path: str, campaign: Campaign) -> Iterator[tuple[str, float | None, str]]:
    name = path.rpartition("/")[2]
    sent = {"name": name, "levels": LEVELS, "depth": campaign.size.retrieved}
    client.post("/v1/collections", json=sent).raise_for_status()
    client.put(f"{path}/qrels", content=campaign.qrels()).raise_for_status()
    uploads = [
        timed(lambda body: client.post(f"{path}/runs?team=t", content=body).raise_for_status(), campaign.run(number))
        for number in range(campaign.size.runs)
    ]
    yield WHAT[0], sorted(uploads)[len(uploads) // 2], ""
    # Other gains than anybody asked for before: nothing that was computed serves.
    one = {"metric": METRICS, "run": "system-00", "gains": "5.25:3:1"}
    yield WHAT[1], timed(_get, client, f"{path}/scores", one), ""
    all_of_them = {"metric": METRICS, "gains": "4.125:2:1"}
    yield WHAT[2], timed(_get, client, f"{path}/leaderboard", all_of_them), ""
    yield (WHAT[3], *_bootstrap(client, path))


def _get(client: httpx.Client, path: str, query: Mapping[str, str | Sequence[str]]) -> None:
    client.get(path, params=dict(query)).raise_for_status()


def _bootstrap(client: httpx.Client, path: str) -> tuple[float | None, str]:
    sent = {"kind": "bootstrap-sensitivity", "params": {"metrics": ["AP"]}}
    asked = client.post(f"{path}/jobs", json=sent)
    if asked.status_code == 422:
        return None, str(asked.json()["detail"])
    return timed(_finished, client, asked.raise_for_status().json()), ""


def _finished(client: httpx.Client, job: Mapping[str, str]) -> None:
    while job["state"] in ("queued", "running"):
        job = client.get(f"/v1/jobs/{job['id']}", params={"wait": 30}).raise_for_status().json()


def growth_table(curves: Sequence[Curve], factors: Sequence[int] = FACTORS) -> str:
    """Return the curves in Markdown, one line each, with what was refused below."""
    head = ["what", "dimension", *(f"x {factor}" for factor in factors), "grows as"]
    lines = [head, ["---"] * len(head)]
    for curve in curves:
        shown = ["refused" if each is None else show_seconds(each) for each in curve.seconds]
        power = f"size^{curve.exponent:.2f}" if curve.exponent is not None else ""
        lines.append([curve.what, curve.dimension, *shown, power])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    base = f"x 1: {BASE.topics} topics, {BASE.runs} runs, {BASE.retrieved} documents a topic of each run."
    notes = [f"{each.what}, {each.dimension}: {each.refused}" for each in curves if each.refused]
    return "\n".join([table, "", base, *notes])


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="of the generated campaigns (default: 0)")
    parsed = parser.parse_args(arguments)
    column = FAST if acceleration.is_installed() else PLAIN
    with TemporaryDirectory(prefix="gainboard-benchmark-") as folder, gainboard(Path(folder), column) as server:
        print(growth_table(measure_growth(server.client, parsed.seed)), end="\n\n", flush=True)
        print(show_large(server.client, parsed.seed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
