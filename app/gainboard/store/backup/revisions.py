"""The schema of a backup, whose revision may be before the newest."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from sqlalchemy import Connection, create_engine

from gainboard.errors import BadSetting, DatabaseUnusable
from gainboard.store.backup.copying import in_words
from gainboard.store.backup.manifest import MANIFEST
from gainboard.store.schema import require_known, revision_of, upgrade

NEWEST = "head"
NOT_OURS = "{} has no tables of Gainboard. Name a file that `gainboard backup` wrote."


def known_revision(connection: Connection, what: str) -> str:
    """Return the schema revision of a database.

    Raise BadSetting if it has no tables of ours, and DatabaseNewer or DatabaseOlder if this version does not know it.
    """
    revision = revision_of(connection, what)
    if revision is None:
        raise BadSetting(NOT_OURS.format(what))
    require_known(revision, what)
    return revision


def require_own_schema(connection: Connection, what: str) -> str:
    """Return the schema revision of a file, whose tables may be anything but ours.

    A view, a generated column or a virtual table may have endless rows. So nothing is read from a file in which
    anything is not as `upgrade` makes it. Raise BadSetting, DatabaseUnusable, DatabaseNewer or
    DatabaseOlder.
    """
    found = _schema(connection)
    if not {entry for entry in schema_of(NEWEST) if entry.table == "alembic_version"} <= found:
        raise BadSetting(NOT_OURS.format(what))
    revision = known_revision(connection, what)
    for entry in sorted(found - schema_of(revision)):
        raise DatabaseUnusable(
            f"{what} has the {entry.kind} {entry.name}, which no backup of schema {revision} has in this form. Nothing "
            "was restored. Name a file as `gainboard backup` wrote it."
        )
    return revision


@cache
def schema_of(revision: str) -> frozenset[SchemaItem]:
    """Return everything that a backup of this revision may have."""
    engine = create_engine("sqlite://")
    with engine.connect() as connection:
        upgrade(connection, revision)
        MANIFEST.create(connection)
        return _schema(connection)


class SchemaItem(NamedTuple):
    """A table, index, trigger or view of a SQLite database, with its SQL on one line."""

    kind: str
    name: str
    table: str
    sql: str


def _schema(connection: Connection) -> frozenset[SchemaItem]:
    # A crafted file may have any number of entries.
    query = "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_master LIMIT 1000"
    with in_words("read the file"):
        found = connection.exec_driver_sql(query).all()
    return frozenset(SchemaItem(kind, name, table, " ".join(str(sql).split())) for kind, name, table, sql in found)
