"""All runs ranked under 43 metrics, over HTTP: new parameters, the same again, and unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.report import Row, Target, speed, timed
from benchmarks.servers import ServerFailed, bare
from benchmarks.upload import COLLECTION

Query = dict[str, str | Sequence[str]]
# No target for the first: computing 45 runs anew is not to be had in the time that sending them takes.
_TARGETS: dict[str, Target | None] = {
    "new parameters": None,
    "repeated": Target(0.75, at_most=False),
    "repeated, 304": Target(0.85, at_most=False),
}


def measure_leaderboard(
    client: httpx.Client, runs: int, fresh: Iterator[dict[str, str]], repetitions: int, folder: Path
) -> list[Row]:
    """Each request next to one of a bare endpoint that sends the same bytes."""
    body, encoding = folder / "leaderboard.body", folder / "leaderboard.encoding"
    with client.stream("GET", f"{COLLECTION}/leaderboard", params=_asked(next(fresh))) as answer:
        body.write_bytes(b"".join(answer.iter_raw()))
        encoding.write_text(answer.headers.get("content-encoding", ""))
    ours: dict[str, list[float]] = {case: [] for case in _TARGETS}
    theirs: dict[str, list[float]] = {case: [] for case in _TARGETS}
    with bare(body, encoding.read_text()) as peer:
        for _ in range(repetitions):
            _measure_once(client, peer.client, _asked(next(fresh)), ours, theirs)
    return [
        speed(
            f"leaderboard of {runs} runs x 43, {case} / bare FastAPI endpoint",
            ours[case],
            theirs[case],
            target,
        )
        for case, target in _TARGETS.items()
    ]


def _measure_once(
    client: httpx.Client,
    peer: httpx.Client,
    asked: Query,
    ours: dict[str, list[float]],
    theirs: dict[str, list[float]],
) -> None:
    held: dict[str, str] = {}
    for case in _TARGETS:
        unchanged = case.endswith("304")
        sent = held if unchanged else {}
        ours[case].append(timed(_get, client, f"{COLLECTION}/leaderboard", asked, sent, held))
        theirs[case].append(timed(_get, peer, "/unchanged" if unchanged else "/", {}, {}, {}))


def _get(client: httpx.Client, path: str, asked: Query, sent: dict[str, str], held: dict[str, str]) -> None:
    """One answer, whose ETag goes into `held` for the next."""
    answer = client.get(path, params=asked, headers=sent)
    if answer.is_error or (sent and answer.status_code != 304):
        raise ServerFailed(f"GET {path}: {answer.status_code} {answer.text}")
    held["If-None-Match"] = answer.headers.get("etag", "")


def _asked(query: dict[str, str]) -> Query:
    return {"metric": EXPRESSIONS, **query}
