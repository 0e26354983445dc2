"""List the workers of a fleet, and what they work on."""

from __future__ import annotations

from contextlib import closing

from gainboard.cli.command import Example, command
from gainboard.cli.options import Data, read_settings
from gainboard.cli.printing import Format, print_rows


@command(
    __doc__,
    Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard workers", "who works on what"),
)
def workers(*, data: Data = None, format: Format = "table") -> None:
    """List the workers that were started on a PostgreSQL database with `gainboard worker`: where they run, how many
    chunks of jobs they work on, of which kinds, and how many seconds ago they were heard of.
    """
    from gainboard.store import fleet  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    with closing(Database(read_settings(data).url)) as database:
        require_current(database)
        with database.reading() as tx:
            members = fleet.list_workers(tx)
    headings = ("id", "host", "pid", "release", "slots", "working", "jobs", "since", "silent")
    rows = [
        (w.id, w.host, w.pid, w.release, w.slots, w.working, " ".join(w.jobs), w.started_at.isoformat(), int(w.silent))
        for w in members
    ]
    print_rows(headings, rows, format)
