"""Delete the content of runs that were withdrawn long ago."""

from __future__ import annotations

import argparse

from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import count, data_option, read_settings

MOST_DAYS = 36_500


def _prune(parsed: argparse.Namespace) -> int:
    """Delete the content of runs that were withdrawn at least 30 days ago (or DAYS). The service may run meanwhile, and
    does the same once a day. The names, hashes and times of the runs stay. Nothing is deleted in collections with open
    jobs. The space is used again; a file of SQLite does not become smaller.
    """
    from gainboard.evaluation.runs.pruning import find_prunable, prune  # noqa: PLC0415
    from gainboard.evaluation.workspace import Workspace  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    settings = read_settings(parsed)
    database = Database(settings.url, objects=settings.objects)
    try:
        require_current(database)
        act = find_prunable if parsed.dry_run else prune
        pruned = act(Workspace(database), parsed.days)
    finally:
        database.close()
    verb = "would delete" if parsed.dry_run else "deleted"
    runs = "run" if pruned.runs == 1 else "runs"
    print(f"{verb} the content of {pruned.runs:,} withdrawn {runs}: {pruned.bytes:,} bytes")
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--days",
        type=count("a number of days", 0, MOST_DAYS, 30),
        default=30,
        help="keep runs withdrawn less than so many days ago (default: 30)",
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be deleted")


COMMAND = Command(
    "prune",
    __doc__,
    _prune,
    together(data_option, _options),
    [
        Example("gainboard prune --dry-run", "what could be deleted from ./gainboard-data"),
        Example("gainboard prune --days 0", "all withdrawn runs, without waiting for 30 days"),
    ],
)
