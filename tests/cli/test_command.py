"""A parser is made of a function's signature, and calls the function with typed values."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal, Unpack

import pytest

from gainboard.cli.command import Argument, CommandParser, Misuse, Option, Told, command
from gainboard.cli.parsing import parser
from gainboard.cli.parts import every_command
from gainboard.notation.queries import SweepOptions


@dataclass(frozen=True)
class Shared:
    server: Annotated[str | None, Option("where", group="server")] = None
    unsaid: str = "never"


def run(function, line):
    command("")(function).add_to(commands := CommandParser().add_subparsers())
    (made,) = commands.choices.values()
    parsed = made.parse_args(line.split())
    return parsed.run_command(parsed)


def test_types_say_how_words_are_read_and_defaults_stand_in_the_signature():
    calls = []

    def act(
        at: Shared,
        file: Annotated[Path, Argument("a file")],
        *,
        times: Annotated[int, Option("how often", "-n")] = 1,
        share: Annotated[float | None, Option("how much")] = None,
        since: Annotated[datetime | None, Option("from when")] = None,
        deep: Annotated[bool | None, Option("whether")] = None,
        dry_run: Annotated[bool, Option("nothing")] = False,
        names: Annotated[Sequence[str], Option("a name", "--name", splits=str.split)] = (),
        kind: Annotated[Literal["a", "b"], Option("a kind")] = "a",
    ) -> None:
        calls.append((at, file, times, share, since and since.year, deep, dry_run, list(names), kind))

    assert run(act, "x") == 0
    line = "x -n 3 --share 0.5 --since 2026-03-02T12:00:00Z --no-deep --dry-run --name a --name b --kind b --server s"
    assert run(act, line) == 0
    assert calls == [
        (Shared(), Path("x"), 1, None, None, None, False, [], "a"),
        (Shared("s"), Path("x"), 3, 0.5, 2026, False, True, ["a", "b"], "b"),
    ]
    for wrong in ("", "x -n three", "x --kind c", "x y"):
        with pytest.raises(SystemExit):
            run(act, wrong)


def test_an_argument_beside_the_option_in_its_place_is_refused_with_the_reason(capsys):
    def act(files: Annotated[Sequence[str], Argument("files"), Option("files", "--file", nargs="+")] = ()) -> None:
        pass

    with pytest.raises(SystemExit):
        run(act, "a --file b")
    assert "--file names what 'a' would name. Leave one of them out." in capsys.readouterr().err


def test_a_number_of_a_query_is_within_its_limits(capsys):
    with pytest.raises(SystemExit):
        parser(["leaderboard"]).parse_args(["leaderboard", "--top", "0"])
    assert "argument --top: '0' is not a number from 1 to 100,000" in capsys.readouterr().err


def test_a_query_is_taken_with_its_fields_and_the_parameters_of_metrics():
    calls = []

    def act(qrels: Annotated[int, Option("read by the command itself")] = 0, **query: Unpack[SweepOptions]) -> None:
        calls.append((qrels, query))

    run(act, "--qrels 2 --late exclude --beta 1 --beta 10")
    assert calls == [(2, {"late": "exclude", "beta": ["1", "10"]})]


def test_a_command_ends_as_it_says(capsys):
    def act(how: Annotated[str, Argument("how")]) -> int:
        if how == "misused":
            raise Misuse("That makes no sense.")
        if how == "told":
            raise Told
        return 3

    assert (run(act, "told"), run(act, "code")) == (1, 3)
    with pytest.raises(SystemExit, match="2"):
        run(act, "misused")
    assert capsys.readouterr().err.endswith("act: error: That makes no sense.\n")


def test_no_two_options_of_a_command_have_one_name():
    for each in every_command(parser()):
        names = Counter(action.dest for action in each._actions if action.option_strings)
        assert [name for name, count in names.items() if count > 1] == [], each.prog
