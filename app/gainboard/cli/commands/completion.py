"""Complete commands in a shell."""

from __future__ import annotations

import argparse

import shtab

from gainboard.cli.old import Command, Example
from gainboard.cli.parsing import parser
from gainboard.cli.printing import print_utf8

_FILES = {"FILE": shtab.FILE, "RUN_FILE": shtab.FILE, "QRELS": shtab.FILE, "DIR": shtab.DIRECTORY}
"""The kind of file that completes an argument, by its placeholder in the help."""


def _completion(parsed: argparse.Namespace) -> int:
    """Print the completion script of a shell, for commands, options and file names. For bash, put `source <(gainboard
    completion bash)` into ~/.bashrc. For zsh, write the output to a file `_gainboard` in a folder of $fpath.
    """
    whole = parser()
    _complete_files(whole)
    print_utf8()
    print(shtab.complete(whole, shell=parsed.shell))
    return 0


def _complete_files(of: argparse.ArgumentParser) -> None:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif completes := _FILES.get(str(action.metavar)):
            setattr(action, "complete", completes)  # noqa: B010 (shtab reads it; argparse does not declare it)


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=shtab.SUPPORTED_SHELLS, help="the shell")


COMMAND = Command(
    "completion",
    __doc__,
    _completion,
    _options,
    [
        Example("gainboard completion bash > gainboard.bash", "then load the file in ~/.bashrc"),
        Example("gainboard completion zsh > _gainboard", "in a folder of $fpath"),
    ],
)
