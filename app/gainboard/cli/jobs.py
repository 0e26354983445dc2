"""The commands for jobs and reports. They ask for work, wait for it and read results; they differ only in their
noun.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any, TypeVar

from gainboard.cli.connecting import CalledServer, connect_server, server_options
from gainboard.cli.loading import connect
from gainboard.cli.old import Command, Example, Options, together
from gainboard.cli.options import parse_pair, with_lists
from gainboard.cli.printing import (
    format_option,
    format_rows,
    print_json,
    print_many,
    print_one,
    printable,
    printable_lines,
)
from gainboard.cli.progress import ProgressLine
from gainboard.cli.result_files import JobOrReport, exhibits_of, write_files
from gainboard.errors import BadSetting, RowDamaged
from gainboard.exhibits import bounded_levels

T = TypeVar("T")
ID_LENGTH = 64
SHORT = 12
"""The characters of an id that lists show, which are enough to identify it."""
FORMATS = ("table", "csv", "json", "latex")
_INTERRUPT_SECONDS = 0.2


@dataclass(frozen=True)
class Noun:
    """The noun of the commands, `job` or `report`, with its calls, which get the command line.

    `list_work` returns everything that the token may see if it gets no arguments. `columns` are the columns of lists,
    after id, state and progress. `examples` are those of `run`.
    """

    name: str
    list_kinds: Callable[[CalledServer], Sequence[Any]]
    ask: Callable[[CalledServer, argparse.Namespace, dict[str, Any]], JobOrReport]
    find: Callable[[CalledServer, str], JobOrReport]
    list_work: Callable[[CalledServer, argparse.Namespace | None], Iterator[JobOrReport]]
    columns: Sequence[str]
    run_options: Options
    list_options: Options
    examples: Sequence[Example]

    def commands(self) -> list[Command]:
        """Return the commands, `gainboard NOUN run` and so on."""
        one = together(server_options, _id_argument)
        described = together(server_options, self.list_options, format_option)
        return [
            self._command("kinds", "list what can be run", _kinds, together(server_options, _kind_argument)),
            self._command(
                "run", f"run a {self.name}", _run, together(self.run_options, _request_options, server_options)
            ),
            self._command("list", f"list the {self.name}s that you may see, newest first", _list, described),
            self._command("show", f"show the state of a {self.name}", _show, together(one, format_option)),
            self._command("wait", f"wait until a {self.name} is over", _wait, together(one, result_options)),
            self._command("result", f"show the result of a {self.name}", _result, together(one, result_options)),
            self._command("cancel", f"cancel a {self.name} that is queued or running", _cancel, one),
        ]

    def _command(self, name: str, help: str, run: Callable[[argparse.Namespace], int], options: Options) -> Command:
        def noted(parser: argparse.ArgumentParser) -> None:
            parser.set_defaults(noun=self)

        examples = self.examples if name == "run" else ()
        return Command(name, help, run, together(options, noted), examples)


def _id_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="ID",
        help=f"the id, or its first characters, as many as make it unique ({SHORT} are usually enough)",
    )


def _kind_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", metavar="KIND", help="describe only this kind")


def _request_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="the kind to run; `kinds` lists all")
    parser.add_argument(
        "--set",
        dest="parameters",
        metavar="NAME=VALUE",
        type=parse_pair,
        action="append",
        default=[],
        help="a parameter: JSON, a word, or a list with commas (`alphas=0.05,0.01`)",
    )
    parser.add_argument("--wait", action="store_true", help="wait until it is over, and show the result")
    result_options(parser)


def _kinds(parsed: argparse.Namespace) -> int:
    """List the kinds that can be run; with a name, describe the kind and each of its parameters."""
    with connect_server(parsed) as server:
        kinds = {kind.name: kind for kind in parsed.noun.list_kinds(server)}
    if parsed.kind is None:
        print("\n\n".join(f"{name}\n{printable_lines(kind.definition, 2)}" for name, kind in kinds.items()))
        return 0
    if (found := kinds.get(parsed.kind)) is None:
        raise BadSetting(f"There is no kind {parsed.kind!r}. Available: {', '.join(kinds)}.")
    print(printable_lines(found.definition) + "\n")
    required = found.params.get("required", [])
    for name, schema in found.params.get("properties", {}).items():
        default = "required" if name in required else f"default {json.dumps(schema.get('default'), ensure_ascii=False)}"
        print(f"  {printable(name)} ({printable(default)})\n{printable_lines(schema.get('description', ''), 6)}")
    return 0


def _run(parsed: argparse.Namespace) -> int:
    """Ask for the work; an equal request returns the one that exists. Without --wait or --output, print its id on
    standard output. Ctrl+C ends the waiting; the work goes on.
    """
    if parsed.output is not None and parsed.run_files and find_spec("matplotlib") is None:
        # Before the work, which may take long.
        print(
            "gainboard: note: figures will not be drawn, because the `figures` extra is not installed here. To have "
            "them, stop with Ctrl+C and install it, in the folder of Gainboard's source: pip install '.[figures]'",
            file=sys.stderr,
        )
    with connect(parsed) as server:
        work = parsed.noun.ask(server, parsed, _parameters(server, parsed))
        # A service of this command alone ends with it.
        if parsed.wait or parsed.output is not None or parsed.run_files:
            return _wait_and_show(work, parsed)
    print(work.id)
    print(f"{work.state}; to wait for it: gainboard {parsed.noun.name} wait {work.id[:SHORT]}", file=sys.stderr)
    return 0


def _parameters(server: CalledServer, parsed: argparse.Namespace) -> dict[str, Any]:
    """Return the parameters of the command line. The server says which of them are lists."""
    given = dict(parsed.parameters)
    if all(isinstance(value, list) for value in given.values()):
        return given
    schemas = {kind.name: kind.params for kind in parsed.noun.list_kinds(server)}
    return with_lists(given, schemas.get(parsed.kind, {}).get("properties", {}))


def _list(parsed: argparse.Namespace) -> int:
    """List those that you may see, newest first. A table shows the first characters of each id, which are enough to
    name it; without a token, whole ids.
    """
    columns = ("id", "state", "progress.done", "progress.total", *parsed.noun.columns, "created_at")
    with connect_server(parsed) as server:
        items = (work.latest for work in parsed.noun.list_work(server, parsed))
        # Without a token, the server lists no jobs of all collections, among which a short id could be found.
        if parsed.format == "table" and server.target.token is not None:
            items = (each.model_copy(update={"id": each.id[:SHORT]}) for each in items)
        print_many(items, columns, parsed.format)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    """Show the state, progress, parameters, tables and figures."""
    with connect_server(parsed) as server:
        print_one(_find_work(server, parsed).latest, parsed.format)
    return 0


def _wait(parsed: argparse.Namespace) -> int:
    """Wait until the work is over, and show the result. The exit code is 1 if it failed or was cancelled. Ctrl+C ends
    the waiting; the work goes on.
    """
    with connect_server(parsed) as server:
        return _wait_and_show(_find_work(server, parsed), parsed)


def _result(parsed: argparse.Namespace) -> int:
    """Show the result: a table, everything as JSON, or with --output everything as files."""
    with connect_server(parsed) as server:
        show_result(_find_work(server, parsed), parsed)
    return 0


def _cancel(parsed: argparse.Namespace) -> int:
    """Cancel the work, unless it is over. The same request queues it again. What is damaged is deleted."""
    from gainboard.client import Problem  # noqa: PLC0415 (with httpx)

    with connect_server(parsed) as server:
        try:
            work = _find_work(server, parsed)
        except Problem as problem:
            if problem.type != RowDamaged.slug:
                raise
            # Only lists show what is damaged.
            listed = parsed.noun.list_work(server, None)
            work = next(each for each in listed if each.id.startswith(parsed.id))
        print(work.cancel().state)
    return 0


def _wait_and_show(work: JobOrReport, parsed: argparse.Namespace) -> int:
    wait_for(work, parsed.noun.name)
    show_result(work, parsed)
    return 0


def wait_shown(work: JobOrReport, label: str) -> None:
    """Wait until the work has succeeded, and show its progress. Raise WorkFailed if it fails or is cancelled."""
    with ProgressLine(label) as line:
        apart(lambda: work.wait(progress=lambda now: line.at(now.progress.done, now.progress.total, now.state)))


def apart(call: Callable[[], T]) -> T:
    """Return what a call returns. It runs in another thread: Ctrl+C ends the wait for it, and never interrupts it.

    An interrupt within a request may come while the HTTP library holds its lock. The library then waits for that lock
    itself, without an end.
    """
    done: Future[T] = Future()

    def run() -> None:
        try:
            done.set_result(call())
        except BaseException as error:  # noqa: BLE001 (whoever waits raises it)
            done.set_exception(error)

    thread = Thread(target=run, daemon=True)
    thread.start()
    # Python sees no interrupt that comes just before a wait without an end.
    while thread.is_alive():
        thread.join(_INTERRUPT_SECONDS)
    return done.result()


def wait_for(work: JobOrReport, name: str) -> None:
    """Wait as `wait_shown` does, and say at Ctrl+C that the work goes on."""
    try:
        wait_shown(work, f"{name} {work.id[:SHORT]}")
    except KeyboardInterrupt:
        again, end = (f"gainboard {name} {verb} {work.id[:SHORT]}" for verb in ("wait", "cancel"))
        print(f"the {name} goes on. To wait again: {again}. To cancel it: {end}", file=sys.stderr)
        raise


def _find_work(server: CalledServer, parsed: argparse.Namespace) -> JobOrReport:
    noun: Noun = parsed.noun
    if len(parsed.id) >= ID_LENGTH:
        return noun.find(server, parsed.id)
    if server.target.token is None:
        raise BadSetting(
            f"{parsed.id!r} is the beginning of an id, and without a token only whole ids are found. "
            f"`gainboard {noun.name} list -c NAME` shows them."
        )
    matching = [work.id for work in noun.list_work(server, None) if work.id.startswith(parsed.id)]
    if len(matching) != 1:
        found = f"{len(matching)} {noun.name}s that you see have" if matching else f"No {noun.name} that you see has"
        raise BadSetting(
            f"{found} an id that begins with {parsed.id!r}. To see the ids: gainboard {noun.name} list -f json"
        )
    return noun.find(server, matching[0])


def result_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that show a result."""
    parser.add_argument("-f", "--format", choices=FORMATS, default="table", help="the format (default: table)")
    parser.add_argument("--table", metavar="NAME", help="the table to show (default: the first; JSON has all)")
    parser.add_argument(
        "--output",
        type=Path,
        metavar="DIR",
        help="write everything into this folder instead: JSON, CSV, LaTeX, SVG, and an index with captions",
    )


