"""Show who the token is, and what is left to it."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.configured import connecting
from gainboard.cli.connecting import connected
from gainboard.cli.listing import formats, print_one


def _me(parsed: argparse.Namespace) -> int:
    """Show who the token is, or with --limits what is left of its quotas and budgets."""
    with connected(parsed) as server:
        print_one(server.gainboard.limits() if parsed.limits else server.gainboard.me(), parsed.format)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limits", action="store_true", help="what may still be sent and asked for")


COMMAND = Command(
    "me",
    __doc__,
    _me,
    together(_options, formats, connecting),
    [Example("gainboard me"), Example("gainboard me --limits")],
)
