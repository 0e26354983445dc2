"""How long somebody waits: another client beside dear requests, and whoever asks for a short job."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.report import Row, Target, timed
from benchmarks.servers import Server, ServerFailed

_LONGEST = Target(0.04)
_ENDED = ("succeeded", "failed", "cancelled")


@contextmanager
def another(server: Server, waits: list[float]) -> Iterator[None]:
    """Have another client ask for `/healthz` all the time, and note how long each answer takes."""
    over = threading.Event()

    def ask() -> None:
        with httpx.Client(base_url=server.client.base_url, timeout=server.client.timeout) as client:
            while not waits or not over.wait(0.02):
                began = time.perf_counter()
                client.get("/healthz")
                waits.append(time.perf_counter() - began)

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()


def finished(client: httpx.Client, path: str, kind: str, params: Mapping[str, Any]) -> str:
    """Return the id of a job of the collection at `path`, once it has succeeded."""
    return _ended(client, _asked(client, path, kind, params))


def whole_result(client: httpx.Client, path: str, kind: str, params: Mapping[str, Any]) -> bytes:
    """Return the whole result of a job of the collection at `path`, once it has succeeded."""
    return client.get(f"/v1/jobs/{finished(client, path, kind, params)}/result").raise_for_status().content


def longest_waits(server: Server, path: str, board: Callable[[], object], runs: int, times: int) -> Iterator[Row]:
    """Yield how long another client waits beside boards of all runs, and beside a correlation of 43 metrics."""
    waits: list[float] = []
    board()  # the first one reads all runs
    with another(server, waits):
        for _ in range(times):
            board()
    yield Row(f"longest wait of others beside a board of {runs} runs", max(waits), target=_LONGEST)
    waits = []
    with another(server, waits):
        finished(server.client, path, "rank-correlation", {"metrics": EXPRESSIONS})
    what = f"longest wait of others beside a correlation of {len(EXPRESSIONS)} metrics over {runs} runs"
    yield Row(what, max(waits), target=_LONGEST)


def short_jobs(client: httpx.Client, path: str, long: Mapping[str, Any] | None, repetitions: int) -> Iterator[Row]:
    """Yield what a short job takes from its request to its result: by itself, and while a long one has the only slot.

    `long` is the request of the long job. Without one there are too few runs for any.
    """
    seeds = iter(range(1, 10**6))  # each job is one that nobody asked for before

    def small() -> None:
        whole_result(client, path, "stability", {"metrics": ["AP"], "trials": 10, "seed": next(seeds)})

    def letters() -> None:
        params = {"metrics": ["AP"], "test": "bootstrap-range", "seed": next(seeds)}
        whole_result(client, path, "bootstrap-sensitivity", params)

    small()
    yield Row("a small job, from request to result", _median(small, repetitions), target=Target(0.06))
    yield Row("the letters of a board, as a job", _median(letters, repetitions), target=Target(0.15))
    if long is None:
        return
    behind = []
    for _ in range(max(1, repetitions // 3)):
        job = _asked(client, path, **{**long, "params": {**long["params"], "seed": next(seeds)}})
        while client.get(f"/v1/jobs/{job}").raise_for_status().json()["state"] == "queued":
            time.sleep(0.01)
        behind.append(timed(small))
        if _state(client, job) in _ENDED:
            raise ServerFailed("the long job ended before the short one")
        client.delete(f"/v1/jobs/{job}").raise_for_status()
        _ended(client, job, ("cancelled",))
    yield Row("a short job behind a long one, one slot", max(behind), target=Target(2.5))


def _median(action: Callable[[], object], repetitions: int) -> float:
    return median(timed(action) for _ in range(repetitions))


def _asked(client: httpx.Client, path: str, kind: str, params: Mapping[str, Any]) -> str:
    sent = client.post(f"{path}/jobs", json={"kind": kind, "params": dict(params)})
    if sent.is_error:
        raise ServerFailed(f"POST {path}/jobs: {sent.status_code} {sent.text}")
    return str(sent.json()["id"])


def _state(client: httpx.Client, job: str) -> str:
    return str(client.get(f"/v1/jobs/{job}").raise_for_status().json()["state"])


def _ended(client: httpx.Client, job: str, wanted: Sequence[str] = ("succeeded",)) -> str:
    while True:
        found = client.get(f"/v1/jobs/{job}", params={"wait": 30}).raise_for_status().json()
        if found["state"] in _ENDED:
            break
    if found["state"] not in wanted:
        raise ServerFailed(f"the job {found['state']}: {found['error']}")
    return job
