"""The command line: `gainboard COMMAND`. Each file of `gainboard.cli.commands` is the command of its name."""

from __future__ import annotations

import argparse
import errno
import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pkgutil import iter_modules

from gainboard import __version__
from gainboard.cli import commands
from gainboard.cli.command import Command, Group
from gainboard.errors import GainboardError

__all__ = ["every_command", "main", "parser"]

_NAMES = sorted(module.name for module in iter_modules(commands.__path__))
_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; gives the exit code: 0 done, 1 refused, 2 not understood."""
    given = sys.argv[1:] if arguments is None else arguments
    # Of a command that is named first no other is imported: scoring files starts without a server's libraries.
    parsed = parser(given[:1] if given[:1] and given[0] in _NAMES else _NAMES).parse_args(given)
    try:
        code: int = parsed.run(parsed)
        sys.stdout.flush()
    except GainboardError as error:
        print(f"gainboard: {error.message}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read the output has seen enough
        sys.stdout = None  # or the interpreter would try again at its end
        return 141
    except OSError as error:
        if error.errno not in _NO_ROOM:
            raise
        sys.stdout = None
        print(f"gainboard: Cannot write: {error.strerror}.", file=sys.stderr)
        return 1
    return code


def parser(names: Iterable[str]) -> argparse.ArgumentParser:
    """The parser of the commands of these names."""
    top = argparse.ArgumentParser(
        prog="gainboard",
        description="Evaluation of information retrieval with graded relevance, as a service and offline.",
        epilog="`gainboard COMMAND --help` has examples.",
    )
    top.add_argument("--version", action="version", version=f"gainboard {__version__}")
    listed = top.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for each in every_command(names):
        each.add_to(listed)
    return top


def every_command(names: Iterable[str] = _NAMES) -> list[Command | Group]:
    """The commands of these names, or all."""
    found: list[Command | Group] = [import_module(f"{commands.__name__}.{name}").COMMAND for name in names]
    return found
