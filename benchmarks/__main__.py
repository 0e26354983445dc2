"""`python -m benchmarks`: makes its data, checks that the scores agree, measures, and prints a table."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.data import LEVELS, Campaign
from benchmarks.expressions import parameters, shared_with_trec_eval
from benchmarks.footprint import database_bytes, measure_start, storage
from benchmarks.leaderboard import measure_leaderboard
from benchmarks.peers import find_peers
from benchmarks.report import Row, as_json, machine, table
from benchmarks.rescoring import measure_rescoring
from benchmarks.servers import NotStarted, gainboard
from benchmarks.upload import Disagreement, check_agreement, create_collection, measure_upload, upload

_RUNS, _REPETITIONS = 45, 9
_SHORT_RUNS, _SHORT_REPETITIONS = 6, 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints; the exit code is 1 where scores disagree or a server did not start, else 0."""
    parsed = _parser().parse_args(arguments)
    runs = _SHORT_RUNS if parsed.short else _RUNS
    repetitions = parsed.repetitions or (_SHORT_REPETITIONS if parsed.short else _REPETITIONS)
    try:
        with TemporaryDirectory(prefix="gainboard-benchmark-") as folder:
            rows, missing = _measure(Path(folder), parsed.seed, max(runs, repetitions + 1), repetitions)
    except (Disagreement, NotStarted) as error:
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


def _measure(folder: Path, seed: int, count: int, repetitions: int) -> tuple[list[Row], list[str]]:
    _say(f"making qrels and {count} runs from seed {seed}")
    qrels, runs = _write(Campaign(seed), folder, count)
    shared = shared_with_trec_eval()
    peer, program, missing = find_peers(qrels, set(shared))
    fresh = parameters()
    data = folder / "data"
    with gainboard(data) as server:
        create_collection(server.client, LEVELS, qrels)
        before = database_bytes(data)
        if peer:
            compared = check_agreement(server.client, peer, runs[0], shared)
            _say(f"{compared} scores agree with pytrec_eval to four decimals")
        _say("uploading")
        timed_runs = runs[1 : repetitions + 1]
        rows = measure_upload(server.client, peer, program, timed_runs)
        for run in runs:
            upload(server.client, run)  # those that are there already stay as they are
        rows.append(storage(before, database_bytes(data), sum(run.stat().st_size for run in runs), count))
        _say("rescoring")
        rows += measure_rescoring(peer, qrels, runs[0], fresh, repetitions)
        _say("asking for leaderboards")
        rows += measure_leaderboard(server.client, count, fresh, repetitions, folder)
    _say("starting servers")
    rows.append(measure_start(folder, repetitions))
    return rows, missing


def _write(campaign: Campaign, folder: Path, count: int) -> tuple[Path, list[Path]]:
    qrels = folder / "qrels.txt"
    qrels.write_bytes(campaign.qrels())
    runs = [folder / f"run-{number:02}.txt" for number in range(count)]
    for number, run in enumerate(runs):
        run.write_bytes(campaign.run(number))
    return qrels, runs


def _say(what: str) -> None:
    print(f"benchmarks: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
