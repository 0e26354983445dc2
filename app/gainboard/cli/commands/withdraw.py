"""Withdraw runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.connecting import OneCollection


@command(__doc__, Example("gainboard withdraw spare -c web"))
def withdraw(at: OneCollection, runs: Annotated[Sequence[str], Argument("the name of a run", metavar="RUN")]) -> None:
    """Withdraw runs. Their names may then be used again (organisers, and until the release the team that sent the
    runs). The command stops at the first run that cannot be withdrawn.
    """
    with at.connect() as gainboard:
        for run in runs:
            gainboard.withdraw(at.collection, run)
            print(f"{run}: withdrawn", flush=True)
