"""Move files out of the database, or back into it."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import Annotated, Literal

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.options import Data, read_settings


@command(
    __doc__,
    Example("GAINBOARD_OBJECTS=s3://bucket/gainboard gainboard move objects", "out of the database"),
    Example("GAINBOARD_OBJECTS=s3://bucket/gainboard gainboard move database", "back into it"),
)
def move(
    to: Annotated[Literal["database", "objects"], Argument("where the files are to be")], *, data: Data = None
) -> int:
    """Move the content of all files to the folder or object store of GAINBOARD_OBJECTS, or back into the database. The
    service may run meanwhile. Each file is compared with its hash before it is moved. If the command is interrupted,
    run it again: it goes on with the files that are left. New files go to GAINBOARD_OBJECTS as long as it is set.
    """
    from gainboard.cli.progress import ProgressLine, interruptible  # noqa: PLC0415
    from gainboard.errors import BadSetting  # noqa: PLC0415
    from gainboard.store import blobs  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415
    from gainboard.store.objects import EXAMPLES  # noqa: PLC0415

    settings = read_settings(data)
    if settings.objects is None:
        raise BadSetting(f"Set GAINBOARD_OBJECTS to the place of files outside of the database: {EXAMPLES}.")
    with closing(Database(settings.url, objects=settings.objects)) as database:
        require_current(database)
        with interruptible(), ProgressLine("move") as shown:
            moved = blobs.move(database, to, shown.at)
    where = "into the database" if to == "database" else f"to {settings.objects}"
    print(f"moved {moved.files:,} files ({moved.bytes:,} bytes of content) {where}")
    for sha256 in moved.broken:
        print(f"not moved: the content of the file {sha256} is damaged. Restore a backup.", file=sys.stderr)
    return 1 if moved.broken else 0
