"""Bring the database up to date."""

from __future__ import annotations

from contextlib import closing

from gainboard.cli.command import Example, command
from gainboard.cli.options import Data, read_settings


@command(
    __doc__,
    Example("gainboard migrate"),
    Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard migrate", "on PostgreSQL"),
)
def migrate(*, data: Data = None) -> None:
    """Bring the database to this version's schema, and print the schema before and after."""
    from gainboard.main import open_database  # noqa: PLC0415
    from gainboard.store import schema  # noqa: PLC0415

    with closing(open_database(read_settings(data))) as database:
        before, after = schema.migrate(database)
    print(f"schema {after}: nothing to do" if before == after else f"schema {before or 'none'} -> {after}")
