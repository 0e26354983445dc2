"""The upgrade of a database to this version's schema, once, however many processes start at the same time."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util.exc import CommandError
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError

import gainboard
from gainboard.errors import DatabaseBusy, DatabaseNewer, DatabaseOlder, DatabaseUnusable
from gainboard.store.database import Database, exclude_others

FOLDED = frozenset(f"{number:04}" for number in range(1, 18))
"""The revisions from before the first release. The first migration that is left makes the schema that followed them."""
LAST_COMMIT = "1ed9dfbc60"
"""The last commit whose migrations upgrade databases of these revisions."""
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
        return _migrate(database)
    except DatabaseBusy as busy:
        raise _unusable(database, busy.__cause__ or busy) from busy
    except DatabaseError as error:
        raise _unusable(database, error) from error


def _unusable(database: Database, error: BaseException) -> DatabaseUnusable:
    # Whoever starts the service may read the driver's message. The address is shown without its password.
    return DatabaseUnusable(f"Cannot use the database {database.engine.url!r}: {getattr(error, 'orig', error)}")


def _migrate(database: Database) -> tuple[str | None, str]:
    config = configuration()
    script = ScriptDirectory.from_config(config)
    with database.writing() as connection:
        exclude_others(connection)
        before, newest = revision_of(connection), script.get_current_head()
        assert newest is not None
        require_known(before, "The database")
        if before != newest:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    return before, newest


def revision_of(connection: Connection) -> str | None:
    """Return the revision of a database's schema; None if it has no tables of ours."""
    return MigrationContext.configure(connection).get_current_revision()


def require_known(revision: str | None, what: str) -> None:
    """Raise DatabaseOlder or DatabaseNewer, with what to do, if no migration makes this revision."""
    if revision in FOLDED:
        raise DatabaseOlder(f"{what} is at schema revision {revision}. {ADVICE}")
    try:
        ScriptDirectory.from_config(configuration()).get_revision(revision or "base")
    except CommandError as error:
        raise DatabaseNewer(
            f"{what} is at schema revision {revision}, which Gainboard {gainboard.__version__} does not know: a later "
            "version wrote it. Install that version or a later one, or restore a backup."
        ) from error


def configuration() -> Config:
    """Return Alembic's configuration, with the place of the migrations."""
    package = Path(gainboard.__file__).parent
    # A wheel has the migrations inside the package, a checkout has them beside the source root.
    places = (package / "migrations", package.parents[1] / "migrations")
    config = Config()
    config.set_main_option("script_location", str(next(place for place in places if place.is_dir())))
    return config
