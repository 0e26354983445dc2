"""`python -m benchmarks`: makes its data, checks that the scores agree, measures, and prints a table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx

from benchmarks.analyses import measure_jobs, measure_kernels
from benchmarks.data import LEVELS, Campaign
from benchmarks.expressions import parameters, shared_with_trec_eval
from benchmarks.footprint import database_bytes, measure_start, storage
from benchmarks.leaderboard import measure_leaderboard
from benchmarks.peers import PytrecEval, TrecEval, find_peers
from benchmarks.report import Row, as_json, machine, table
from benchmarks.rescoring import measure_rescoring
from benchmarks.servers import ServerFailed, gainboard
from benchmarks.upload import Disagreement, check_agreement, create_collection, measure_upload, scores, upload

_RUNS, _REPETITIONS = 45, 9
_SHORT_RUNS, _SHORT_REPETITIONS = 6, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; the exit code is 1 where scores disagree or a server fails, else 0."""
    parsed = _parser().parse_args(arguments)
    runs = _SHORT_RUNS if parsed.short else _RUNS
    repetitions = parsed.repetitions or (_SHORT_REPETITIONS if parsed.short else _REPETITIONS)
    try:
        with TemporaryDirectory(prefix="gainboard-benchmark-") as folder:
            plan = _prepare(Path(folder), parsed.seed, max(runs, repetitions + 1), repetitions)
            rows, missing = _measure(plan)
    except (Disagreement, ServerFailed) as error:
        print(f"benchmarks: {error}", file=sys.stderr)
        return 1
    settings = {"seed": parsed.seed, "repetitions": repetitions, "short": parsed.short}
    print("; ".join(f"{name} {value}" for name, value in machine().items()), end="\n\n")
    print(table(rows, judged=not parsed.short))
    for sentence in missing:
        print(f"\nMissing: {sentence}.")
    if parsed.json:
        parsed.json.write_text(json.dumps(as_json(rows, missing, settings), indent=2) + "\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Gainboard timed beside its peers.")
    parser.add_argument("--short", action="store_true", help="under a minute: few runs, no verdicts")
    parser.add_argument("--repetitions", type=int, help=f"of each measurement (default: {_REPETITIONS})")
    parser.add_argument("--seed", type=int, default=0, help="of the generated campaign (default: 0)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers here as well")
    return parser


@dataclass(frozen=True)
class _Plan:
    """What is measured on: the first run is for checking and warming, the next ones are timed, all are ranked."""

    folder: Path
    qrels: Path
    runs: Sequence[Path]
    seed: int
    repetitions: int
    fresh: Iterator[dict[str, str]]


def _measure(plan: _Plan) -> tuple[list[Row], list[str]]:
    shared = shared_with_trec_eval()
    peer, program, missing = find_peers(plan.qrels, set(shared))
    data = plan.folder / "data"
    with gainboard(data) as server:
        create_collection(server.client, LEVELS, plan.qrels)
        before = database_bytes(data)
        ours = scores(server.client, upload(server.client, plan.runs[0]), topics="all")["topics"]
        if peer:
            compared = check_agreement(ours, peer.parse_and_evaluate(plan.runs[0]), shared)
            _say(f"{compared} scores agree with pytrec_eval to four decimals")
        rows = _measure_service(server.client, plan, peer, program)
        raw = sum(run.stat().st_size for run in plan.runs)
        rows.append(storage(before, database_bytes(data), raw, len(plan.runs)))
        _say("working jobs")
        rows += measure_jobs(server.client, len(plan.runs))
    _say("resampling and correlating, beside plain loops")
    rows += measure_kernels(plan.seed, plan.repetitions)
    _say("starting servers")
    rows.append(measure_start(plan.folder, plan.repetitions))
    return rows, missing


def _measure_service(client: httpx.Client, plan: _Plan, peer: PytrecEval | None, program: TrecEval | None) -> list[Row]:
    _say("uploading")
    rows = measure_upload(client, peer, program, plan.runs[1 : plan.repetitions + 1])
    for run in plan.runs:
        upload(client, run)  # those that are there already stay as they are
    _say("rescoring")
    rows += measure_rescoring(peer, plan.qrels, plan.runs[0], plan.fresh, plan.repetitions)
    _say("asking for leaderboards")
    return rows + measure_leaderboard(client, len(plan.runs), plan.fresh, plan.repetitions, plan.folder)


def _prepare(folder: Path, seed: int, count: int, repetitions: int) -> _Plan:
    _say(f"making qrels and {count} runs from seed {seed}")
    campaign = Campaign(seed)
    qrels = folder / "qrels.txt"
    qrels.write_bytes(campaign.qrels())
    runs = [folder / f"run-{number:02}.txt" for number in range(count)]
    for number, run in enumerate(runs):
        run.write_bytes(campaign.run(number))
    return _Plan(folder, qrels, runs, seed, repetitions, parameters())


def _say(what: str) -> None:
    print(f"benchmarks: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
