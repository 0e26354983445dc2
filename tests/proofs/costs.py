"""Measures what hostile bodies cost a server: its CPU time and its memory, for every row of a table of bounds.

    python -m tests.proofs.costs

A real server is sent each body by a participant (runs) or an organiser (qrels), with the plain readers and with the
compiled ones. The table is Markdown. The exit code is 1 if a body is answered otherwise than it should be, or if a
bound does not hold.
"""

from __future__ import annotations

import argparse
import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.processes import forget_peak, memory, peak_memory, spend
from benchmarks.servers import FAST, PLAIN, gainboard
from gainboard.trec.zstd import compress

MIB = 1 << 20
MILLION = 1_000_000
TOPIC_LINES = 1000
Body = bytes | Iterator[bytes]


@dataclass(frozen=True)
class Hostile:
    """A body, what it must be answered, and what it may cost."""

    name: str
    body: Callable[[int], Body]
    """Makes the body, for a scale of 1 or larger, by which it is smaller."""
    status: int
    kind: str
    """The code of the only kind of fault, else the kind of problem; empty for what is stored."""
    is_run: bool = True
    seconds: float | None = None
    """The most CPU time."""
    like: str | None = None
    """The name of a valid body that costs as much, or `times` as much."""
    times: float = 1.0
    mebibytes: int | None = None
    """The most by which memory may grow."""

    @property
    def bound(self) -> str:
        """The bound in words."""
        found = [f"at most {self.seconds:g} s"] if self.seconds else []
        found += [f"{self.times:g} x {self.like}"] if self.like else []
        return ", ".join([*found, *([f"at most {self.mebibytes} MiB"] if self.mebibytes else [])]) or "(to compare)"


@dataclass(frozen=True)
class Cost:
    """What a body cost: seconds of CPU and on the clock, and the growth of memory in MiB."""

    cpu: float
    wall: float
    grown: int
    status: int
    kind: str


