"""One run of MS MARCO's size over HTTP: 6,980 topics, 1,000 documents each, few of them judged."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

import httpx

from benchmarks.data import LEVELS, MARCO, Campaign, chunks
from benchmarks.expressions import EXPRESSIONS
from benchmarks.peers import PytrecEval
from benchmarks.processes import Spent, forget_peak, memory, peak_memory, spend
from benchmarks.report import Row, Target, cpu_cost, cpu_ratio
from benchmarks.servers import FAST, Server
from gainboard.trec.bodies import ZstdCompressor

COLLECTION = "/v1/collections/marco"
TARGETS = {FAST: Target(0.35)}
MOST_MEMORY = 300_000_000
"""The bytes that the server's process may grow by."""


def write_campaign(folder: Path, seed: int) -> tuple[Path, Path]:
    """Write the qrels and the run, 0.3 and 300 MB, and return where they are."""
    campaign, qrels, run = Campaign(seed, MARCO), folder / "marco-qrels.txt", folder / "marco-run.txt"
    qrels.write_bytes(campaign.qrels())
    with run.open("wb") as file:
        file.writelines(campaign.pieces(0))
    return qrels, run


def measure_marco(servers: Mapping[str, Server], peer: PytrecEval | None, qrels: Path, run: Path) -> Iterator[Row]:
    """Yield the CPU time from file to scores, once: it takes a peer many seconds. `peer` has the same qrels."""
    packed = _packed(run)
    theirs: Spent | None = None
    if peer:
        theirs = spend(os.getpid(), lambda: peer.evaluate(peer.parse(run)))
    for column, server in servers.items():
        server.client.post("/v1/collections", json={"name": "marco", "levels": LEVELS}).raise_for_status()
        server.client.put(f"{COLLECTION}/qrels", content=qrels.read_bytes()).raise_for_status()
        forget_peak(server.process)
        before = memory(server.process)
        ours = spend(server.process, partial(_upload_and_score, server.client, packed))
        what = f"{column}: upload + 43 metrics of {MARCO.topics:,} topics, CPU"
        if theirs:
            yield cpu_ratio(f"{what} / pytrec_eval parse + evaluate", [ours], [theirs], TARGETS.get(column))
        else:
            yield cpu_cost(what, [ours])
        if before is not None and (peak := peak_memory(server.process)) is not None:
            what = f"{column}: growth of the server's memory by that"
            yield Row(what, peak - before, target=Target(MOST_MEMORY), unit="B")


def _packed(run: Path) -> Path:
    """Return the file compressed by zstd, as one sends so large a run."""
    packed, compressor = run.with_suffix(".zst"), ZstdCompressor(1)
    with run.open("rb") as source, packed.open("wb") as target:
        while chunk := source.read(1 << 20):
            target.write(compressor.compress(chunk))
        target.write(compressor.flush())
    return packed


def _upload_and_score(client: httpx.Client, packed: Path) -> None:
    headers = {"Content-Encoding": "zstd", "Content-Length": str(packed.stat().st_size)}
    query = {"team": "benchmark", "name": "marco"}
    sent = client.post(f"{COLLECTION}/runs", params=query, content=chunks(packed), headers=headers)
    sent.raise_for_status()
    asked = {"metric": EXPRESSIONS, "run": "marco"}
    client.get(f"{COLLECTION}/scores", params=asked).raise_for_status()
