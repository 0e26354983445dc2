"""Bring the database up to date."""

from __future__ import annotations

import argparse

from gainboard.cli.old import Command, Example
from gainboard.cli.options import data_option, read_settings


def _migrate(parsed: argparse.Namespace) -> int:
    """Bring the database to this version's schema, and print the schema before and after."""
    from gainboard.main import open_database  # noqa: PLC0415
    from gainboard.store.schema import migrate  # noqa: PLC0415

    database = open_database(read_settings(parsed))
    try:
        before, after = migrate(database)
    finally:
        database.close()
    print(f"schema {after}: nothing to do" if before == after else f"schema {before or 'none'} -> {after}")
    return 0


COMMAND = Command(
    "migrate",
    __doc__,
    _migrate,
    data_option,
    [
        Example("gainboard migrate"),
        Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard migrate", "on PostgreSQL"),
    ],
)
