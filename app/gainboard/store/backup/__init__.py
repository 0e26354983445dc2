"""Backups. A backup is one SQLite file with the schema and all rows of a database, whatever database that is.

Any tool for SQLite can therefore read it, and it restores into SQLite and PostgreSQL alike.
"""

from __future__ import annotations

from gainboard.store.backup.copying import Told
from gainboard.store.backup.restoring import Restored, restore
from gainboard.store.backup.taking import Taken, take

__all__ = ["Restored", "Taken", "Told", "restore", "take"]
