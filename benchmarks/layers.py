"""`python -m benchmarks.layers`: where the CPU time of a board, of the scores of a run and of an upload goes, by layer.

The application runs in this process, without a server. A profiler sees each function, also in the threads of the
application, so Python counts for more than compiled code. The shares are therefore about right, and the total is
measured without the profiler.
"""

from __future__ import annotations

import argparse
import asyncio
import cProfile
import os
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from types import CodeType
from typing import Any
from urllib.parse import urlencode

import anyio.to_thread
import httpx

from benchmarks.boards import LEADERBOARD, METRICS, SCORES
from benchmarks.data import LEVELS, TREC, Campaign
from benchmarks.expressions import EXPRESSIONS, parameters
from benchmarks.report import show_seconds
from benchmarks.upload import COLLECTION
from gainboard import acceleration
from gainboard.main import create_app, open_workspace, start_compiled
from gainboard.settings import Settings

LAYERS: Mapping[str, Sequence[str]] = {
    "the client of this command": ("/httpx/", "benchmarks/"),
    "SQL": ("/sqlalchemy/", "sqlite3", "gainboard/store/"),
    "JSON, gzip, hashes, zstd": ("to_json", "zlib", "_hashlib", "zstd"),
    "framework": ("/fastapi/", "/starlette/", "/anyio/", "/asyncio/", "/pydantic/", "pydantic_core", "contextlib.py"),
    "middleware": (
        "api/middleware",
        "api/response_cache",
        "api/answers",
        "api/telemetry",
        "api/routes",
        "urllib/parse",
    ),
    "binding of metrics": (
        "metrics/expressions",
        "metrics/bound",
        "metrics/names",
        "metrics/parameters",
        "metrics/gains",
    ),
    "scoring": ("gainboard/metrics/",),
    "reading and joining": ("gainboard/trec/",),
    "statistics": ("gainboard/statistics/",),
    "rules and rows": ("gainboard/evaluation/", "gainboard/api/", "gainboard/"),
}
"""The layers, each with parts of the names of its files or compiled functions. The first that fits counts."""
OTHER = "the rest of Python"
TOKEN = "a-token-for-the-layers-of-one-process"
_MANY, _FEW = 200, 20

Request = Callable[[], Awaitable[httpx.Response]]


def layer_of(name: str) -> str | None:
    """Return the layer of a file or a compiled function; None if it has none."""
    return next((layer for layer, parts in LAYERS.items() if any(part in name for part in parts)), None)


def seconds_by_layer(profiles: Sequence[cProfile.Profile]) -> dict[str, float]:
    """Return the seconds of each layer. A compiled function without a layer belongs to that of its caller."""
    found: dict[str, float] = defaultdict(float)
    for profile in profiles:
        for entry in profile.getstats():
            if not isinstance(entry.code, CodeType):
                continue
            own = layer_of(entry.code.co_filename) or OTHER
            found[own] += entry.inlinetime
            for called in entry.calls or ():
                if not isinstance(called.code, CodeType):
                    found[layer_of(str(called.code)) or own] += called.inlinetime
    return found


@contextmanager
def profiled() -> Iterator[list[cProfile.Profile]]:
    """Profile this thread, and whatever the application runs in another one."""
    profiles, run_sync = [cProfile.Profile(time.thread_time)], anyio.to_thread.run_sync

    async def run_profiled(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        def run(*given: Any) -> Any:
            own = cProfile.Profile(time.thread_time)
            try:
                return own.runcall(function, *given)
            finally:
                profiles.append(own)

        return await run_sync(run, *arguments, **options)

    anyio.to_thread.run_sync = run_profiled  # type: ignore[assignment]
    profiles[0].enable()
    try:
        yield profiles
    finally:
        profiles[0].disable()
        anyio.to_thread.run_sync = run_sync


async def measure(what: str, request: Request, times: int) -> None:
    """Print the CPU time of a request, and the share of each layer."""
    spent: list[float] = []
    for _ in range(times):
        began = time.process_time()
        (await request()).raise_for_status()
        spent.append(time.process_time() - began)
    with profiled() as profiles:
        for _ in range(times):
            (await request()).raise_for_status()
    by_layer = seconds_by_layer(profiles)
    whole, total = median(spent), sum(by_layer.values())
    print(f"\n| {what} | {show_seconds(whole)} |\n| --- | --- |")
    for layer, seconds in sorted(by_layer.items(), key=lambda each: -each[1]):
        print(f"| {layer} | {seconds / total:.0%} |")


async def measure_all(folder: Path) -> None:
    """Fill a database, then measure the three requests."""
    settings = Settings.read({}, data=folder, admin_token=TOKEN, job_slots=0)
    workspace, _ = open_workspace(settings)
    start_compiled(settings)
    application, campaign, fresh = create_app(workspace, settings), Campaign(0), parameters()
    transport = httpx.ASGITransport(application)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    async with (
        application.router.lifespan_context(application),
        httpx.AsyncClient(transport=transport, base_url="http://here", headers=headers, timeout=None) as client,
    ):
        while acceleration.is_installed() and not all(acceleration.loaded().values()):
            await asyncio.sleep(0.1)
        name = COLLECTION.rpartition("/")[2]
        (await client.post("/v1/collections", json={"name": name, "levels": LEVELS})).raise_for_status()
        (await client.put(f"{COLLECTION}/qrels", content=campaign.qrels())).raise_for_status()
        for number in range(TREC.runs):
            sent = await client.post(f"{COLLECTION}/runs", params={"team": f"t{number}"}, content=campaign.run(number))
            sent.raise_for_status()
        run = sent.json()["name"]
        more = iter([campaign.run(number) for number in range(TREC.runs, TREC.runs + 2 * _FEW)])

        def get(path: str, **asked: Any) -> Request:
            return lambda: client.get(f"{path}?{urlencode({**asked, **next(fresh)}, doseq=True)}")

        await measure(f"board, {TREC.runs} runs x {len(METRICS)}", get(LEADERBOARD, metric=METRICS), _MANY)
        await measure(f"scores of one run x {len(METRICS)}", get(SCORES, metric=METRICS, run=run), _MANY)
        await measure(f"scores of one run x {len(EXPRESSIONS)}", get(SCORES, metric=EXPRESSIONS, run=run), _MANY)
        await measure(
            "upload of 50,000 lines",
            lambda: client.post(f"{COLLECTION}/runs", params={"team": "more"}, content=next(more)),
            _FEW,
        )


def main() -> None:
    """Measure in a new folder."""
    argparse.ArgumentParser(prog="python -m benchmarks.layers", description=__doc__).parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    with TemporaryDirectory(prefix="gainboard-layers-") as folder:
        asyncio.run(measure_all(Path(folder)))


if __name__ == "__main__":
    main()
