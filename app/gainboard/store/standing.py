"""How things stand, read at one glance: what decides whether an answer that was given before is given again."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, select
from sqlalchemy.sql.compiler import SQLCompiler

from gainboard.errors import DatabaseBusy
from gainboard.store.database import Database
from gainboard.store.job_records import JobState
from gainboard.store.job_tables import jobs
from gainboard.store.metadata import UtcTime
from gainboard.store.records import Token
from gainboard.store.tables import collections, teams, tokens
from gainboard.store.tokens import digest

_TOKEN = [column for column in tokens.c if column.name != "hash"]
_NAMES = [column.name for column in _TOKEN]
_TIMES = [column.name for column in _TOKEN if isinstance(column.type, UtcTime)]
_JOB = select(jobs.c.state).where(jobs.c.id == bindparam("job")).scalar_subquery()
_QUERY = (
    select(collections.c.id, collections.c.revision, _JOB, teams.c.name, *_TOKEN)
    .select_from(collections.outerjoin(tokens, tokens.c.hash == bindparam("hash")))
    .outerjoin(teams, teams.c.id == tokens.c.team_id)
    .where(collections.c.name == bindparam("name"), collections.c.deleted_at.is_(None))
)


@dataclass(frozen=True, slots=True)
class Standing:
    """A live collection's id and revision, the record of a token (valid or not), and the state of a job."""

    collection_id: int
    revision: int
    job_state: JobState | None
    token: Token | None


class Standings:
    """Reads `Standing` in one statement, which sees one consistent state without a transaction around it.

    `at_once` says that it takes microseconds: SQLite is asked on a connection of its own, by one thread at a time and
    past SQLAlchemy, whose ways into and out of a transaction would cost twenty times what the statement does.
    """

    def __init__(self, database: Database) -> None:
        self._engine = database.engine.execution_options(isolation_level="AUTOCOMMIT")
        dialect = self._engine.dialect
        self.at_once = dialect.name == "sqlite"
        compiled = _QUERY.compile(dialect=dialect)
        assert isinstance(compiled, SQLCompiler)
        self._text, self._order = str(compiled), compiled.positiontup or ()
        as_time = UtcTime().dialect_impl(dialect).result_processor(dialect, None)
        assert as_time is not None
        self._as_time = lru_cache(maxsize=1000)(as_time)  # the same ones again and again
        self._own: sqlite3.Connection | None = None

    def find(self, collection: str, token: str | None, job: str | None) -> Standing | None:
        """How things stand with the live collection of this name, this token and the job of this id."""
        asked = {"name": collection, "hash": digest(token) if token is not None else None, "job": job}
        row = self._read_own(asked) if self.at_once else self._read(asked)
        if row is None:
            return None
        identity, revision, job_state, team, *of_token = row
        return Standing(identity, revision, job_state, self._token(team, of_token) if of_token[0] is not None else None)

    def close(self) -> None:
        """Gives its connection up."""
        if self._own is not None:
            self._own.close()
            self._own = None

    def _read_own(self, asked: dict[str, str | None]) -> Any:
        try:
            if self._own is None:
                self._own = self._connect()
            return self._own.execute(self._text, [asked[name] for name in self._order]).fetchone()
        except sqlite3.Error as error:
            self.close()
            raise DatabaseBusy("The database did not answer.") from error

    def _connect(self) -> sqlite3.Connection:
        with Database.translated():
            pooled = self._engine.raw_connection()
        connection = pooled.driver_connection
        assert isinstance(connection, sqlite3.Connection)
        pooled.detach()
        connection.execute("PRAGMA busy_timeout = 0")  # all other requests would wait as well
        return connection

    def _read(self, asked: dict[str, str | None]) -> Any:
        with Database.translated(), self._engine.connect() as connection:
            return connection.execute(_QUERY, asked).first()

    def _token(self, team: str | None, values: list[Any]) -> Token:
        kept = dict(zip(_NAMES, values, strict=True))
        if self.at_once:  # past SQLAlchemy, times are as they are stored
            kept |= {name: self._as_time(kept[name]) for name in _TIMES}
        return Token(**kept, team=team)
