"""From a file to scores: a run uploaded over HTTP and its 43 metrics answered, beside parsing and evaluating it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.peers import ByTopic, Peer, TrecEval
from benchmarks.report import Row, Target, costs, timed
from benchmarks.servers import FAST, PLAIN, ServerFailed

COLLECTION = "/v1/collections/trec"
SLOW = 5.0
"""Seconds beyond which a peer is timed once and no more."""
TARGETS = {
    (PLAIN, "pytrec_eval"): Target(1.5),
    (FAST, "pytrec_eval"): Target(0.8),
    (PLAIN, "trec_eval"): Target(1.0),
    (FAST, "trec_eval"): Target(0.55),
}


class Disagreement(Exception):
    """Scores are not those of a peer, so that no time of theirs means anything."""


def create_collection(client: httpx.Client, levels: int, qrels: Path) -> None:
    """The collection of the campaign, with its qrels."""
    _checked(client.post("/v1/collections", json={"name": COLLECTION.rpartition("/")[2], "levels": levels}))
    _checked(client.put(f"{COLLECTION}/qrels", content=qrels.read_bytes()))


def upload(client: httpx.Client, run: Path) -> str:
    """Submits a run file; its name."""
    answer = _checked(client.post(f"{COLLECTION}/runs", params={"team": "benchmark"}, content=run.read_bytes()))
    name: str = answer.json()["name"]
    return name


def scores(client: httpx.Client, name: str, **query: str) -> Any:
    """The answer with the 43 metrics of a run."""
    asked = {"metric": EXPRESSIONS, "run": name, **query}
    return _checked(client.get(f"{COLLECTION}/scores", params=asked)).json()["runs"][0]


def check_agreement(ours: ByTopic, peer: Peer, theirs: ByTopic) -> int:
    """Compares what both define to four decimals; how many numbers. `ours` is by label and topic. Raises Disagreement
    at the first that differs."""
    for topic, values in theirs.items():
        for name, label in peer.labels.items():
            if not abs(ours[label][topic] - values[name]) <= 0.5e-4:
                message = f"{label} of topic {topic} is {ours[label][topic]}, {name} of {peer.name} is {values[name]}"
                raise Disagreement(message)
    return len(theirs) * len(peer.labels)


def measure_upload(
    services: Mapping[str, httpx.Client], peers: Sequence[Peer], program: TrecEval | None, runs: Sequence[Path]
) -> list[Row]:
    """Each run once through every server and every peer, in turn."""
    ours: dict[str, list[float]] = {name: [] for name in services}
    theirs: dict[str, list[float]] = {peer.name: [] for peer in peers}
    alone: list[float] = []
    for run in runs:
        for name, client in services.items():
            ours[name].append(timed(_upload_and_score, client, run))
        for peer in peers:
            if max(theirs[peer.name], default=0) < SLOW:
                theirs[peer.name].append(timed(parse_and_evaluate, peer, run))
        if program:
            alone.append(timed(program.evaluate, run))
    return [row for name in services for row in _rows(name, ours[name], theirs, alone)]


def _rows(name: str, ours: list[float], theirs: Mapping[str, list[float]], alone: list[float]) -> Iterator[Row]:
    what = f"{name}: upload + 43 metrics over HTTP"
    for peer, seconds in theirs.items():
        yield costs(f"{what} / {peer} parse + evaluate", ours[: len(seconds)], seconds, TARGETS.get((name, peer)))
    if alone:
        yield costs(f"{what} / trec_eval", ours, alone, TARGETS[name, "trec_eval"])


def parse_and_evaluate(peer: Peer, run: Path) -> ByTopic:
    """From the peer's qrels and a file to its scores."""
    return peer.evaluate(peer.parse(run))


def _upload_and_score(client: httpx.Client, run: Path) -> None:
    scores(client, upload(client, run))


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise ServerFailed(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer
