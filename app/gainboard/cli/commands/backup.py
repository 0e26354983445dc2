"""Write everything that is stored into one file."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import data_option, read_settings


def _backup(parsed: argparse.Namespace) -> int:
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

    settings = read_settings(parsed)
    database = Database(settings.url, objects=settings.objects)
    try:
        with interruptible(), table_progress("backup") as told:
            taken = take(database, parsed.file, told, force=parsed.force)
        disk = shutil.disk_usage(parsed.file.absolute().parent)
        space = {"free_bytes": disk.free, "disk_bytes": disk.total}
        try:
            require_current(database)
            with database.writing() as tx:
                audit.record(tx, None, "backup-taken", parsed.file.name, None, bytes=taken.bytes, **space)
        except (GainboardError, SQLAlchemyError) as error:  # the file is complete, and no less so for this
            print(
                f"gainboard: warning: {parsed.file} is complete, but the audit log has no entry for it, so /metrics "
                f"shows the backup before it: {error}",
                file=sys.stderr,
            )
    finally:
        database.close()
    print(f"{parsed.file}: {taken.bytes:,} bytes, schema {taken.revision}\n{list_tables(taken.rows)}")
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="the file to write")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists, once the new file is complete")


COMMAND = Command(
    "backup",
    __doc__,
    _backup,
    together(data_option, _options),
    [
        Example("gainboard backup monday.backup", "back up ./gainboard-data, even while the service runs"),
        Example("gainboard backup --force latest.backup", "replace the last backup"),
    ],
)
