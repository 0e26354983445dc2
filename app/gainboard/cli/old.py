"""A command is a value. The parser, its help and the tests of its examples follow from it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from inspect import cleandoc
from typing import Any, NamedTuple

Options = Callable[[argparse.ArgumentParser], None]
"""A function that adds options to the parser of a command."""


def _no_options(parser: argparse.ArgumentParser) -> None:
    pass


class Example(NamedTuple):
    """A command line that works, which the tests run, and its purpose."""

    line: str
    why: str = ""


class Command(NamedTuple):
    """One command. `run` runs it and returns the exit code; its docstring is the long help. `help` is the short help.

    A command directly under `gainboard` takes its short help from its module's docstring. `run` reads its options from
    the arguments, by the names that `options` gives them.
    """

    name: str
    help: str | None
    run: Callable[[argparse.Namespace], int]
    options: Options = _no_options
    examples: Sequence[Example] = ()
    reads_options: bool = False
    """True if `run` reads its options itself: all words are arguments, also those that begin with a hyphen."""

    def add_to(self, commands: Any) -> None:
        """Add the command's parser to an argparse group of subparsers."""
        # No argument can begin with NUL, so argparse takes none for an option.
        own = {"prefix_chars": "\0", "add_help": False} if self.reads_options else {}
        parser = commands.add_parser(
            self.name,
            help=short(self.help),
            description=cleandoc(self.run.__doc__ or ""),
            epilog=_epilog(self.examples),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            **own,
        )
        self.options(parser)
        parser.set_defaults(run_command=self.run)


class Group(NamedTuple):
    """A group of commands about one noun: `gainboard NAME COMMAND`."""

    name: str
    help: str | None
    commands: Sequence[Command]

    def add_to(self, commands: Any) -> None:
        """Add the group's parser, and those of its commands, to an argparse group of subparsers."""
        parser = commands.add_parser(self.name, help=short(self.help), description=self.help)
        subparsers = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
        for each in self.commands:
            each.add_to(subparsers)


def short(help: str | None) -> str:
    """Return a help text for a list, without its full stop."""
    return (help or "").rstrip(".")


def together(*several: Options) -> Options:
    """Return a function that adds all of these options."""

    def options(parser: argparse.ArgumentParser) -> None:
        for each in several:
            each(parser)

    return options


def _epilog(examples: Sequence[Example]) -> str | None:
    if not examples:
        return None
    widest = max(len(example.line) for example in examples if example.why) if any(e.why for e in examples) else 0
    return "examples:\n" + "\n".join(f"  {each.line:{widest}}  {each.why}".rstrip() for each in examples)
