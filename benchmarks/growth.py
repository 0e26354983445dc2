"""How cost grows: one campaign ten and a hundred times as large in topics, in runs and in depth, over HTTP."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import httpx

from benchmarks.data import LARGE, LEVELS, Campaign, Size
from benchmarks.report import Row, timed

BASE = Size(topics=10, judged=100, retrieved=100, runs=4)
FACTORS = (1, 10, 100)
WHAT = ("upload of a run", "scores of a run, new parameters", "leaderboard, new parameters", "bootstrap of all pairs")
METRICS = ("AP", "Q", "nDCG@10", "Rmeasure")


@dataclass(frozen=True)
class Curve:
    """The seconds of one operation along one dimension, at each factor; None where it was not to be had."""

    what: str
    dimension: str
    seconds: Sequence[float | None]
    refused: str = ""
    """What the service said to the largest, if it refused it."""

    @property
    def exponent(self) -> float | None:
        """By which power the time grows over the last step."""
        known = [each for each in self.seconds if each]
        return math.log10(known[-1] / known[-2]) if len(known) > 1 else None


def sizes(factor: int) -> Mapping[str, Size]:
    """The base in one dimension times the factor; what is deeper has as many more judgments."""
    return {
        "topics": replace(BASE, topics=BASE.topics * factor),
        "runs": replace(BASE, runs=BASE.runs * factor),
        "depth": replace(BASE, retrieved=BASE.retrieved * factor, judged=BASE.judged * factor),
    }


def measure_growth(client: httpx.Client, seed: int, factors: Sequence[int] = FACTORS) -> list[Curve]:
    """Every operation at every size."""
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


def measure_large(client: httpx.Client, seed: int) -> list[Row]:
    """Every operation on the campaign of 200 runs, where it was not refused."""
    campaign = Campaign(seed, LARGE)
    return [
        Row(f"large, {LARGE.topics} topics, {LARGE.runs} runs: {what}", seconds)
        for what, seconds, _ in _measured(client, "/v1/collections/large", campaign)
        if seconds is not None
    ]


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
    """The curves in Markdown, a line each, with what was refused below."""
    head = ["what", "dimension", *(f"x {factor}" for factor in factors), "grows as"]
    lines = [head, ["---"] * len(head)]
    for curve in curves:
        shown = ["refused" if each is None else _shown(each) for each in curve.seconds]
        power = f"size^{curve.exponent:.2f}" if curve.exponent is not None else ""
        lines.append([curve.what, curve.dimension, *shown, power])
    table = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    base = f"x 1: {BASE.topics} topics, {BASE.runs} runs, {BASE.retrieved} documents a topic of each run."
    notes = [f"{each.what}, {each.dimension}: {each.refused}" for each in curves if each.refused]
    return "\n".join([table, "", base, *notes])


def _shown(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
