"""Write all that is stored into one file."""

from __future__ import annotations

import argparse
from pathlib import Path

from gainboard.cli.command import Command, Example, together
from gainboard.cli.options import data_option, read_settings


def _backup(parsed: argparse.Namespace) -> int:
    """Write everything that is stored at this moment into one file, while the service goes on. The file is a SQLite
    database, whichever kind the service has, and restores into either; it is its owner's alone, for it holds what
    the database holds."""
    from gainboard.cli.progress import interruptible, list_tables, table_progress  # noqa: PLC0415
    from gainboard.store.backup import take  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415

    database = Database(read_settings(parsed).url)
    try:
        with interruptible(), table_progress("backup") as told:
            taken = take(database, parsed.file, told, force=parsed.force)
    finally:
        database.close()
    print(f"{parsed.file}: {taken.bytes:,} bytes, schema {taken.revision}\n{list_tables(taken.rows)}")
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="where the backup goes")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists, once the new one is whole")


COMMAND = Command(
    "backup",
    __doc__,
    _backup,
    together(data_option, _options),
    [
        Example("gainboard backup monday.backup", "the data in ./gainboard-data, which may be in use"),
        Example("gainboard backup --force latest.backup", "in the place of the last one"),
    ],
)
