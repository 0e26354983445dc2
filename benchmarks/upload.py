"""A file and its scores: a run uploaded over HTTP and its 43 metrics answered, beside parsing and evaluating it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.peers import ByTopic, Peer, TrecEval
from benchmarks.processes import Spent, spend
from benchmarks.report import Row, Target, cpu_ratio
from benchmarks.servers import FAST, PLAIN, Server, ServerFailed

COLLECTION = "/v1/collections/trec"
SLOW = 5.0
"""Seconds beyond which a peer is timed once and no more."""
TARGETS = {
    (PLAIN, "pytrec_eval"): Target(1.3),
    (FAST, "pytrec_eval"): Target(0.7),
    (PLAIN, "trec_eval"): Target(1.0),
    (FAST, "trec_eval"): Target(0.55),
}


class Disagreement(Exception):
    """Scores differ from those of a peer, so that no time of theirs means anything."""


def create_collection(client: httpx.Client, levels: int, qrels: Path) -> None:
    """Create the collection of the campaign, with its qrels."""
    _checked(client.post("/v1/collections", json={"name": COLLECTION.rpartition("/")[2], "levels": levels}))
    _checked(client.put(f"{COLLECTION}/qrels", content=qrels.read_bytes()))


def upload(client: httpx.Client, run: Path) -> str:
    """Submit a run file, and return the name of the run."""
    answer = _checked(client.post(f"{COLLECTION}/runs", params={"team": run.stem}, content=run.read_bytes()))
    name: str = answer.json()["name"]
    return name


def scores(client: httpx.Client, name: str, **query: str) -> Any:
    """Return the answer with the 43 metrics of a run."""
    asked = {"metric": EXPRESSIONS, "run": name, **query}
    return _checked(client.get(f"{COLLECTION}/scores", params=asked)).json()["runs"][0]


def check_agreement(ours: ByTopic, peer: Peer, theirs: ByTopic) -> int:
    """Compare what both define to four decimals, and return how many numbers these are.

    `ours` is by label and topic. Raises Disagreement at the first number that differs.
    """
    for topic, values in theirs.items():
        for name, label in peer.labels.items():
            if not abs(ours[label][topic] - values[name]) <= 0.5e-4:
                message = f"{label} of topic {topic} is {ours[label][topic]}, {name} of {peer.name} is {values[name]}"
                raise Disagreement(message)
    return len(theirs) * len(peer.labels)


def measure_upload(
    servers: Mapping[str, Server], peers: Sequence[Peer], program: TrecEval | None, runs: Sequence[Path]
) -> Iterator[Row]:
    """Send each run once through every server and every peer, in turn, and yield the rows of each server."""
    ours: dict[str, list[Spent]] = {column: [] for column in servers}
    theirs: dict[str, list[Spent]] = {peer.name: [] for peer in peers}
    alone: list[Spent] = []
    for run in runs:
        for column, server in servers.items():
            ours[column].append(spend(server.process, partial(_upload_and_score, server.client, run)))
        for peer in peers:
            if max((each.wall for each in theirs[peer.name]), default=0) < SLOW:
                theirs[peer.name].append(spend(os.getpid(), partial(parse_and_evaluate, peer, run)))
        if program:
            alone.append(spend(os.getpid(), partial(program.evaluate, run)))
    for column, spent in ours.items():
        yield from _rows(column, spent, theirs, alone)


def _rows(column: str, ours: list[Spent], theirs: Mapping[str, list[Spent]], alone: list[Spent]) -> Iterator[Row]:
    what = f"{column}: upload + 43 metrics over HTTP, CPU"
    for peer, spent in theirs.items():
        yield cpu_ratio(f"{what} / {peer} parse + evaluate", ours[: len(spent)], spent, TARGETS.get((column, peer)))
    if alone:
        yield cpu_ratio(f"{what} / trec_eval", ours, alone, TARGETS[column, "trec_eval"])


def parse_and_evaluate(peer: Peer, run: Path) -> ByTopic:
    """Return the scores of a file by the peer's qrels."""
    return peer.evaluate(peer.parse(run))


def _upload_and_score(client: httpx.Client, run: Path) -> None:
    scores(client, upload(client, run))


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise ServerFailed(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer
