"""Repeated requests from several clients at once, sent by wrk where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence

import httpx

from benchmarks.report import timed
from benchmarks.servers import Server, ServerFailed

Query = Mapping[str, str | Sequence[str]]
CONNECTIONS = (1, 16)
"""Numbers of clients at once."""
_BY_ONE_CLIENT = 200
"""Requests in one measurement without wrk."""
MISSING = "wrk is not on the path: repeated requests come from one client in Python, most of whose time is its own"


def has_wrk() -> bool:
    """Return whether wrk is installed."""
    return shutil.which("wrk") is not None


def seconds_a_request(
    server: Server, path: str, query: Query, headers: Mapping[str, str], clients: int, lasting: int
) -> float:
    """Return the seconds of a request that is repeated for so long: the reciprocal of requests a second."""
    if not has_wrk():
        return timed(_repeat, server.client, path, query, headers) / _BY_ONE_CLIENT
    url = httpx.URL(server.client.base_url).join(path).copy_merge_params(dict(query))
    sent = {"Accept-Encoding": "gzip", **headers}
    command = ["wrk", "-t1", f"-c{clients}", f"-d{lasting}s"]
    command += [part for name, value in sent.items() for part in ("-H", f"{name}: {value}")]
    done = subprocess.run([*command, str(url)], capture_output=True, text=True, check=True)
    if "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise ServerFailed(f"wrk {path}: {done.stdout}")
    found = re.search(r"Requests/sec:\s*([0-9.]+)", done.stdout)
    if found is None:
        raise ServerFailed(f"wrk {path}: no rate in its answer: {done.stdout}")
    return 1 / float(found[1])


def _repeat(client: httpx.Client, path: str, query: Query, headers: Mapping[str, str]) -> None:
    for _ in range(_BY_ONE_CLIENT):
        client.get(path, params=dict(query), headers=dict(headers)).raise_for_status()
