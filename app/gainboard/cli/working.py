"""Jobs and reports: both are asked for, waited for and read by the same commands, which differ in their noun."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gainboard.cli.command import Command, Example, Options, together
from gainboard.cli.configured import connecting
from gainboard.cli.connecting import Server, connected
from gainboard.cli.listing import formats, print_many, print_one, printable, printable_lines
from gainboard.cli.progress import Progress
from gainboard.cli.results import Work, give, resulting
from gainboard.cli.values import pair
from gainboard.errors import BadSetting

ID_LENGTH = 64
SHORT = 12
"""Characters of an id that lists show, and that are enough to name it."""


@dataclass(frozen=True)
class Noun:
    """What the commands are about, and its calls, each told by the command line.

    `listed` is all that the token sees where it is not told. `columns` are those of lists, after id, state and
    progress; `examples` those of `run`.
    """

    name: str
    kinds: Callable[[Server], Sequence[Any]]
    ask: Callable[[Server, argparse.Namespace, dict[str, Any]], Work]
    find: Callable[[Server, str], Work]
    listed: Callable[[Server, argparse.Namespace | None], Iterator[Work]]
    columns: Sequence[str]
    asking: Options
    listing: Options
    examples: Sequence[Example]

    def commands(self) -> list[Command]:
        """`gainboard NOUN run`, and so on."""
        one = together(connecting, _named)
        described = together(connecting, self.listing, formats)
        return [
            self._command("kinds", "what there is to ask for", _kinds, together(connecting, _of_kind)),
            self._command("run", f"ask for a {self.name}", _run, together(self.asking, _asked, connecting)),
            self._command("list", f"the {self.name}s that you see, newest first", _list, described),
            self._command("show", f"how a {self.name} is now", _show, together(one, formats)),
            self._command("wait", f"wait until a {self.name} is over", _wait, together(one, resulting)),
            self._command("result", f"what came out of a {self.name}", _result, together(one, resulting)),
            self._command("cancel", f"cancel a {self.name} that is queued or running", _cancel, one),
        ]

    def _command(self, name: str, help: str, run: Callable[[argparse.Namespace], int], options: Options) -> Command:
        def noted(parser: argparse.ArgumentParser) -> None:
            parser.set_defaults(noun=self)

        examples = self.examples if name == "run" else ()
        return Command(name, help, run, together(options, noted), examples)


def _named(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", help=f"its id, or as much of the beginning as no other has ({SHORT} will do)"
    )


def _of_kind(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", nargs="?", metavar="KIND", help="all about this one")


def _asked(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("kind", metavar="KIND", help="what to ask for; `kinds` lists what there is")
    parser.add_argument(
        "--set",
        dest="parameters",
        metavar="NAME=VALUE",
        type=pair,
        action="append",
        default=[],
        help="a parameter: JSON, a word, or a list with commas (`alphas=0.05,0.01`, or `alphas=0.05,` of one)",
    )
    parser.add_argument("--wait", action="store_true", help="wait until it is over, and show the result")
    resulting(parser)


def _kinds(parsed: argparse.Namespace) -> int:
    """What there is to ask for; with a name what it computes, and each of its parameters."""
    with connected(parsed) as server:
        kinds = {kind.name: kind for kind in parsed.noun.kinds(server)}
    if parsed.kind is None:
        print("\n\n".join(f"{name}\n{printable_lines(kind.definition, 2)}" for name, kind in kinds.items()))
        return 0
    if (found := kinds.get(parsed.kind)) is None:
        raise BadSetting(f"There is no kind {parsed.kind!r}; there are: {', '.join(kinds)}.")
    print(printable_lines(found.definition) + "\n")
    required = found.params.get("required", [])
    for name, schema in found.params.get("properties", {}).items():
        default = "required" if name in required else f"default {json.dumps(schema.get('default'), ensure_ascii=False)}"
        print(f"  {printable(name)} ({printable(default)})\n{printable_lines(schema.get('description', ''), 6)}")
    return 0


def _run(parsed: argparse.Namespace) -> int:
    """Ask for it; an equal request is the one that is there already. Without --wait or --output its id goes to standard
    output. Ctrl+C ends the waiting, and not the work."""
    with connected(parsed) as server:
        work = parsed.noun.ask(server, parsed, dict(parsed.parameters))
        if parsed.wait or parsed.output is not None:
            return _waited(work, parsed)
    print(work.id)
    print(f"{work.state}; to wait for it: gainboard {parsed.noun.name} wait {work.id[:SHORT]}", file=sys.stderr)
    return 0


def _list(parsed: argparse.Namespace) -> int:
    """Those that you see, newest first. A table shows the beginning of each id, which is enough to name it."""
    columns = ("id", "state", "progress.done", "progress.total", *parsed.noun.columns, "created_at")
    with connected(parsed) as server:
        items = (work.latest for work in parsed.noun.listed(server, parsed))
        if parsed.format == "table":
            items = (each.model_copy(update={"id": each.id[:SHORT]}) for each in items)
        print_many(items, columns, parsed.format)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    """How it is now: its state, progress, parameters as they were settled, tables and figures."""
    with connected(parsed) as server:
        print_one(_found(server, parsed).latest, parsed.format)
    return 0


def _wait(parsed: argparse.Namespace) -> int:
    """Wait until it is over, and show the result; exit code 1 if it failed or was cancelled. Ctrl+C ends the waiting,
    and not the work."""
    with connected(parsed) as server:
        return _waited(_found(server, parsed), parsed)


def _result(parsed: argparse.Namespace) -> int:
    """Show what came out: a table, all of it as JSON, or with --output everything as files."""
    with connected(parsed) as server:
        give(_found(server, parsed), parsed)
    return 0


def _cancel(parsed: argparse.Namespace) -> int:
    """Cancel it, unless it is over. The same request queues it again."""
    with connected(parsed) as server:
        print(_found(server, parsed).cancel().state)
    return 0


def _waited(work: Work, parsed: argparse.Namespace) -> int:
    name = parsed.noun.name
    try:
        with Progress(f"{name} {work.id[:SHORT]}") as progress:
            work.wait(progress=lambda shown: progress.at(shown.progress.done, shown.progress.total, shown.state))
    except KeyboardInterrupt:
        again, end = (f"gainboard {name} {verb} {work.id[:SHORT]}" for verb in ("wait", "cancel"))
        print(f"the {name} goes on; to wait for it again: {again}; to end it: {end}", file=sys.stderr)
        raise
    give(work, parsed)
    return 0


def _found(server: Server, parsed: argparse.Namespace) -> Work:
    noun: Noun = parsed.noun
    if len(parsed.id) >= ID_LENGTH:
        return noun.find(server, parsed.id)
    matching = [work.id for work in noun.listed(server, None) if work.id.startswith(parsed.id)]
    if len(matching) != 1:
        many = f"{len(matching)} {noun.name}s" if matching else f"no {noun.name} that you see"
        raise BadSetting(f"The id of {many} begins with {parsed.id!r}.")
    return noun.find(server, matching[0])
