"""Every report over HTTP, from the request to its answer: on the generated runs, and on real ones where there are."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import httpx

from benchmarks.report import Row, Target, timed
from benchmarks.servers import ServerFailed

REAL = "trec-dl19-pass"


OF_INTENTS = ("web-track-diversity",)
"""Reports on judgments by intent, which these runs do not have."""


def measure_reports(client: httpx.Client, collection: str, runs: int, target: Target | None = None) -> Iterator[Row]:
    """Yield a row for each report, each by itself and its jobs new; then a row for all of them together."""
    # A job that another report has asked for already would be there: another seed makes it a new one.
    kinds = client.get("/v1/report-kinds").json()["items"]
    names = [kind["name"] for kind in kinds if kind["name"] not in OF_INTENTS]
    seconds: list[float] = []
    for seed, name in enumerate(names, start=1):
        seconds.append(timed(_answered, client, name, collection, seed))
        yield Row(f"report {name}, {runs} runs of {collection}", seconds[-1])
    yield Row(f"all {len(names)} reports", sum(seconds), target=target)


def _answered(client: httpx.Client, name: str, collection: str, seed: int) -> bytes:
    sent = {"name": name, "collections": [collection], "params": {"seed": seed}}
    report = client.post("/v1/reports", json=sent).raise_for_status().json()
    while report["state"] in ("queued", "running"):
        report = client.get(f"/v1/reports/{report['id']}", params={"wait": 30}).raise_for_status().json()
    if report["state"] != "succeeded":
        raise ServerFailed(f"report {name}: {report['error']}")
    return client.get(report["result_url"]).raise_for_status().content


def real_qrels(folder: Path) -> Path:
    """Return the qrels file of the real campaign in this folder."""
    return folder / REAL / "qrels.dl19-passage.txt"


def real_runs(folder: Path) -> list[Path]:
    """Return the compressed files of its runs, in order of their names."""
    return sorted((folder / REAL / "runs").glob("input.*.gz"))


def load_real(client: httpx.Client, folder: Path) -> int:
    """Create the collection of the real campaign in this folder, and return how many runs it has."""
    sent = {"name": REAL, "levels": 3, "gains": "linear", "order_by": "score32"}
    client.post("/v1/collections", json=sent).raise_for_status()
    client.put(f"/v1/collections/{REAL}/qrels", content=real_qrels(folder).read_bytes()).raise_for_status()
    with (folder / REAL / "runs-metadata.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        query = {"team": row["team"], "name": row["run"]}
        body = (folder / REAL / "runs" / f"input.{row['run']}.gz").read_bytes()
        client.post(f"/v1/collections/{REAL}/runs", params=query, content=body).raise_for_status()
    return len(rows)