def run_lines(scale: int, topics: int = MILLION // TOPIC_LINES, *, is_sorted: bool = True) -> list[bytes]:
    """Return the lines of a valid run; with many topics, each has few documents."""
    count = MILLION // scale
    topics = max(1, topics // scale)
    each = count // topics
    pairs = ((n // each, n % each) if is_sorted else (n % topics, n // topics) for n in range(count))
    return [b"%d Q0 doc-%d %d %d tag\n" % (topic, place, place + 1, 5000 - place) for topic, place in pairs]


def qrels_lines(scale: int) -> list[bytes]:
    """Return the lines of valid qrels."""
    return [b"%d 0 doc-%d %d\n" % (n // TOPIC_LINES, n % TOPIC_LINES, n % 2) for n in range(MILLION // scale)]


def squeezed(data: bytes, mebibytes: int) -> bytes:
    """Return one gzip member of so many MiB of the same byte: a compressed stretch, repeated, needs no history."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    stretch = deflate.compress(data * (16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + stretch * (mebibytes // 16) + b"\x03\x00" + bytes(8)


def _last_faulty(lines: list[bytes], line: bytes) -> bytes:
    return b"".join([*lines[:-1], line])


def _members(scale: int) -> bytes:
    lines = run_lines(scale)
    middle = len(lines) // 2
    return gzip.compress(b"".join(lines[:middle]), 1) + gzip.compress(b"".join(lines[middle:]), 1)


VALID_RUN, VALID_QRELS, SORTED = (
    "a valid run of a million lines",
    "valid qrels of a million lines",
    "10,000 topics in order",
)
HOSTILE = [
    Hostile(VALID_RUN, lambda scale: b"".join(run_lines(scale)), 201, ""),
    Hostile(VALID_QRELS, lambda scale: b"".join(qrels_lines(scale)), 201, "", is_run=False),
    Hostile(SORTED, lambda scale: b"".join(run_lines(scale, 10_000)), 201, ""),
    Hostile(
        "the same topics, interleaved",
        lambda scale: b"".join(run_lines(scale, 10_000, is_sorted=False)),
        201,
        "",
        like=SORTED,
        times=3,
    ),
    Hostile(
        "300,000 interleaved topics",
        lambda scale: b"".join(b"%d Q0 d 1 1 tag\n" % (n % (300_000 // scale)) for n in range(MILLION // scale)),
        413,
        "too-large",
        seconds=1,
    ),
    Hostile("a million lines of `a`, gzip", lambda scale: gzip.compress(b"a\n" * (MILLION // scale)), 422, "bad-columns", seconds=1),
    Hostile("the same as qrels", lambda scale: gzip.compress(b"a\n" * (MILLION // scale)), 422, "bad-columns", is_run=False, seconds=1),
    Hostile("blank lines, 16 KiB of gzip", lambda scale: squeezed(b"\n", 16), 413, "too-large", seconds=1),
    Hostile("the same as qrels ", lambda scale: squeezed(b"\n", 16), 413, "too-large", is_run=False, seconds=1),
    Hostile("2 GiB of blank lines, gzip", lambda scale: squeezed(b"\n", 2048 // scale), 413, "too-large", seconds=1, mebibytes=64),
    Hostile("2 GiB of blank lines, zstd", lambda scale: compress(b"\n" * (16 * MIB)) * (128 // scale), 413, "too-large", seconds=1, mebibytes=64),
    Hostile("10 GiB of zeros, gzip", lambda scale: squeezed(b"\0", 10_240 // scale), 413, "too-large", seconds=2, mebibytes=64),
    Hostile("300 MiB without Content-Length", lambda scale: repeat(b"1 Q0 d 1 1 tag\n" * 4369, 4801), 413, "too-large", mebibytes=64),
    Hostile("a run in two gzip members", _members, 201, "", like=VALID_RUN, times=1.5),
    Hostile("a run with bytes after gzip", lambda scale: gzip.compress(b"".join(run_lines(scale)), 1) + b"x", 422, "bad-compression", like=VALID_RUN, times=1.5),
    Hostile("a million lines, the last faulty", lambda scale: _last_faulty(run_lines(scale), b"1 Q0 d 1 nan tag\n"), 422, "bad-number", like=VALID_RUN),
    Hostile("qrels of a million lines, the last faulty", lambda scale: _last_faulty(qrels_lines(scale), b"1 0 d x\n"), 422, "bad-level", is_run=False, like=VALID_QRELS),
    Hostile("a million ambiguous lines of qrels", lambda scale: b"1 L1 L0\n" * (MILLION // scale), 422, "ambiguous-columns", is_run=False, like=VALID_QRELS),
]  # fmt: skip


def send(hostile: Hostile, client: httpx.Client, path: str, scale: int) -> tuple[int, str]:
    """Send a body, and return the status and the kind of the answer."""
    method, end = ("POST", "runs") if hostile.is_run else ("PUT", "qrels")
    query = {"name": f"r{HOSTILE.index(hostile)}"} if hostile.is_run else {}
    body = hostile.body(scale)
    answer = client.request(method, f"{path}/{end}", params=query, content=body)
    if answer.status_code == 201:
        return 201, ""
    problem = answer.json()
    codes = {fault["code"] for fault in problem.get("errors", [])}
    return answer.status_code, codes.pop() if len(codes) == 1 else problem["type"].removeprefix("/problems/")


def set_up(organiser: httpx.Client) -> str:
    """Make a collection with few judgments, and return its path."""
    policy = {"quotas": {}}
    made = organiser.post("/v1/collections", json={"name": "costs", "levels": 1, "policy": policy})
    assert made.status_code == 201, made.text
    assert organiser.put("/v1/collections/costs/qrels", content=b"1 0 doc-1 1\n").status_code == 201
    return "/v1/collections/costs"


def participant_of(organiser: httpx.Client, path: str) -> str:
    """Return a new token of a team."""
    answer = organiser.post(f"{path}/tokens", json={"role": "participant", "team": "own"})
    assert answer.status_code == 201, answer.text
    token: str = answer.json()["token"]
    return token


def measure(column: str, scale: int = 1) -> Iterator[tuple[Hostile, Cost]]:
    """Yield what each body costs a server with plain or compiled readers."""
    with TemporaryDirectory() as folder, gainboard(Path(folder), column) as server:
        path = set_up(server.client)
        headers = {"Authorization": f"Bearer {participant_of(server.client, path)}"}
        with httpx.Client(base_url=server.client.base_url, headers=headers, timeout=None) as own:
            for hostile in HOSTILE:
                client = own if hostile.is_run else server.client
                answers: list[tuple[int, str]] = []
                forget_peak(server.process)
                before = memory(server.process) or 0

                def act(hostile: Hostile = hostile, client: httpx.Client = client) -> None:
                    answers.append(send(hostile, client, path, scale))  # noqa: B023

                spent = spend(server.process, act)
                grown = ((peak_memory(server.process) or 0) - before) // MIB
                yield hostile, Cost(spent.cpu or 0.0, spent.wall, grown, *answers[0])
                if hostile.is_run and answers[0][0] == 201:
                    with suppress(httpx.HTTPError):
                        own.delete(f"{path}/runs/r{HOSTILE.index(hostile)}")


def verdict(hostile: Hostile, cost: Cost, costs: dict[str, Cost]) -> str:
    """Return what does not hold, or `holds`."""
    if (cost.status, cost.kind) != (hostile.status, hostile.kind):
        return f"answered {cost.status} {cost.kind}"
    most = hostile.seconds or (hostile.times * costs[hostile.like].cpu * 1.1 if hostile.like else None)
    if most is not None and cost.cpu > most:
        return "too much CPU" if not hostile.like else f"{cost.cpu / costs[hostile.like].cpu:.1f} x"
    if hostile.mebibytes is not None and cost.grown > hostile.mebibytes:
        return "too much memory"
    return "holds"


def main() -> int:
    """Prints a table for each kind of readers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--readers", choices=[PLAIN, FAST], action="append", help="default: both")
    parser.add_argument("--scale", type=int, default=1, help="make the bodies so much smaller")
    parsed = parser.parse_args()
    failed = 0
    for column in parsed.readers or [PLAIN, FAST]:
        print(f"\n| body ({column} readers) | answer | CPU s | memory MiB | bound | verdict |\n{'| --- ' * 6}|")
        costs: dict[str, Cost] = {}
        for hostile, cost in measure(column, parsed.scale):
            costs[hostile.name] = cost
            said = verdict(hostile, cost, costs)
            failed += said != "holds"
            answer = f"{cost.status} {cost.kind}".strip()
            cells = hostile.name.strip(), answer, f"{cost.cpu:.2f}", f"{cost.grown:+d}", hostile.bound, said
            print(f"| {' | '.join(cells)} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
