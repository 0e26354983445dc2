"""All runs ranked under 43 metrics, over HTTP: new parameters, known scores, the same again, and unchanged."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.report import Row, Target, speed, timed
from benchmarks.servers import ServerFailed, bare
from benchmarks.upload import COLLECTION

Query = dict[str, str | Sequence[str]]
_PATH = f"{COLLECTION}/leaderboard"
_AT_ONCE = 20
"""Requests in one measurement: one alone takes about as long as the machine's other business."""
# No target for the first: computing 45 runs anew is not to be had in the time that sending them takes.
_TARGETS: dict[str, Target | None] = {
    "new parameters": None,
    "scores known": Target(0.45, at_most=False),
    "repeated": Target(0.75, at_most=False),
    "repeated, 304": Target(0.85, at_most=False),
}


def measure_leaderboard(
    client: httpx.Client, runs: int, fresh: Iterator[dict[str, str]], repetitions: int, folder: Path
) -> list[Row]:
    """Requests next to as many, with the same query and headers, of a bare endpoint that sends the same bytes."""
    body, encoding = folder / "leaderboard.body", folder / "leaderboard.encoding"
    with client.stream("GET", _PATH, params=_asked(next(fresh))) as answer:
        body.write_bytes(b"".join(answer.iter_raw()))
        encoding.write_text(answer.headers.get("content-encoding", ""))
    ours: dict[str, list[float]] = {case: [] for case in _TARGETS}
    theirs: dict[str, list[float]] = {case: [] for case in _TARGETS}
    with bare(body, encoding.read_text()) as peer:
        peer.client.headers["Authorization"] = client.headers["Authorization"]
        for _ in range(repetitions):
            asked = _asked(next(fresh))
            for case, queries in _cases(asked).items():
                sent = {"If-None-Match": _etag(client, asked)} if case.endswith("304") else {}
                path = "/unchanged" if sent else "/"
                ours[case].append(timed(_get, client, _PATH, queries, sent) / len(queries))
                theirs[case].append(timed(_get, peer.client, path, queries, sent) / len(queries))
    return [
        speed(f"leaderboard of {runs} runs x 43, {case} / bare FastAPI endpoint", ours[case], theirs[case], target)
        for case, target in _TARGETS.items()
    ]


def _cases(asked: Query) -> dict[str, list[Query]]:
    """What is asked for in each case: once; ranked by one metric after another; and then the same again and again."""
    by_others: list[Query] = [{**asked, "by": expression} for expression in EXPRESSIONS[1 : _AT_ONCE + 1]]
    again = [asked] * _AT_ONCE
    return dict(zip(_TARGETS, ([asked], by_others, again, again), strict=True))


def _get(client: httpx.Client, path: str, queries: Sequence[Query], sent: dict[str, str]) -> None:
    for asked in queries:
        answer = client.get(path, params=asked, headers=sent)
        if answer.is_error or (sent and answer.status_code != httpx.codes.NOT_MODIFIED):
            raise ServerFailed(f"GET {path}: {answer.status_code} {answer.text}")


def _etag(client: httpx.Client, asked: Query) -> str:
    found: str = client.get(_PATH, params=asked).headers["etag"]
    return found


def _asked(query: dict[str, str]) -> Query:
    return {"metric": EXPRESSIONS, **query}
