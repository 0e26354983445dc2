"""Complete commands in a shell."""

from __future__ import annotations

import argparse
from typing import Annotated

import shtab

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.parsing import parser
from gainboard.cli.printing import print_utf8

_FILES = {"FILE": shtab.FILE, "RUN_FILE": shtab.FILE, "QRELS": shtab.FILE, "DIR": shtab.DIRECTORY}
"""The kind of file that completes an argument, by its placeholder in the help."""


@command(
    __doc__,
    Example("gainboard completion bash > gainboard.bash", "then load the file in ~/.bashrc"),
    Example("gainboard completion zsh > _gainboard", "in a folder of $fpath"),
)
def completion(shell: Annotated[str, Argument("the shell", choices=shtab.SUPPORTED_SHELLS)]) -> None:
    """Print the completion script of a shell, for commands, options and file names. For bash, put `source <(gainboard
    completion bash)` into ~/.bashrc. For zsh, write the output to a file `_gainboard` in a folder of $fpath.
    """
    whole = parser()
    _complete_files(whole)
    print_utf8()
    print(shtab.complete(whole, shell=shell))


def _complete_files(of: argparse.ArgumentParser) -> None:
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for subparser in action.choices.values():
                _complete_files(subparser)
        elif completes := _FILES.get(str(action.metavar)):
            setattr(action, "complete", completes)  # noqa: B010 (shtab reads it; argparse does not declare it)
