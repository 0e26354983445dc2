"""Fill an empty database from a backup."""

from __future__ import annotations

import argparse
from pathlib import Path

from gainboard.cli.old import Command, Example, together
from gainboard.cli.options import data_option, read_settings


def _restore(parsed: argparse.Namespace) -> int:
    """Fill an empty database from a backup, and bring it to this version's schema. SQLite and PostgreSQL may be mixed.
    If anything fails, nothing is stored. The backup is only read. Stop the service before, and start it afterwards.
    """
    from gainboard.cli.progress import interruptible, list_tables, table_progress  # noqa: PLC0415
    from gainboard.store.backup import restore  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415

    database = Database(read_settings(parsed).url)
    try:
        with interruptible(), table_progress("restore") as told:
            restored = restore(database, parsed.file, told)
    finally:
        database.close()
    before = f", from schema {restored.before}" if restored.before != restored.after else ""
    print(f"restored {parsed.file}, schema {restored.after}{before}\n{list_tables(restored.rows)}")
    return 0


def _options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", type=Path, help="a file that `gainboard backup` wrote")


COMMAND = Command(
    "restore",
    __doc__,
    _restore,
    together(data_option, _options),
    [
        Example("gainboard restore --data restored monday.backup", "into a new folder"),
        Example(
            "GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard restore monday.backup",
            "into PostgreSQL, from a backup of either database",
        ),
    ],
)
