"""Write everything that is stored into one file."""

from __future__ import annotations

import shutil
import sys
from contextlib import closing
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.options import Data, read_settings


@command(
    __doc__,
    Example("gainboard backup monday.backup", "back up ./gainboard-data, even while the service runs"),
    Example("gainboard backup --force latest.backup", "replace the last backup"),
)
def backup(
    file: Annotated[Path, Argument("the file to write")],
    *,
    data: Data = None,
    force: Annotated[bool, "replace FILE if it exists, once the new file is complete"] = False,
) -> None:
    """Write everything that is stored at this moment into one file, while the service runs. The file is a SQLite
    database, and restores into SQLite or PostgreSQL, whichever the service uses. Only you can read the file: it holds
    all judgments and runs. The audit log gets an entry, from which /metrics has the age of the last backup.
    """
    from sqlalchemy.exc import SQLAlchemyError  # noqa: PLC0415

    from gainboard.cli.progress import interruptible, list_tables, table_progress  # noqa: PLC0415
    from gainboard.errors import GainboardError  # noqa: PLC0415
    from gainboard.evaluation import audit  # noqa: PLC0415
    from gainboard.store.backup import take  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415
    from gainboard.store.inspection import require_current  # noqa: PLC0415

    settings = read_settings(data)
    with closing(Database(settings.url, objects=settings.objects)) as database:
        with interruptible(), table_progress("backup") as told:
            taken = take(database, file, told, force=force)
        disk = shutil.disk_usage(file.absolute().parent)
        space = {"free_bytes": disk.free, "disk_bytes": disk.total}
        try:
            require_current(database)
            with database.writing() as tx:
                audit.record(tx, None, "backup-taken", file.name, None, bytes=taken.bytes, **space)
        except (GainboardError, SQLAlchemyError) as error:  # the file is complete, and no less so for this
            print(
                f"gainboard: warning: {file} is complete, but the audit log has no entry for it, so /metrics "
                f"shows the backup before it: {error}",
                file=sys.stderr,
            )
    print(f"{file}: {taken.bytes:,} bytes, schema {taken.revision}\n{list_tables(taken.rows)}")
