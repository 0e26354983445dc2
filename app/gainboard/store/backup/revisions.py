"""The schema of a backup, which may be of an earlier version."""

from __future__ import annotations

from alembic import command
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection

import gainboard
from gainboard.errors import BadSetting, DatabaseNewer
from gainboard.store.schema import configuration, revision_of

NEWEST = "head"


def known_revision(connection: Connection, what: str) -> str:
    """Return the schema revision of a database. Raise BadSetting if it has no tables of ours, or DatabaseNewer."""
    revision = revision_of(connection)
    if revision is None:
        raise BadSetting(f"{what} has no tables of Gainboard. Name a file that `gainboard backup` wrote.")
    try:
        ScriptDirectory.from_config(configuration()).get_revision(revision)
    except CommandError as error:
        raise DatabaseNewer(
            f"{what} is at schema revision {revision}, which Gainboard {gainboard.__version__} does not know: a "
            "later version wrote it. Use that version or a later one."
        ) from error
    return revision


def upgrade(connection: Connection, revision: str) -> None:
    """Bring a database to a revision, in the transaction that the connection is in."""
    config = configuration()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)
