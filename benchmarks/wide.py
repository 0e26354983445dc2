"""A collection of up to 1,000 runs: what a board costs a run as runs grow, and what a job's status costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import median

from benchmarks.boards import METRICS, spend_on
from benchmarks.data import LEVELS, TREC, WHOLE_WIDE, WIDE, Campaign, Size, VariedRuns
from benchmarks.processes import Spent, memory, spend
from benchmarks.report import Row, Target, cpu_cost
from benchmarks.servers import Server
from benchmarks.waiting import finished, longest_waits

WIDE_NAME = "wide"
PATH = f"/v1/collections/{WIDE_NAME}"
COUNTS, SHORT_COUNTS = (100, 400, 500, 1000), (10, 20)
"""How many runs there are when the board is measured."""
TOPICS: Mapping[int, float | None] = {50: 5.2e-3, 200: 7.9e-3, 1000: 19.4e-3}
SHORT_TOPICS: Mapping[int, float | None] = {20: None}
"""How many topics there are when the board of 45 runs is measured, with the targets in seconds."""
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
    runs = _create(server, seed, size, WIDE_NAME)
    by_count: dict[int, float] = {}
    stored = 0
    for count in counts:
        for number in range(stored, count):
            _submit(server, WIDE_NAME, number, runs)
        stored = count
        spent = _spend_on_boards(server, WIDE_NAME, fresh, repetitions)
        what = f"board, {count} runs x {size.topics} topics x {len(METRICS)}, new parameters, CPU"
        yield cpu_cost(what, spent, Target(0.15) if count == COUNTS[-1] else None)
        by_count[count] = median(each.wall if each.cpu is None else each.cpu for each in spent) / count
    most, least = max(by_count.values()), min(by_count.values())
    what = f"board, CPU a run, from {counts[0]} to {counts[-1]} runs: most / least"
    yield Row(what, most, least, most / least, Target(1.5))
    yield from _measure_status(server, counts[-1])
    yield from longest_waits(
        server, PATH, lambda: _spend_on_boards(server, WIDE_NAME, fresh, 1), counts[-1], repetitions
    )


def measure_topics(
    server: Server, seed: int, fresh: Iterator[dict[str, str]], repetitions: int, targets: Mapping[int, float | None]
) -> Iterator[Row]:
    """Yield the CPU time of a board under new parameters for each number of topics, with its target in seconds."""
    for topics, bound in targets.items():
        name = f"topics-{topics}"
        runs = _create(server, seed, replace(WIDE, topics=topics), name)
        for number in range(TREC.runs):
            _submit(server, name, number, runs)
        what = f"board, {TREC.runs} runs x {topics} topics x {len(METRICS)}, new parameters, CPU"
        spent = _spend_on_boards(server, name, fresh, repetitions)
        yield cpu_cost(what, spent, None if bound is None else Target(bound))


def _create(server: Server, seed: int, size: Size, name: str) -> VariedRuns:
    """Create a collection of this size, and return its runs, none of which is stored."""
    campaign = Campaign(seed, size)
    sent = {"name": name, "levels": LEVELS, "depth": size.retrieved}
    server.client.post("/v1/collections", json=sent).raise_for_status()
    server.client.put(f"/v1/collections/{name}/qrels", content=campaign.qrels()).raise_for_status()
    return VariedRuns(campaign, seed)


def _submit(server: Server, collection: str, number: int, runs: VariedRuns) -> None:
    query = {"team": "t", "name": f"run-{number}"}
    server.client.post(f"/v1/collections/{collection}/runs", params=query, content=runs.run(number)).raise_for_status()


def _spend_on_boards(server: Server, collection: str, fresh: Iterator[dict[str, str]], repetitions: int) -> list[Spent]:
    path = f"/v1/collections/{collection}/leaderboard"
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
