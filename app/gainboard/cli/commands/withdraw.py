"""Withdraw runs."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import collection_option, connect_server, server_options


def _withdraw(parsed: argparse.Namespace) -> int:
    """Withdraw runs. Their names may then be used again (organisers, and until the release the team that sent the
    runs). The command stops at the first run that cannot be withdrawn.
    """
    with connect_server(parsed) as server:
        for run in parsed.runs:
            server.gainboard.withdraw(server.collection, run)
            print(f"{run}: withdrawn", flush=True)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="the name of a run")
    collection_option(parser)


COMMAND = Command(
    "withdraw",
    __doc__,
    _withdraw,
    together(_options, server_options),
    [Example("gainboard withdraw spare -c web")],
)
