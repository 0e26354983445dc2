"""Fill an empty database from a backup."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Annotated

from gainboard.cli.command import Argument, Example, command
from gainboard.cli.options import Data, read_settings


@command(
    __doc__,
    Example("gainboard restore --data restored monday.backup", "into a new folder"),
    Example(
        "GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard restore monday.backup",
        "into PostgreSQL, from a backup of either database",
    ),
)
def restore(file: Annotated[Path, Argument("a file that `gainboard backup` wrote")], *, data: Data = None) -> None:
    """Fill an empty database from a backup, and bring it to this version's schema. SQLite and PostgreSQL may be mixed.
    If anything fails, nothing is stored. The backup is only read. Stop the service before, and start it afterwards.
    """
    from gainboard.cli.progress import interruptible, list_tables, table_progress  # noqa: PLC0415
    from gainboard.store import backup  # noqa: PLC0415
    from gainboard.store.database import Database  # noqa: PLC0415

    with closing(Database(read_settings(data).url)) as database, interruptible(), table_progress("restore") as told:
        restored = backup.restore(database, file, told)
    before = f", from schema {restored.before}" if restored.before != restored.after else ""
    print(f"restored {file}, schema {restored.after}{before}\n{list_tables(restored.rows)}")
