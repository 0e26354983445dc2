"""The upgrade of a database to this version's schema, once, however many processes start at the same time."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from threading import Lock

from sqlalchemy import Connection, inspect, text
from sqlalchemy.exc import DatabaseError

import gainboard
from gainboard.errors import DatabaseBusy, DatabaseNewer, DatabaseOlder, DatabaseUnusable, NoSpace
from gainboard.store.database import Database, exclude_others

FOLDED = frozenset(f"{number:04}" for number in range(1, 18))
"""The revisions from before the first release. The first migration that is left makes the schema that followed them."""
LAST_COMMIT = "1ed9dfbc60"
"""The last commit whose migrations upgrade databases of these revisions."""
_upgrading = Lock()
"""Alembic's operations belong to the process, and not to a thread."""
ADVICE = (
    f"It is from before the first release, and Gainboard {gainboard.__version__} cannot upgrade it. The last commit "
    f"that can is {LAST_COMMIT}: check it out, run its `gainboard migrate` (or restore a backup there, and take a new "
    "one), and then use this version."
)


def migrate(database: Database) -> tuple[str | None, str]:
    """Upgrade to the newest revision. Return the revisions before and after.

    Raise DatabaseNewer or DatabaseOlder if this version does not know the database's revision, and DatabaseUnusable
    with the driver's message if the database does not open. The check and the upgrade are one writing transaction: one
    of several processes migrates, and the others wait and find nothing to do.
    """
    try:
        with database.writing() as connection:
            exclude_others(connection)
            before, newest = revision_of(connection), revisions()[-1]
            require_known(before, "The database")
            if before != newest:
                upgrade(connection, newest)
    except (DatabaseBusy, NoSpace) as busy:
        raise _unusable(database, busy.__cause__ or busy) from busy
    except DatabaseError as error:
        raise _unusable(database, error) from error
    return before, newest


def _unusable(database: Database, error: BaseException) -> DatabaseUnusable:
    # Whoever starts the service may read the driver's message. The address is shown without its password.
    return DatabaseUnusable(f"Cannot use the database {database.engine.url!r}: {getattr(error, 'orig', error)}")


def upgrade(connection: Connection, revision: str) -> None:
    """Bring a database to a revision, in the transaction that the connection is in."""
    # Alembic takes a tenth of the time of a start, and most starts find nothing to do.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_migrations()))
    config.attributes["connection"] = connection
    with _upgrading:
        command.upgrade(config, revision)


def revision_of(connection: Connection, what: str = "The database") -> str | None:
    """Return the revision of a database's schema; None if it has no tables of ours.

    Raise DatabaseUnusable if it has several.
    """
    if not inspect(connection).has_table("alembic_version"):
        return None
    stored = connection.execute(text("SELECT version_num FROM alembic_version LIMIT 2")).scalars().all()
    if len(stored) > 1:
        raise DatabaseUnusable(f"{what} is of several schema revisions at once: {', '.join(map(str, stored))}.")
    return stored[0] if stored else None


def require_known(revision: str | None, what: str) -> None:
    """Raise DatabaseOlder or DatabaseNewer, with what to do, if no migration makes this revision."""
    if revision in FOLDED:
        raise DatabaseOlder(f"{what} is at schema revision {revision}. {ADVICE}")
    if revision is not None and revision not in revisions():
        raise DatabaseNewer(
            f"{what} is at schema revision {revision}, which Gainboard {gainboard.__version__} does not know: a later "
            "version wrote it. Install that version or a later one, or restore a backup."
        )


@cache
def revisions() -> tuple[str, ...]:
    """Return the revisions that the migrations make, the newest last. The name of each one's file begins with it."""
    return tuple(sorted(path.name.partition("_")[0] for path in (_migrations() / "versions").glob("[0-9]*_*.py")))


def _migrations() -> Path:
    package = Path(gainboard.__file__).parent
    # A wheel has the migrations inside the package, a checkout has them beside the source root.
    folders = (package / "migrations", package.parents[1] / "migrations")
    return next(folder for folder in folders if folder.is_dir())
