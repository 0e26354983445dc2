"""A command imports what it needs and nothing else, so that it starts at once. The benchmarks have the times."""

from __future__ import annotations

import subprocess
import sys

import pytest

from gainboard.cli.parsing import every_command, summary
from tests.outside import outside

pytestmark = pytest.mark.outer

HEAVY = {"fastapi", "httpx", "numpy", "pydantic", "scipy", "sqlalchemy", "starlette", "uvicorn"}
CLIENT = {"httpx", "pydantic"}
PROGRAM = """
import sys
from gainboard.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
print(*{name.partition(".")[0] for name in sys.modules}, file=sys.stderr)
"""


def modules(line: str) -> set[str]:
    """Return the packages that a command line imports up to its end; there is no server that would answer."""
    command = [sys.executable, "-c", PROGRAM, *line.split()]
    world = outside(GAINBOARD_SERVER="http://127.0.0.1:9", GAINBOARD_COLLECTION="web")
    done = subprocess.run(command, env=world, capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


def imported(line: str) -> set[str]:
    """Return the heavy ones of these packages."""
    return HEAVY & modules(line)


@pytest.mark.parametrize("line", ["--help", "--version", "", "no-such-command", "trec_eval -v", "trec_eval"])
def test_help_imports_nothing_heavy(line: str) -> None:
    assert imported(line) == set()


@pytest.mark.parametrize("line", ["me", "runs", "collection list", "token list", "job list", "report list", "submit f"])
def test_a_command_against_a_server_imports_the_client_alone(line: str) -> None:
    assert imported(line) == CLIENT


@pytest.mark.parametrize("line", ["scores -m AP", "leaderboard -m AP", "sweep -m AP", "qrels list"])
def test_a_command_with_parameters_of_metrics_imports_their_catalogue_and_no_service(line: str) -> None:
    assert imported(line) == CLIENT | {"numpy"}


@pytest.mark.parametrize("line", ["score --help", "check --help", "trec_eval -h", "trec_eval qrels run"])
def test_a_command_on_files_imports_neither_client_nor_service(line: str) -> None:
    assert imported(line) == {"numpy"}


def test_trec_eval_starts_without_a_parser_because_scripts_call_it_once_per_run() -> None:
    assert "argparse" not in modules("trec_eval qrels run")


def test_a_design_imports_distributions_and_nothing_else() -> None:
    line = "design t-test --difference 0.1 --variance 0.05"
    assert imported(line) == {"numpy", "scipy"}
    assert imported("design t-test --help") == {"numpy"}


def test_the_short_help_that_is_read_is_that_of_the_command() -> None:
    for command in every_command():
        assert summary(command.name) == (command.help or "").rstrip(".")
        assert summary(command.name)
