"""A command imports what it needs and nothing else, so that it starts at once. The benchmarks have the times."""

import subprocess
import sys

import pytest

from gainboard.cli.parsing import every_command, summary
from tests.outside import outside

pytestmark = pytest.mark.outer

HEAVY = {"fastapi", "httpx", "numpy", "pydantic", "scipy", "sqlalchemy", "starlette", "uvicorn"}
CLIENT = {"httpx", "pydantic"}
FOR_OTHERS = {
    *("multiprocessing", "numba", "pydantic_core", "yaml"),
    *("gainboard.acceleration.serving", "gainboard.analyses", "gainboard.evaluation.runs.intake"),
    *("gainboard.exhibits.drawing", "gainboard.exhibits.figures", "gainboard.exhibits.latex", "gainboard.statistics"),
    *("gainboard.store.records", "gainboard.trec.csv_files", "gainboard.trec.score_matrices"),
}
"""Modules that `gainboard score` of a small file does without. Several of them take a twentieth of its time."""
PROGRAM = """
import sys
from gainboard.cli import main
for line in sys.argv[1:]:
    try:
        main(line.split())
    except SystemExit:
        pass
    print("IMPORTED", *sys.modules, file=sys.stderr)
"""


def modules(*lines, **variables):
    """Return the modules that are imported at the end of each command line, one after another in one process.

    There is no server that would answer.
    """
    world = outside(**{"GAINBOARD_SERVER": "http://127.0.0.1:9", "GAINBOARD_COLLECTION": "web"} | variables)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *lines], env=world, capture_output=True, text=True, check=True
    )
    listed = [set(line.split()[1:]) for line in done.stderr.splitlines() if line.startswith("IMPORTED ")]
    assert len(listed) == len(lines)
    return listed


def imported(*lines):
    return [HEAVY & found for found in modules(*lines)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the threads of a process")
def test_linear_algebra_starts_no_threads_in_any_command():
    world = {name: value for name, value in outside().items() if not name.endswith("_NUM_THREADS")}
    program = "import re, numpy; print(re.search(r'Threads:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    done = subprocess.run(
        [sys.executable, "-c", f"{PROGRAM}\n{program}", "--version"],
        env=world,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split()[-1] == "1"


def test_help_imports_nothing_heavy_and_a_command_against_a_server_the_client_and_for_metrics_their_catalogue():
    lines = ["--help", "--version", "", "no-such-command", "trec_eval -v", "trec_eval"]
    asking = ["me", "runs", "collection list", "token list", "job list", "report list", "submit f"]
    of_metrics = ["scores -m AP", "leaderboard -m AP", "sweep -m AP", "qrels list"]
    expected = [set()] * len(lines) + [CLIENT] * len(asking) + [CLIENT | {"numpy"}] * len(of_metrics)
    assert imported(*lines, *asking, *of_metrics) == expected


def test_a_command_on_files_imports_neither_client_nor_service_and_trec_eval_no_parser_either():
    # Scripts call trec_eval once per run.
    lines = ["score --help", "check --help", "design t-test --help", "gate --help"]
    found = modules("trec_eval qrels run", "trec_eval -h", *lines)
    assert [HEAVY & each for each in found] == [{"numpy"}] * 6
    assert "argparse" not in found[0]


def test_the_scoring_and_checking_of_small_files_import_nothing_that_others_need(prepared):
    files = f"{prepared / 'qrels.txt'} {prepared / 'run.txt'}"
    scored, checked = modules(f"score {files}", f"check {prepared / 'run.txt'}", GAINBOARD_COLLECTION="")
    assert "gainboard.metrics.scoring" in scored
    assert scored & (HEAVY | FOR_OTHERS) == checked & (HEAVY | {"numba"}) == {"numpy"}


def test_a_design_imports_distributions_and_nothing_else():
    assert imported("design t-test --difference 0.1 --variance 0.05") == [{"numpy", "scipy"}]


def test_the_short_help_that_is_read_is_that_of_the_command():
    for command in every_command():
        assert summary(command.name) == (command.help or "").rstrip(".")
        assert summary(command.name)
