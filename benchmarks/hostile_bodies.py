"""Measures what hostile bodies cost a server: its CPU time and its memory, for every row of a table of bounds.

    python -m benchmarks.hostile_bodies

A real server is sent each body by a participant (runs) or an organiser (qrels), with the plain readers and with the
compiled ones. The table is Markdown. The exit code is 1 if a body is answered otherwise than it should be, or if a
bound does not hold.
"""

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from benchmarks.processes import forget_peak, memory, peak_memory, spend
from benchmarks.servers import FAST, PLAIN, gainboard

MIB = 1 << 20
MILLION = 1_000_000
TOPIC_LINES = 1000
TIMES = 3
"""Times that a body is sent. The least CPU time counts, because other programs may disturb a server."""
SLACK = 1.25
"""Factor by which two equal CPU times may differ."""
Body = bytes | Iterator[bytes]


@dataclass(frozen=True)
class Hostile:
    """A body, what it must be answered, and what it may cost."""

    name: str
    body: Callable[[int], Body]
    """Makes the body, for a scale of 1 or larger, by which it is smaller."""
    status: int
    kind: str = ""
    """The code of the only kind of fault, else the kind of problem; empty for what is stored."""
    is_run: bool = True
    like: str | None = None
    """The name of a valid body that costs as much, or `times` as much."""
    times: float = 1.0
    seconds: float | None = None
    """The most CPU time."""
    most_mib: int | None = None
    """The most by which memory may grow."""

    @property
    def bound(self) -> str:
        found = [f"at most {self.seconds:g} s"] if self.seconds else []
        found += [f"{self.times:g} x {self.like}"] if self.like else []
        return ", ".join([*found, *([f"at most {self.most_mib} MiB"] if self.most_mib else [])]) or "(to compare)"


class Cost(NamedTuple):
    """What a body cost: seconds of CPU, and the growth of memory in MiB."""

    cpu: float
    grown: int
    status: int
    kind: str


