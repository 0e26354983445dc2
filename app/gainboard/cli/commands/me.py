"""Show the holder of the token, and what is left of its limits."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import connect_server, server_options
from gainboard.cli.printing import format_option, print_one


def _me(parsed: argparse.Namespace) -> int:
    """Show the holder of the token, or with --limits what is left of its quotas and budgets."""
    with connect_server(parsed) as server:
        print_one(server.gainboard.limits() if parsed.limits else server.gainboard.me(), parsed.format)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limits", action="store_true", help="show what may still be sent and asked for")


COMMAND = Command(
    "me",
    __doc__,
    _me,
    together(_options, format_option, server_options),
    [Example("gainboard me"), Example("gainboard me --limits")],
)
