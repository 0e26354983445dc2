"""Show the holder of the token, and what is left of its limits."""

from __future__ import annotations

import argparse
import sys

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.printing import format_option, print_one, printable


def _me(parsed: argparse.Namespace) -> int:
    """Show the holder of the token, or with --limits what is left of its quotas and budgets."""
    with connect_server(parsed) as server:
        holder = server.gainboard.me()
        named = parsed.collection
        if named and holder.collection not in (None, named):
            told = f"note: this token is of the collection {holder.collection}, not of {named}"
            print(printable(told), file=sys.stderr)
        print_one(server.gainboard.limits() if parsed.limits else holder, parsed.format)
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--limits", action="store_true", help="show what may still be sent and asked for")


COMMAND = Command(
    "me",
    __doc__,
    _me,
    together(collection_option, _options, format_option, server_options),
    [Example("gainboard me"), Example("gainboard me --limits")],
)