def run_lines(scale: int, topics: int = MILLION // TOPIC_LINES) -> list[bytes]:
    """Return the lines of a valid run. With many topics, each has few documents."""
    each = MILLION // topics
    return [
        b"%d Q0 doc-%d %d %d tag\n" % (topic, place, place + 1, 5000 - place)
        for topic in range(topics // scale)
        for place in range(each)
    ]


def interleaved(scale: int) -> list[bytes]:
    """Return the lines of 10,000 topics: the first line of each topic, the second line of each, and so on."""
    lines, each = run_lines(scale, 10_000), MILLION // 10_000
    return [line for place in range(each) for line in lines[place::each]]


def qrels_lines(scale: int) -> list[bytes]:
    return [b"%d 0 doc-%d %d\n" % (n // TOPIC_LINES, n % TOPIC_LINES, n % 2) for n in range(MILLION // scale)]


def squeezed(data: bytes, mebibytes: int) -> bytes:
    """Return one gzip member of so many MiB of the same byte: a compressed stretch, repeated, needs no history."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    stretch = deflate.compress(data * (16 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    return gzip.compress(b"")[:10] + stretch * (mebibytes // 16) + b"\x03\x00" + bytes(8)


def _tagged(tag: bytes, scale: int) -> bytes:
    return b"".join(run_lines(scale)).replace(b"tag", tag)


def _of_a(scale: int) -> bytes:
    return gzip.compress(b"a\n" * (MILLION // scale))


def _too_many_topics(scale: int) -> bytes:
    return b"".join(b"%d Q0 d 1 1 tag\n" % (n % 300_000) for n in range(max(20_000, MILLION // scale)))


def _without_length(scale: int) -> Iterator[bytes]:
    return repeat(b"1 Q0 d 1 1 tag\n" * 4369, 4801)  # the limit is the server's, whatever the scale


def _with_garbage(scale: int) -> bytes:
    return gzip.compress(b"".join(run_lines(scale)), 1) + b"x"


def _last_score(scale: int) -> bytes:
    lines = run_lines(scale)
    return b"".join([*lines[:-1], lines[-1].replace(b" tag", b"x tag")])


def _score_in_each_topic(scale: int) -> bytes:
    lines = run_lines(scale)
    lines[::1010] = [line.replace(b" tag", b"x tag") for line in lines[::1010]]  # of 1,000 faults, reading would end
    return b"".join(lines)


RUN, QRELS, SORTED = "a valid run of a million lines", "valid qrels of a million lines", "10,000 topics in order"
ZIPPED = "a valid run of a million lines, gzip"
LARGE, FAULTY, ENCODING = (413, "too-large"), 422, (422, "bad-compression")
HOSTILE = [
    Hostile(RUN, lambda scale: b"".join(run_lines(scale)), 201),
    Hostile(ZIPPED, lambda scale: gzip.compress(_tagged(b"zip", scale), 1), 201),
    Hostile(QRELS, lambda scale: b"".join(qrels_lines(scale)), 201, is_run=False),
    Hostile(SORTED, lambda scale: b"".join(run_lines(scale, 10_000)), 201),
    Hostile("the same, interleaved", lambda scale: b"".join(interleaved(scale)), 201, like=SORTED, times=3),
    Hostile("300,000 interleaved topics", _too_many_topics, *LARGE, seconds=1),
    Hostile("a million lines of `a`, gzip", _of_a, FAULTY, "bad-columns", seconds=1),
    Hostile("16 KiB of blank lines, gzip", lambda _: squeezed(b"\n", 16), *LARGE, seconds=1),
    Hostile("2 GiB of blank lines, gzip", lambda scale: squeezed(b"\n", 2048 // scale), *LARGE, seconds=1, most_mib=64),
    Hostile("10 GiB of zeros, gzip", lambda scale: squeezed(b"\0", 10_240 // scale), *LARGE, seconds=2, most_mib=64),
    Hostile("300 MiB without Content-Length", _without_length, *LARGE, most_mib=64),
    Hostile("a run with garbage after its gzip", _with_garbage, *ENCODING, like=ZIPPED),
    Hostile("a million lines, the last one faulty", _last_score, FAULTY, "bad-number", like=RUN),
    Hostile("a million lines, one faulty in each topic", _score_in_each_topic, FAULTY, "bad-number", like=RUN),
]


def send(hostile: Hostile, client: httpx.Client, path: str, scale: int) -> tuple[int, str]:
    """Send a body, and return the status and the kind of the answer."""
    method, end = ("POST", "/runs") if hostile.is_run else ("PUT", "-qrels/qrels")
    query = {"name": f"r{HOSTILE.index(hostile)}"} if hostile.is_run else {}
    answer = client.request(method, path + end, params=query, content=hostile.body(scale))
    if answer.status_code in (200, 201):
        return answer.status_code, ""
    problem = answer.json()
    codes = {fault["code"] for fault in problem.get("errors", [])}
    return answer.status_code, codes.pop() if len(codes) == 1 else problem["type"].removeprefix("/problems/")


def set_up(organiser: httpx.Client) -> str:
    """Make a collection for runs, with few judgments, and one for qrels, without runs. Return the path of the first."""
    for name in ("costs", "costs-qrels"):
        organiser.post("/v1/collections", json={"name": name, "levels": 1}).raise_for_status()
    organiser.put("/v1/collections/costs/qrels", content=b"1 0 doc-1 1\n").raise_for_status()
    return "/v1/collections/costs"


def participant_of(organiser: httpx.Client, path: str) -> str:
    sent = {"role": "participant", "team": "own"}
    token: str = organiser.post(f"{path}/tokens", json=sent).raise_for_status().json()["token"]
    return token


def measure(column: str, scale: int = 1) -> Iterator[tuple[Hostile, Cost]]:
    with TemporaryDirectory() as folder, gainboard(Path(folder), column) as server:
        path = set_up(server.client)
        headers = {"Authorization": f"Bearer {participant_of(server.client, path)}"}
        with httpx.Client(base_url=server.client.base_url, headers=headers, timeout=None) as own:
            for hostile in HOSTILE:
                yield hostile, _cost(server.process, hostile, own if hostile.is_run else server.client, path, scale)


def _cost(process: int, hostile: Hostile, client: httpx.Client, path: str, scale: int) -> Cost:
    answers = []
    forget_peak(process)
    before = memory(process) or 0
    # A file that is stored is read as a whole again, and answered 200.
    spent = [spend(process, lambda: answers.append(send(hostile, client, path, scale))) for _ in range(TIMES)]
    grown = ((peak_memory(process) or 0) - before) // MIB
    return Cost(min(each.cpu or 0.0 for each in spent), grown, *answers[0])


def verdict(hostile: Hostile, cost: Cost, costs: dict[str, Cost]) -> str:
    """Return what does not hold, or `holds`."""
    if (cost.status, cost.kind) != (hostile.status, hostile.kind):
        return f"answered {cost.status} {cost.kind}"
    most = hostile.seconds or (hostile.times * costs[hostile.like].cpu * SLACK if hostile.like else None)
    if most is not None and cost.cpu > most:
        return "too much CPU" if not hostile.like else f"{cost.cpu / costs[hostile.like].cpu:.1f} x"
    if hostile.most_mib is not None and cost.grown > hostile.most_mib:
        return "too much memory"
    return "holds"


def main() -> int:
    failed = 0
    for column in (PLAIN, FAST):
        print(f"\n| body ({column} readers) | answer | CPU s | memory MiB | bound | verdict |\n{'| --- ' * 6}|")
        costs = {}
        for hostile, cost in measure(column):
            costs[hostile.name] = cost
            said = verdict(hostile, cost, costs)
            failed += said != "holds"
            answer = f"{cost.status} {cost.kind}".strip()
            cells = hostile.name.strip(), answer, f"{cost.cpu:.2f}", f"{cost.grown:+d}", hostile.bound, said
            print(f"| {' | '.join(cells)} |", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
