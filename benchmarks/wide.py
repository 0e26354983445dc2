"""A collection of up to 1,000 runs: what a board costs a run as runs grow, and what a job's status costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks.boards import METRICS, spend_on
from benchmarks.data import LEVELS, WHOLE_WIDE, WIDE, Campaign, Size, VariedRuns
from benchmarks.processes import Spent, memory, spend
from benchmarks.report import Row, Target, cpu_cost
from benchmarks.servers import Server
from benchmarks.waiting import finished, longest_waits

PATH = "/v1/collections/wide"
COUNTS, SHORT_COUNTS = (100, 400, 500, 1000), (10, 20)
"""How many runs there are when the board is measured."""
_SHORT_SIZE = replace(WIDE, topics=20)
_STATUSES = 20
_MOST_MEMORY = 2_000_000
"""What counts as no memory of a status: the allocator takes it by the page."""


def size_of(is_whole: bool, is_short: bool) -> Size:
    """Return the size of the campaign that the options ask for."""
    return _SHORT_SIZE if is_short else WHOLE_WIDE if is_whole else WIDE


def measure_wide(
    server: Server, seed: int, size: Size, counts: Sequence[int], fresh: Iterator[dict[str, str]], repetitions: int
) -> Iterator[Row]:
    """Yield the CPU time of a board under new parameters for each number of runs, and the status of a finished job."""
    campaign = Campaign(seed, size)
    runs = VariedRuns(campaign, seed)
    sent = {"name": "wide", "levels": LEVELS, "depth": size.retrieved}
    server.client.post("/v1/collections", json=sent).raise_for_status()
    server.client.put(f"{PATH}/qrels", content=campaign.qrels()).raise_for_status()
    by_count: dict[int, float] = {}
    stored = 0
    for count in counts:
        for number in range(stored, count):
            query = {"team": "t", "name": f"run-{number}"}
            server.client.post(f"{PATH}/runs", params=query, content=runs.run(number)).raise_for_status()
        stored = count
        spent = _spend_on_boards(server, fresh, repetitions)
        what = f"board, {count} runs x {size.topics} topics x {len(METRICS)}, new parameters, CPU"
        yield cpu_cost(what, spent, Target(0.15) if count == COUNTS[-1] else None)
        by_count[count] = median(each.wall if each.cpu is None else each.cpu for each in spent) / count
    most, least = max(by_count.values()), min(by_count.values())
    what = f"board, CPU a run, from {counts[0]} to {counts[-1]} runs: most / least"
    yield Row(what, most, least, most / least, Target(1.5))
    yield from _measure_status(server, counts[-1])
    yield from longest_waits(server, PATH, lambda: _spend_on_boards(server, fresh, 1), counts[-1], repetitions)


def _spend_on_boards(server: Server, fresh: Iterator[dict[str, str]], repetitions: int) -> list[Spent]:
    path = f"{PATH}/leaderboard"
    spend_on(server, path, [{"metric": METRICS, **next(fresh)}])  # it reads the runs that came since
    return [spend_on(server, path, [{"metric": METRICS, **next(fresh)}]) for _ in range(repetitions)]


def _measure_status(server: Server, runs: int) -> Iterator[Row]:
    path = f"/v1/jobs/{finished(server.client, PATH, 'bootstrap-sensitivity', {'metrics': ['AP']})}"
    what = f"status of a finished job over {runs} runs"
    before = memory(server.process)

    def ask() -> None:
        server.client.get(path).raise_for_status()

    yield cpu_cost(f"{what}, the first time, CPU", [spend(server.process, ask)], Target(5e-3))
    yield cpu_cost(f"{what}, CPU", [spend(server.process, ask, _STATUSES)], Target(5e-3))
    if before is not None and (after := memory(server.process)) is not None:
        yield Row(f"{what}, memory by all of these", after - before, target=Target(_MOST_MEMORY), unit="B")
    for form, encoding in (("gzip", "gzip"), ("not compressed", "identity")):
        spent = spend(server.process, partial(_read_pairs, server, path, encoding))
        yield cpu_cost(f"all its pairs as CSV, {form}, CPU", [spent])


def _read_pairs(server: Server, path: str, encoding: str) -> None:
    with server.client.stream("GET", f"{path}/tables/pairs.csv", headers={"Accept-Encoding": encoding}) as answer:
        answer.raise_for_status()
        for _ in answer.iter_raw():
            pass
