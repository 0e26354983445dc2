"""`python -m benchmarks`: makes its data, checks that the scores agree, measures, and prints tables."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.analyses import measure_jobs, measure_kernels
from benchmarks.data import LEVELS, TREC, Campaign
from benchmarks.expressions import parameters, shared_with_trec_eval
from benchmarks.footprint import database_bytes, measure_commands, measure_start, storage
from benchmarks.growth import FACTORS, Curve, growth_table, measure_growth, measure_large
from benchmarks.leaderboard import measure_leaderboard
from benchmarks.marco import measure_marco, write_campaign
from benchmarks.peers import LIBRARIES, Peer, PytrecEval, find_peers
from benchmarks.report import Row, Target, as_json, machine, table
from benchmarks.reports import REAL, load_real, measure_reports
from benchmarks.rescoring import measure_marco_rescoring, measure_rescoring
from benchmarks.servers import FAST, PLAIN, Server, ServerFailed, gainboard
from benchmarks.upload import (
    COLLECTION,
    Disagreement,
    check_agreement,
    create_collection,
    measure_upload,
    parse_and_evaluate,
    scores,
    upload,
)
from gainboard import compiled

_REPETITIONS = 9
_SHORT_RUNS, _SHORT_REPETITIONS, _SHORT_FACTORS = 6, 3, (1, 4)


@dataclass(frozen=True)
class _Plan:
    """What is measured on: the first run is for checking and warming, the next ones are timed, all are ranked."""

    folder: Path
    qrels: Path
    runs: Sequence[Path]
    seed: int
    repetitions: int
    fresh: Iterator[dict[str, str]]
    real: Path | None
    short: bool


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; the exit code is 1 where scores disagree or a server fails, else 0."""
    parsed = _parser().parse_args(arguments)
    repetitions = parsed.repetitions or (_SHORT_REPETITIONS if parsed.short else _REPETITIONS)
    try:
        with TemporaryDirectory(prefix="gainboard-benchmark-") as folder:
            plan = _prepare(Path(folder), parsed, repetitions)
            rows, curves, missing = _measure(plan)
    except (Disagreement, ServerFailed, httpx.HTTPError) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    settings = {"seed": parsed.seed, "repetitions": repetitions, "short": parsed.short}
    print("; ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")
    print(table(rows, judged=not parsed.short), end="\n\n")
    print(growth_table(curves, _SHORT_FACTORS if parsed.short else FACTORS))
    for sentence in missing:
        print(f"\nMissing: {sentence}.")
    if parsed.json:
        parsed.json.write_text(json.dumps(as_json(rows, missing, settings), indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Gainboard timed beside its peers.")
    parser.add_argument("--short", action="store_true", help="about a minute: few runs, small sizes, no verdicts")
    parser.add_argument("--repetitions", type=int, help=f"of each measurement (default: {_REPETITIONS})")
    parser.add_argument("--seed", type=int, default=0, help="of the generated campaigns (default: 0)")
    real = os.environ.get("GAINBOARD_REAL_DATA")
    parser.add_argument(
        "--real",
        type=Path,
        metavar="FOLDER",
        default=Path(real) if real else None,
        help="of the real runs, for reports (default: GAINBOARD_REAL_DATA)",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    return parser


def _prepare(folder: Path, parsed: argparse.Namespace, repetitions: int) -> _Plan:
    count = max(_SHORT_RUNS if parsed.short else TREC.runs, repetitions + 1)
    _say(f"making qrels and {count} runs from seed {parsed.seed}")
    campaign, qrels = Campaign(parsed.seed), folder / "qrels.txt"
    qrels.write_bytes(campaign.qrels())
    runs = [folder / f"run-{number:02}.txt" for number in range(count)]
    for number, run in enumerate(runs):
        run.write_bytes(campaign.run(number))
    return _Plan(folder, qrels, runs, parsed.seed, repetitions, parameters(), parsed.real, parsed.short)


def _measure(plan: _Plan) -> tuple[list[Row], list[Curve], list[str]]:
    peers, program, missing = find_peers(
        plan.qrels, shared_with_trec_eval(), LIBRARIES[:1] if plan.short else LIBRARIES
    )
    columns = [PLAIN, FAST] if compiled.is_installed() and not plan.short else [PLAIN]
    if FAST not in columns:
        why = "it takes a minute to compile" if plan.short else "it is not installed"
        missing.append(f"the column of the fast extra: {why}")
    with ExitStack() as stack:
        servers = {name: stack.enter_context(gainboard(plan.folder / name, name)) for name in columns}
        clients = {name: server.client for name, server in servers.items()}
        _check(clients, peers, plan)
        before = database_bytes(plan.folder / PLAIN)
        _say("uploading")
        rows = measure_upload(clients, peers, program, plan.runs[1 : plan.repetitions + 1])
        rows += _measure_stored(servers, peers, plan, before, missing)
        _say("growing")
        factors = _SHORT_FACTORS if plan.short else FACTORS
        curves = measure_growth(clients[columns[-1]], plan.seed, factors)
        rows += [] if plan.short else measure_large(clients[columns[-1]], plan.seed)
    _say("resampling and correlating, beside plain loops")
    rows += measure_kernels(plan.seed, plan.repetitions)
    _say("starting servers")
    rows += [measure_start(plan.folder, plan.repetitions, column) for column in columns]
    rows += measure_commands(plan.repetitions)
    return rows, curves, missing


def _check(clients: Mapping[str, httpx.Client], peers: Sequence[Peer], plan: _Plan) -> None:
    """The first run, on every server and by every peer: the scores agree, and everything is warm."""
    ours = {}
    for column, client in clients.items():
        create_collection(client, LEVELS, plan.qrels)
        ours[column] = scores(client, upload(client, plan.runs[0]), topics="all", gains="linear")["topics"]
    for peer in peers:
        theirs = parse_and_evaluate(peer, plan.runs[0])
        for column in clients:
            compared = check_agreement(ours[column], peer, theirs)
            _say(f"{column}: {compared} scores agree with {peer.name} to four decimals")


def _measure_stored(
    servers: Mapping[str, Server], peers: Sequence[Peer], plan: _Plan, before: int, missing: list[str]
) -> list[Row]:
    """What is measured on runs that are stored."""
    for server in servers.values():
        for run in plan.runs:
            upload(server.client, run)  # those that are there already stay as they are
    raw = sum(run.stat().st_size for run in plan.runs)
    # The first run was there before the growth was measured, and the others came since.
    grown = database_bytes(plan.folder / PLAIN)
    rows = [storage(before, grown, raw - plan.runs[0].stat().st_size, len(plan.runs) - 1)]
    pytrec_eval = next((peer for peer in peers if isinstance(peer, PytrecEval)), None)
    _say("rescoring")
    code = plan.folder / FAST / "compiled" if FAST in servers else None
    rows += measure_rescoring(pytrec_eval, plan.qrels, plan.runs[0], plan.fresh, plan.repetitions, code)
    _say("asking for leaderboards")
    client = servers[list(servers)[-1]].client
    rows += measure_leaderboard(client, len(plan.runs), plan.fresh, plan.repetitions, plan.folder)
    _say("working jobs")
    rows += measure_jobs(client, len(plan.runs))
    _say("making reports")
    rows += _measure_reports(client, plan, missing)
    return rows + ([] if plan.short else _measure_marco(servers, plan, pytrec_eval, code))


def _measure_marco(servers: Mapping[str, Server], plan: _Plan, peer: PytrecEval | None, code: Path | None) -> list[Row]:
    _say("making a run of 6,980 topics")
    qrels, run = write_campaign(plan.folder, plan.seed)
    its_peer = PytrecEval(qrels, peer.labels) if peer else None
    _say("uploading it")
    rows = measure_marco(servers, its_peer, qrels, run)
    _say("rescoring it")
    return rows + measure_marco_rescoring(its_peer, qrels, run, plan.fresh, plan.repetitions, code)


def _measure_reports(client: httpx.Client, plan: _Plan, missing: list[str]) -> list[Row]:
    if plan.real is None:
        missing.append("reports on real runs: --real names no folder of them")
        return measure_reports(client, COLLECTION.rpartition("/")[2], len(plan.runs))
    return measure_reports(client, REAL, load_real(client, plan.real), Target(60))


def _say(what: str) -> None:
    print(f"benchmarks: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
