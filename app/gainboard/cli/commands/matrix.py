"""Upload scores that were computed elsewhere."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from gainboard.cli.command import Command, Example, Group, together
from gainboard.cli.connecting import collection_option, connect_server, server_options, tell_of_refusal
from gainboard.cli.options import STANDARD_INPUT, number
from gainboard.cli.printing import format_option, print_many, print_utf8
from gainboard.client import Problem
from gainboard.errors import BadSetting

COLUMNS = ("metric", "version", "direction", "low", "high", "runs", "topics", "filled", "created_at")


def _put(parsed: argparse.Namespace) -> int:
    """Upload scores of stored runs as the next version of a score matrix (organisers). The file is CSV with a header,
    the text of `trec_eval -q`, or JSON. From then on `custom:NAME` is a metric.
    """
    source: Any = sys.stdin.buffer if parsed.file == STANDARD_INPUT else parsed.file
    names = ("direction", "low", "high", "missing", "measure")
    said = {name: getattr(parsed, name) for name in names} | {"format": parsed.form, "run": parsed.of_run}
    with connect_server(parsed) as server:
        try:
            made = server.gainboard.put_score_matrix(server.collection, parsed.name, source, **said)
        except OSError as error:
            raise BadSetting(f"Cannot read {parsed.file}: {error.strerror or error}.") from error
        except Problem as problem:
            tell_of_refusal(parsed.file, problem)
            return 1
    filled = f", {made.filled:,} missing scores filled" if made.filled else ""
    dropped = f", topics left out: {', '.join(made.dropped)}" if made.dropped else ""
    print(f"{made.label}: {made.runs:,} runs, {made.topics:,} topics{filled}{dropped}")
    return 0


def _list(parsed: argparse.Namespace) -> int:
    """List the score matrices of a collection, each in its newest version."""
    with connect_server(parsed) as server:
        print_many(server.gainboard.score_matrices(server.collection), COLUMNS, parsed.format)
    return 0


def _get(parsed: argparse.Namespace) -> int:
    """Print a score matrix as CSV, with a row for each run and a column for each topic."""
    with connect_server(parsed) as server:
        print_utf8()
        print(server.gainboard.score_matrix_text(server.collection, parsed.name), end="")
    return 0


def _delete(parsed: argparse.Namespace) -> int:
    """Delete a score matrix with all its versions (organisers). Jobs about it keep their results."""
    with connect_server(parsed) as server:
        server.gainboard.delete_score_matrix(server.collection, parsed.name)
    print(f"{parsed.name}: deleted")
    return 0


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="its name, without custom:")


def _file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="the scores; - is standard input")
    parser.add_argument("--direction", choices=("up", "down"), help="which scores are better (default: up, the higher)")
    parser.add_argument("--low", type=number, help="the lowest score that is possible")
    parser.add_argument("--high", type=number, help="the highest score that is possible")
    parser.add_argument("--missing", metavar="VALUE", help="what a missing score is: a number, zero or drop-topic")
    parser.add_argument(
        "--as", dest="form", choices=("csv", "trec_eval", "json"), help="the form of the file (default: guessed)"
    )
    parser.add_argument("--measure", help="the measure to read, if the file has several")
    parser.add_argument("--run", dest="of_run", metavar="RUN", help="the run of a file of trec_eval that names none")


_ABOUT = together(collection_option, server_options)

COMMAND = Group(
    "matrix",
    __doc__,
    [
        Command(
            "put",
            "upload scores",
            _put,
            together(_named, _file, _ABOUT),
            [Example("gainboard matrix put nuggets nuggets.csv -c web --low 0 --high 1 --missing zero")],
        ),
        Command(
            "list",
            "list the score matrices",
            _list,
            together(format_option, _ABOUT),
            [Example("gainboard matrix list -c web")],
        ),
        Command(
            "get",
            "print scores as CSV",
            _get,
            together(_named, _ABOUT),
            [Example("gainboard matrix get judge -c web > judge.csv")],
        ),
        Command(
            "delete",
            "delete a score matrix",
            _delete,
            together(_named, _ABOUT),
            [Example("gainboard matrix delete spare -c web")],
        ),
    ],
)
