"""Bring the database up to date."""

from __future__ import annotations

import argparse

from gainboard.cli.command import Command, Example
from gainboard.cli.stored import settings_of, stored


def _migrate(parsed: argparse.Namespace) -> int:
    """Bring the database to this version's schema, and say what was done."""
    from gainboard.main import open_database  # noqa: PLC0415
    from gainboard.store.schema import migrate  # noqa: PLC0415

    database = open_database(settings_of(parsed))
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
    stored,
    [
        Example("gainboard migrate"),
        Example("GAINBOARD_DATABASE_URL=postgresql+psycopg://user@host/name gainboard migrate", "on PostgreSQL"),
    ],
)
