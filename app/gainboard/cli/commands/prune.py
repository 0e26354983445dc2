"""Delete the content of runs that were withdrawn long ago."""

from __future__ import annotations

from contextlib import closing
from typing import Annotated

from gainboard.cli.command import Example, Option, command, count
from gainboard.cli.options import Data, read_settings

MOST_DAYS = 36_500


@command(
    __doc__,
    Example("gainboard prune --dry-run", "what could be deleted from ./gainboard-data"),
    Example("gainboard prune --days 0", "all withdrawn runs, without waiting for 30 days"),
)
def prune(
    *,
    data: Data = None,
    days: Annotated[
        int,
        Option(
            "keep runs withdrawn less than so many days ago (default: 30)",
            read=count("a number of days", 0, MOST_DAYS, 30),
        ),
    ] = 30,
    dry_run: Annotated[bool, "only say what would be deleted"] = False,
) -> None:
    """Delete the content of runs that were withdrawn at least 30 days ago (or DAYS). The service may run meanwhile, and
    does the same once a day. The names, hashes and times of the runs stay. Nothing is deleted in collections with open
    jobs. The space is used again; a file of SQLite does not become smaller.
    """
    from gainboard.evaluation.runs import pruning  # noqa: PLC0415
    from gainboard.evaluation.workspace import Workspace  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    settings = read_settings(data)
    with closing(Database(settings.url, objects=settings.objects)) as database:
        require_current(database)
        act = pruning.find_prunable if dry_run else pruning.prune
        pruned = act(Workspace(database), days)
    verb = "would delete" if dry_run else "deleted"
    runs = "run" if pruned.runs == 1 else "runs"
    print(f"{verb} the content of {pruned.runs:,} withdrawn {runs}: {pruned.bytes:,} bytes")
