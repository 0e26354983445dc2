"""Move files out of the database, or back into it."""

from __future__ import annotations

import argparse
import sys

from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import data_option, read_settings

TO = ("objects", "database")


def _move(parsed: argparse.Namespace) -> int:
    """Move the content of all files to the folder or object store of GAINBOARD_OBJECTS, or back into the database. The
    service may run meanwhile. Each file is compared with its hash before it is moved. If the command is interrupted,
    run it again: it goes on with the files that are left. New files go to GAINBOARD_OBJECTS as long as it is set.
    """
    from gainboard.cli.progress import ProgressLine, interruptible  # noqa: PLC0415
    from gainboard.errors import BadSetting  # noqa: PLC0415
    from gainboard.store.blobs import move  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415
    from gainboard.store.objects import EXAMPLES  # noqa: PLC0415

    settings = read_settings(parsed)
    if settings.objects is None:
        raise BadSetting(f"Set GAINBOARD_OBJECTS to the place of files outside of the database: {EXAMPLES}.")
    database = Database(settings.url, objects=settings.objects)
    try:
        require_current(database)
        with interruptible(), ProgressLine("move") as shown:
            moved = move(database, parsed.to, shown.at)
    finally:
        database.close()
    place = "into the database" if parsed.to == "database" else f"to {settings.objects}"
    print(f"moved {moved.files:,} files ({moved.bytes:,} bytes of content) {place}")
    for sha256 in moved.broken:
        print(f"not moved: the content of the file {sha256} is damaged. Restore a backup.", file=sys.stderr)
    return 1 if moved.broken else 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", choices=TO, help="where the files are to be")


COMMAND = Command(
    "move",
    __doc__,
    _move,
    together(data_option, _options),
    [
        Example("GAINBOARD_OBJECTS=s3://bucket/gainboard gainboard move objects", "out of the database"),
        Example("GAINBOARD_OBJECTS=s3://bucket/gainboard gainboard move database", "back into it"),
    ],
)
