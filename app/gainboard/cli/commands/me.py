"""Show the holder of the token, and what is left of its limits."""

from __future__ import annotations

import sys
from typing import Annotated

from gainboard.cli.command import Example, command
from gainboard.cli.connecting import OneCollection
from gainboard.cli.printing import Format, print_one, printable


@command(__doc__, Example("gainboard me"), Example("gainboard me --limits"))
def me(
    at: OneCollection,
    *,
    limits: Annotated[bool, "show what may still be sent and asked for"] = False,
    format: Format = "table",
) -> None:
    """Show the holder of the token, or with --limits what is left of its quotas and budgets."""
    with at.connect() as gainboard:
        holder = gainboard.me()
        if at.named and holder.collection not in (None, at.named):
            note = f"note: this token is of the collection {holder.collection}, not of {at.named}"
            print(printable(note), file=sys.stderr)
        print_one(gainboard.limits() if limits else holder, format)
