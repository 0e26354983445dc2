"""List the workers of a fleet, and what they work on."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example, together
from gainboard.cli.options import data_option, read_settings
from gainboard.cli.printing import format_option, print_json, print_rows


def _workers(parsed: argparse.Namespace) -> int:
    """List the workers that were started on a PostgreSQL database with `gainboard worker`: where they run, how many
    chunks of jobs they work on, of which kinds, and how many seconds ago they were heard of.
    """
    from gainboard.store import fleet  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    database = Database(read_settings(parsed).url)
    try:
        require_current(database)
        with database.reading() as tx:
            found = fleet.list_workers(tx)
    finally:
        database.close()
    headings = ("id", "host", "pid", "release", "slots", "working", "jobs", "since", "silent")
    rows = [
        (w.id, w.host, w.pid, w.release, w.slots, w.working, " ".join(w.jobs), w.started_at.isoformat(), int(w.silent))
        for w in found
    ]
    if parsed.format == "json":
        print_json([dict(zip(headings, row, strict=True)) for row in rows])
    else:
        print_rows(headings, rows, parsed.format)
    return 0


COMMAND = Command(
    "workers",
    __doc__,
    _workers,
    together(format_option, data_option),
    [Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard workers", "who works on what")],
)