def show_result(work: JobOrReport, parsed: argparse.Namespace) -> None:
    """Show the result as the command line says. Raise Problem if there is none."""
    if parsed.output is not None:
        write_files(work, parsed.output)
    elif parsed.format == "json":
        print_json(work.result_json())
    elif parsed.format == "latex":
        print(work.latex(parsed.table), end="")
    elif parsed.format == "csv":
        print(work.table(parsed.table).csv, end="")
    else:
        _print_table(work, parsed.table)


def _print_table(work: JobOrReport, name: str | None) -> None:
    columns: dict[str, Sequence[Any]] = dict(work.table(name).columns())
    if columns.keys() >= {"asl", "resamples"}:
        columns["asl"] = bounded_levels(columns["asl"], columns["resamples"])
    print(format_rows(list(columns), list(zip(*columns.values(), strict=True))), end="")
    tables, figures = exhibits_of(work)
    chosen = name or next(iter(tables))
    for note in next((each.notes for each in work.latest.tables or () if each.name == chosen), ()):
        print(f"note: {printable(note)}", file=sys.stderr)
    if others := [each for each in tables if each != chosen]:
        print(f"other tables (--table NAME): {', '.join(others)}", file=sys.stderr)
    if figures:
        print(f"figures (--output DIR): {', '.join(figures)}", file=sys.stderr)
