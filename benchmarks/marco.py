"""One run of MS MARCO's size over HTTP: 6,980 topics, 1,000 documents each, few of them judged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import httpx

from benchmarks.data import LEVELS, MARCO, Campaign, chunks
from benchmarks.expressions import EXPRESSIONS
from benchmarks.peers import Peer
from benchmarks.report import Row, Target, timed
from benchmarks.servers import Server
from gainboard.trec.zstd import ZstdCompressor

COLLECTION = "/v1/collections/marco"
MOST_MEMORY = 300 << 20
"""That the server's process may grow by."""


def write_campaign(folder: Path, seed: int) -> tuple[Path, Path]:
    """Its qrels and its run, as files: 0.3 and 300 MB."""
    campaign, qrels, run = Campaign(seed, MARCO), folder / "marco-qrels.txt", folder / "marco-run.txt"
    qrels.write_bytes(campaign.qrels())
    with run.open("wb") as file:
        file.writelines(campaign.pieces(0))
    return qrels, run


def measure_marco(servers: Mapping[str, Server], peer: Peer | None, qrels: Path, run: Path) -> list[Row]:
    """From file to scores, once: it takes a peer half a minute. `peer` has the same qrels."""
    packed = _packed(run)
    theirs = timed(lambda: peer.evaluate(peer.parse(run))) if peer else None
    rows: list[Row] = []
    for column, server in servers.items():
        server.client.post("/v1/collections", json={"name": "marco", "levels": LEVELS}).raise_for_status()
        server.client.put(f"{COLLECTION}/qrels", content=qrels.read_bytes()).raise_for_status()
        server.forget_peak()
        before = server.peak_memory()
        ours = timed(_upload_and_score, server.client, packed)
        ratio = ours / theirs if theirs else None
        what = f"{column}: upload + 43 metrics of {MARCO.topics:,} topics"
        rows.append(Row(f"{what} / pytrec_eval parse + evaluate", ours, theirs, ratio))
        if before is not None and (peak := server.peak_memory()) is not None:
            what = f"{column}: growth of the server's peak memory by that"
            rows.append(Row(what, peak - before, target=Target(MOST_MEMORY), unit="B"))
    return rows


def _packed(run: Path) -> Path:
    """The file as zstd, which one sends so large a run as."""
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
