"""List the processes that serve a database, and what they work on."""

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
    """List the servers and workers of a database that live: where they run, how many chunks of jobs they work on, of
    which kinds, and how many seconds ago they renewed their lease.
    """
    from gainboard.store import claims, processes  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    with closing(Database(read_settings(data).url)) as database:
        require_current(database)
        with database.reading() as tx:
            living, work = processes.list_processes(tx, database.path), claims.list_work(tx)
    headings = ("id", "kind", "host", "pid", "release", "slots", "working", "jobs", "since", "silent")
    rows = []
    for process in living:
        kinds, since = work.get(process.id, []), process.started_at.isoformat()
        jobs = len(kinds), " ".join(sorted(set(kinds))), since, int(process.silent)
        rows.append((process.id, process.kind, process.host, process.pid, process.release, process.slots, *jobs))
    print_rows(headings, rows, format)
