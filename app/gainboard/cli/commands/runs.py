"""List the runs of a collection."""

from __future__ import annotations

from typing import Unpack

from gainboard.cli.command import Example, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.printing import Format, print_many
from gainboard.notation.queries import RunsQuery

COLUMNS = ("name", "team", "type", "topics", "retrieved", "unjudged_share", "created_at", "late", "sha256")


@command(
    __doc__,
    Example("gainboard runs -c web"),
    Example("gainboard runs -c web --format csv", "with the hash of each file"),
)
def runs(at: OneCollection, *, format: Format = "table", **query: Unpack[RunsQuery]) -> None:
    """List the runs of a collection that you may see."""
    with at.connect() as gainboard:
        print_many(gainboard.runs(at.collection, **query), COLUMNS[:-1] if format == "table" else COLUMNS, format)
