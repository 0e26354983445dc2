"""The parser of the command line, which is made from the commands."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pkgutil import get_data, iter_modules

from gainboard import __version__
from gainboard.cli import commands
from gainboard.cli.command import Command, CommandParser, Group, short, written

_MODULES = [module.name for module in iter_modules(commands.__path__)]
_NAMES = sorted(map(written, _MODULES))


def parser(names: Sequence[str] = _NAMES) -> argparse.ArgumentParser:
    """Return the parser with the commands of these names. With none of them, all commands are lines in its list.

    A command must be imported to know its options, which takes up to half a second: NumPy, httpx, Pydantic. The list
    reads all files of commands, and no help or message of a single command shows it.
    """
    top = CommandParser(
        prog="gainboard",
        description="Evaluation of information retrieval with graded relevance, as a service and offline.",
        epilog="`gainboard COMMAND --help` has examples.",
    )
    top.add_argument("--version", action="version", version=f"gainboard {__version__}")
    subparsers = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    wanted = [name for name in _NAMES if name in names]
    for name in wanted:
        _command(name).add_to(subparsers)
    for name in () if wanted else _NAMES:
        subparsers.add_parser(name, help=summary(name))
    return top


def every_command() -> list[Command | Group]:
    """Import all commands and return them by name."""
    return [_command(name) for name in _NAMES]


def summary(name: str) -> str:
    """Read the short help of a command from the first line of its module, without importing the module."""
    source = get_data(commands.__name__, f"{_module(name)}.py")
    assert source is not None
    return short(source.decode().split('"""', 2)[1])


def _module(name: str) -> str:
    return name.replace("-", "_")


def _command(name: str) -> Command | Group:
    """Return the command of a module that has its name, or the group of the commands that a module defines."""
    module = import_module(f"{commands.__name__}.{_module(name)}")
    defined = [value for value in vars(module).values() if isinstance(value, Command)]
    alone = [command for command in defined if command.name == name]
    return alone[0] if alone else Group(name, module.__doc__, defined)
