"""Commands as users run them: `gainboard score` beside its peers, and the CPU time until a command does its work."""

from __future__ import annotations

import gzip
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from statistics import median

from benchmarks.data import MARCO, Campaign, Size
from benchmarks.processes import Spent, environment_of_users, run_command
from benchmarks.report import Row, Target, costs, cpu_cost, cpu_ratio, median_cpu
from benchmarks.reports import REAL, real_qrels, real_runs

_UNTIL_CONNECTING = """
import os, socket, sys, time

def end(*arguments, **options):
    print(time.process_time(), file=sys.stderr, flush=True)
    os._exit(0)

socket.create_connection = end
from gainboard.cli import main
try:
    main(sys.argv[1:])
except SystemExit as ended:
    end() if ended.code == 0 else sys.exit(1)
sys.exit(1)
"""
_GAINBOARD = "import sys; from gainboard.cli import main; sys.exit(main())"
_PYTREC_EVAL = """
import sys
import pytrec_eval

with open(sys.argv[1]) as lines:
    evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(lines), {"map", "ndcg_cut.10", "P.10"})
for path in sys.argv[2:]:
    with open(path) as lines:
        evaluator.evaluate(pytrec_eval.parse_run(lines))
"""
_METRICS = ("AP", "nDCG@10", "P@10")
_SCORE = (sys.executable, "-c", _GAINBOARD, "score", *(part for each in _METRICS for part in ("-m", each)))
RUNS = 37
_SMALL = Size(topics=43, judged=200, retrieved=100, runs=1)


@dataclass(frozen=True)
class Files:
    """Qrels and runs for `gainboard score`, and the smallest of the runs."""

    qrels: Path
    runs: Sequence[Path]
    small_qrels: Path
    small: Path
    what: str


def unpack_real(folder: Path, real: Path) -> Files:
    """Return the real runs as plain text, which every program reads."""
    target = folder / REAL
    target.mkdir()
    for run in real_runs(real):
        (target / run.stem).write_bytes(gzip.decompress(run.read_bytes()))
    runs = sorted(target.iterdir())
    smallest = min(runs, key=lambda run: run.stat().st_size)
    return Files(real_qrels(real), runs, real_qrels(real), smallest, f"real runs of {REAL}")


def generate(folder: Path, seed: int, qrels: Path, runs: Sequence[Path]) -> Files:
    """Return the first of the runs that are there, and a small run."""
    small = Campaign(seed, _SMALL)
    small_qrels, small_run = folder / "small-qrels.txt", folder / "small-run.txt"
    small_qrels.write_bytes(small.qrels())
    small_run.write_bytes(small.run(0))
    return Files(qrels, runs[:RUNS], small_qrels, small_run, "generated runs")


def measure_score(files: Files, repetitions: int) -> Iterator[Row]:
    """Yield the times of `gainboard score` and `trec_eval` of many runs beside trec_eval's and ir_measures'."""
    every = [str(files.qrels), *map(str, files.runs)]
    measures = ["-m", "map", "-m", "ndcg_cut.10", "-m", "P.10"]
    program = which("trec_eval")
    if program:
        name, peer = "trec_eval", [(program, *measures, str(files.qrels), str(run)) for run in files.runs]
    else:
        name, peer = "pytrec_eval", _by_pytrec_eval(files.qrels, *files.runs)
    what = f"gainboard score, {len(files.runs)} {files.what}"
    yield _by_clock(f"{what} / {name}", *_in_turn([[*_SCORE, *every]], peer, min(repetitions, 5)), Target(1.0))
    drop_in = [sys.executable, "-c", _GAINBOARD, "trec_eval", *measures, *every]
    what = f"gainboard trec_eval, {len(files.runs)} {files.what} in one call"
    yield _by_clock(f"{what} / {name}", *_in_turn([drop_in], peer, min(repetitions, 5)), Target(1.0))
    one = [*_SCORE, str(files.small_qrels), str(files.small)]
    theirs = _by_ir_measures(files.small_qrels, files.small)
    spent, what = _in_turn([one], theirs, repetitions), "gainboard score, one small run / ir_measures"
    yield _by_cpu(what, *spent, Target(0.9))
    yield _by_clock(f"{what}, on the clock", *spent)


def measure_large_score(qrels: Path, run: Path) -> Iterator[Row]:
    """Yield the times of `gainboard score` of one large run, once: it takes a peer many seconds."""
    ours, what = [[*_SCORE, str(qrels), str(run)]], f"gainboard score, one run of {MARCO.topics:,} topics"
    for name, theirs in (("pytrec_eval", _by_pytrec_eval(qrels, run)), ("ir_measures", _by_ir_measures(qrels, run))):
        yield _by_cpu(f"{what} / {name}", *_in_turn(ours, theirs, 1, is_warmed=False), Target(1.0))


def _by_pytrec_eval(qrels: Path, *runs: Path) -> list[tuple[str, ...]]:
    """Return the command of pytrec_eval in one process; none where it is not installed."""
    command = (sys.executable, "-c", _PYTREC_EVAL, str(qrels), *map(str, runs))
    return [command] if find_spec("pytrec_eval") else []


def _by_ir_measures(qrels: Path, run: Path) -> list[tuple[str, ...]]:
    command = (sys.executable, "-m", "ir_measures", str(qrels), str(run), *_METRICS)
    return [command] if find_spec("ir_measures") else []


def measure_start_up(repetitions: int) -> Iterator[Row]:
    """Yield the CPU time of a command from its start: to the end of its help, and to its request to a server."""
    for command, what, bound in (
        ("--help", "gainboard --help, CPU", 0.15),
        ("me", "gainboard me until its request goes out, CPU", 0.5),
    ):
        yield Row(what, _cpu_until_connecting(command, repetitions), target=Target(bound))


def _in_turn(
    ours: Sequence[Sequence[str]], theirs: Sequence[Sequence[str]], repetitions: int, *, is_warmed: bool = True
) -> tuple[list[Spent], list[Spent]]:
    """Return what both sides spent in each turn. A side without commands has spent nothing.

    Before the first turn, all commands run once, so that their byte code is compiled, unless `is_warmed` is false: one
    that takes many seconds does not show it.
    """
    mine: list[Spent] = []
    others: list[Spent] = []
    for turn in range(0 if is_warmed else 1, repetitions + 1):
        for commands, spent in ((ours, mine), (theirs, others)):
            each = [run_command(command) for command in commands]
            if turn and each:
                spent.append(Spent(sum(one.wall for one in each), sum(one.cpu or 0.0 for one in each)))
    return mine, others


def _by_clock(what: str, mine: Sequence[Spent], others: Sequence[Spent], target: Target | None = None) -> Row:
    row = costs(what, [one.wall for one in mine], [one.wall for one in others], target)
    return replace(row, cpu=median_cpu(mine))


def _by_cpu(what: str, mine: Sequence[Spent], others: Sequence[Spent], target: Target) -> Row:
    return cpu_ratio(f"{what}, CPU", mine, others, target) if others else cpu_cost(f"{what}, CPU", mine)


def _cpu_until_connecting(command: str, repetitions: int) -> float:
    """Return the median over new processes. A request goes out when the command first connects, which ends it here."""
    environment = {**environment_of_users(), "GAINBOARD_SERVER": "http://127.0.0.1:9"}
    line = [sys.executable, "-c", _UNTIL_CONNECTING, command]
    done = [
        subprocess.run(line, env=environment, capture_output=True, text=True, check=True) for _ in range(repetitions)
    ]
    return median(float(each.stderr.splitlines()[-1]) for each in done)
