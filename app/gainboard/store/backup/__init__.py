"""Backups. A backup is one SQLite file with the schema and all rows of a database, whichever kind that is.

So it can be looked into with any tool for SQLite, and what was taken from one kind of database restores into the other.
"""

from __future__ import annotations

from gainboard.store.backup.copying import Told
from gainboard.store.backup.restoring import Restored, restore
from gainboard.store.backup.taking import Taken, take

__all__ = ["Restored", "Taken", "Told", "restore", "take"]
