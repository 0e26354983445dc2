"""List the runs of a collection."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.connecting import collection_option, connect_server, server_options
from gainboard.cli.options import late_option
from gainboard.cli.printing import format_option, print_many

COLUMNS = ("name", "team", "type", "topics", "retrieved", "unjudged_share", "created_at", "late", "sha256")


def _runs(parsed: argparse.Namespace) -> int:
    """List the runs of a collection that you may see."""
    with connect_server(parsed) as server:
        columns = COLUMNS[:-1] if parsed.format == "table" else COLUMNS
        print_many(server.gainboard.runs(server.collection, late=parsed.late), columns, parsed.format)
    return 0


COMMAND = Command(
    "runs",
    __doc__,
    _runs,
    together(collection_option, late_option, format_option, server_options),
    [Example("gainboard runs -c web"), Example("gainboard runs -c web --format csv", "with the hash of each file")],
)
