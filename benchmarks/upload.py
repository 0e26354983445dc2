"""From a file to scores: a run uploaded over HTTP and its 43 metrics answered, beside parsing and evaluating it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.peers import ByTopic, PytrecEval, TrecEval
from benchmarks.report import Row, Target, costs, timed
from benchmarks.servers import ServerFailed

COLLECTION = "/v1/collections/trec"


class Disagreement(Exception):
    """Scores are not those of pytrec_eval, so that no time of theirs means anything."""


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


def check_agreement(ours: ByTopic, theirs: ByTopic, shared: dict[str, str]) -> int:
    """Compares what both define to four decimals; how many numbers. `shared` has our labels by their names.

    `ours` is by label and topic, `theirs` by topic and name. Raises Disagreement at the first that differs.
    """
    for topic, values in theirs.items():
        for name, label in shared.items():
            if not abs(ours[label][topic] - values[name]) <= 0.5e-4:
                raise Disagreement(f"{label} of topic {topic} is {ours[label][topic]}, {name} is {values[name]}")
    return len(theirs) * len(shared)


def measure_upload(
    client: httpx.Client, peer: PytrecEval | None, program: TrecEval | None, runs: Sequence[Path]
) -> list[Row]:
    """Each run once through every program, in turn."""
    ours: list[float] = []
    theirs: list[float] = []
    alone: list[float] = []
    for run in runs:
        ours.append(timed(_upload_and_score, client, run))
        if peer:
            theirs.append(timed(peer.parse_and_evaluate, run))
        if program:
            alone.append(timed(program.evaluate, run))
    rows = [costs("upload + 43 metrics over HTTP / pytrec_eval parse + evaluate", ours, theirs, Target(1.5))]
    if program:
        rows.append(costs("upload + 43 metrics over HTTP / trec_eval", ours, alone, Target(1.0)))
    return rows


def _upload_and_score(client: httpx.Client, run: Path) -> None:
    scores(client, upload(client, run))


def _checked(answer: httpx.Response) -> httpx.Response:
    if answer.is_error:
        raise ServerFailed(f"{answer.request.method} {answer.request.url.path}: {answer.status_code} {answer.text}")
    return answer
