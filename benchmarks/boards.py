"""Leaderboards and scores over HTTP: the server's CPU time of what is new, and the rate of what is repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx

from benchmarks.expressions import EXPRESSIONS
from benchmarks.load import CONNECTIONS, Query, seconds_a_request
from benchmarks.processes import Spent, spend
from benchmarks.report import Row, Target, costs, cpu_cost, cpu_ratio
from benchmarks.servers import FAST, PLAIN, Server, ServerFailed, bare
from benchmarks.upload import COLLECTION

METRICS = ("AP", "Q", "nDCG@10", "Rmeasure", "MSnDCG@10")
"""The five metrics of the boards."""
LEADERBOARD, SCORES, HEALTH = f"{COLLECTION}/leaderboard", f"{COLLECTION}/scores", "/healthz"
_FRESH_AT_ONCE, _AT_ONCE = 5, 40
"""Requests in one measurement: new ones, and those of the bare endpoint."""
_BOARD_SECONDS = {PLAIN: 6e-3, FAST: 3.8e-3}


@dataclass(frozen=True)
class Boards:
    """A subject of measurements: the server of a column, its stored runs, and parameters that nobody asked for."""

    server: Server
    column: str
    runs: int
    fresh: Iterator[dict[str, str]]
    repetitions: int
    folder: Path
    seconds: int
    """How long wrk repeats a request."""


def measure_boards(boards: Boards, run: str) -> Iterator[Row]:
    """Yield what new parameters cost: a board beside the bare endpoint, a board whose scores are known, one run."""
    server, what = boards.server, f"{boards.column}: board, {boards.runs} runs x {len(METRICS)}"
    with bare(*_keep(boards, LEADERBOARD, _new(boards))) as peer:
        ours, theirs = _in_turn(boards, peer, LEADERBOARD, lambda: [_new(boards) for _ in range(_FRESH_AT_ONCE)])
    yield cpu_cost(f"{what}, new parameters, CPU", ours, Target(_BOARD_SECONDS[boards.column]))
    yield cpu_ratio(f"{what}, new parameters, CPU / bare FastAPI endpoint", ours, theirs, Target(18))
    with bare(*_keep(boards, LEADERBOARD, {"metric": EXPRESSIONS})) as peer:
        ours, theirs = _in_turn(boards, peer, LEADERBOARD, lambda: _by_others(boards))
    what = f"{boards.column}: board, {boards.runs} runs x 43, scores known, CPU / bare FastAPI endpoint"
    yield cpu_ratio(what, ours, theirs, Target(8))
    for metrics, seconds in ((METRICS, 1.2e-3), (EXPRESSIONS, 3e-3)):
        ours = []
        for _ in range(boards.repetitions + 1):
            asked = [{"metric": metrics, "run": run, **next(boards.fresh)} for _ in range(_FRESH_AT_ONCE)]
            ours.append(spend_on(server, SCORES, asked))
        what = f"{boards.column}: scores of one run x {len(metrics)}, new parameters, CPU"
        yield cpu_cost(what, ours[1:], Target(seconds))  # the first time, programs are made
    with bare(*_keep(boards, HEALTH, {})) as peer:
        ours, theirs = _in_turn(boards, peer, HEALTH, lambda: [{}] * _AT_ONCE)
    yield cpu_ratio(f"{boards.column}: {HEALTH}, CPU / bare FastAPI endpoint", ours, theirs, Target(1.5))


def measure_repeated(boards: Boards, postgresql: Server | None) -> Iterator[Row]:
    """Yield the time of a repeated board beside the bare endpoint, and on PostgreSQL beside SQLite."""
    asked: Query = {"metric": METRICS}
    with ExitStack() as stack:
        servers = [boards.server, stack.enter_context(bare(*_keep(boards, LEADERBOARD, asked)))]
        servers += [postgresql] if postgresql else []
        for clients in CONNECTIONS:
            seconds: list[list[float]] = [[] for _ in servers]
            for _ in range(boards.repetitions):
                for place, server in enumerate(servers):
                    path = "/" if place == 1 else LEADERBOARD
                    # The bare endpoint gets the same headers as ours.
                    sent = _headers(boards.server if place == 1 else server)
                    seconds[place].append(seconds_a_request(server, path, asked, sent, clients, boards.seconds))
            what = f"{boards.column}: board, {boards.runs} runs x {len(METRICS)}, repeated from {clients} connections"
            yield costs(f"{what} / bare FastAPI endpoint", seconds[0], seconds[1], Target(1.25))
            if postgresql:
                yield costs(f"{what}, on PostgreSQL / on SQLite", seconds[2], seconds[0])


def spend_on(server: Server, path: str, queries: Sequence[Query]) -> Spent:
    """Return what a server spent on each of these requests."""
    remaining = iter(queries)

    def ask() -> None:
        answer = server.client.get(path, params=dict(next(remaining)))
        if answer.is_error:
            raise ServerFailed(f"GET {path}: {answer.status_code} {answer.text}")

    return spend(server.process, ask, len(queries))


def _in_turn(
    boards: Boards, peer: Server, path: str, queries: Callable[[], Sequence[Query]]
) -> tuple[list[Spent], list[Spent]]:
    """Return what both servers spent on the same queries, in turn. The bare one gets more of them: it is quick."""
    peer.client.headers.update(_headers(boards.server))
    spend_on(boards.server, path, queries())
    ours: list[Spent] = []
    theirs: list[Spent] = []
    for _ in range(boards.repetitions):
        asked = queries()
        ours.append(spend_on(boards.server, path, asked))
        theirs.append(spend_on(peer, "/", [asked[number % len(asked)] for number in range(_AT_ONCE)]))
    return ours, theirs


def _by_others(boards: Boards) -> list[Query]:
    """Return a board ranked by one metric after another, of which the server has computed the scores just now."""
    asked: Query = {"metric": EXPRESSIONS, **next(boards.fresh)}
    boards.server.client.get(LEADERBOARD, params=dict(asked)).raise_for_status()
    return [{**asked, "by": expression} for expression in EXPRESSIONS[1 : 4 * _FRESH_AT_ONCE + 1]]


def _new(boards: Boards) -> Query:
    return {"metric": METRICS, **next(boards.fresh)}


def _headers(server: Server) -> dict[str, str]:
    return {"Authorization": server.client.headers["Authorization"]}


def _keep(boards: Boards, path: str, query: Query) -> tuple[Path, str]:
    """Return a file with the answer's bytes, compressed as they were sent, and their encoding."""
    body = boards.folder / "board.body"
    client: httpx.Client = boards.server.client
    with client.stream("GET", path, params=dict(query)) as answer:
        body.write_bytes(b"".join(answer.iter_raw()))
        encoding: str = answer.headers.get("content-encoding", "")
    return body, encoding
