"""Reading the current state in one statement: for a new request, and to check whether a kept answer is still valid."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, bindparam, select

from gainboard.errors import DatabaseBusy
from gainboard.store.damage import columns_of, names_of, read_row
from gainboard.store.database import Database, Transaction, recall
from gainboard.store.records import Collection, Qrels, Token, VersionName
from gainboard.store.tables import collections, qrels, teams, tokens

R = TypeVar("R", Collection, Qrels, Token)


_TOKEN = columns_of(Token, tokens, team=teams.c.name)
_COLLECTION = columns_of(Collection, collections)
_QRELS = columns_of(Qrels, qrels)
_IS_LIVE = (collections.c.name == bindparam("name"), collections.c.deleted_at.is_(None))
# Outer joins: without a valid token, or without judgments, the collection must be found all the same.
_WITH_TOKEN = collections.outerjoin(tokens, tokens.c.hash == bindparam("hash")).outerjoin(
    teams, teams.c.id == tokens.c.team_id
)

_other = qrels.alias()
_NEWEST = (
    select(_other.c.id)
    .where(
        _other.c.collection_id == collections.c.id,
        _other.c.judgments == bindparam("judgments"),
        _other.c.published_at.is_not(None),
        _other.c.discarded_at.is_(None),
    )
    .order_by(_other.c.published_at.desc(), _other.c.version.desc())
    .limit(1)
    .scalar_subquery()
)
_NUMBERED = (
    (qrels.c.collection_id == collections.c.id)
    & (qrels.c.judgments == bindparam("judgments"))
    & (qrels.c.version == bindparam("version"))
    & qrels.c.discarded_at.is_(None)
)
_BY_NEWEST, _BY_VERSION = (
    select(*_COLLECTION, *_TOKEN, *_QRELS).select_from(_WITH_TOKEN.outerjoin(qrels, chosen)).where(*_IS_LIVE)
    for chosen in (qrels.c.id == _NEWEST, _NUMBERED)
)

_CHECK = select(collections.c.id, collections.c.revision, *_TOKEN).select_from(_WITH_TOKEN).where(*_IS_LIVE)


def _read(record: type[R], values: Sequence[Any]) -> R | None:
    """Return a record from its part of a row; None if the outer join has found no row of its table."""
    return read_row(record, dict(zip(names_of(record), values, strict=True))) if values[0] is not None else None


class Opened(NamedTuple):
    """A collection that is not deleted, the record of a token (valid or not), and a qrels version."""

    collection: Collection
    token: Token | None
    qrels: Qrels | None


def find(tx: Transaction, name: str, hashed: str | None, version: VersionName) -> Opened | None:
    """Return the collection with this name, the record of the token with this hash, and a qrels version.

    Return None if there is no such collection.

    If `version` has no number, the qrels version is the one of its set published last.
    """
    key, memory = (name, hashed, version), recall(tx)
    if memory is not None and key in memory:
        opened: Opened = memory[key]
        return opened
    query, number = (_BY_VERSION, {"version": version.version}) if version.version else (_BY_NEWEST, {})
    row = tx.execute(query, {"name": name, "hash": hashed, "judgments": version.judgments, **number}).first()
    if row is None:
        return None
    first, second = len(_COLLECTION), len(_COLLECTION) + len(_TOKEN)
    collection = _read(Collection, row[:first])
    assert collection is not None
    opened = Opened(collection, _read(Token, row[first:second]), _read(Qrels, row[second:]))
    if memory is not None:
        memory[key] = opened
    return opened


class StandingKey(NamedTuple):
    """The things that an answer depends on: the name of a collection, and the hash of a token."""

    collection: str
    hash: str | None


class Standing(NamedTuple):
    """The current state of these things: the collection's id and revision, and the token's record.

    The collection is not deleted. The token may be invalid.
    """

    collection_id: int
    revision: int
    token: Token | None


class Standings:
    """A reader of the current state, with its own connection. One thread at a time can read.

    There is no transaction around the statement, so no time is spent on BEGIN and COMMIT. The database gets one
    statement, which PostgreSQL has prepared, unless it is known that nothing was committed since the last reading.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._connection: Connection | None = None
        self._use = Lock()
        self._is_over = False

    @property
    def is_quick(self) -> bool:
        """True if reading takes only microseconds, so that using another thread would cost more."""
        return self._database.is_quick

    def find(self, keys: Iterable[StandingKey]) -> dict[StandingKey, Standing | None]:
        """Return the current state of each of these; None if the collection does not exist.

        Raises DatabaseBusy if the database does not answer.
        """
        with self._use:
            try:
                with self._database.translated():
                    return {key: self._find(key) for key in keys}
            except BaseException:
                # Whatever has happened: the connection may be in the middle of an answer.
                self._disconnect()
                raise

    def _find(self, key: StandingKey) -> Standing | None:
        if self._connection is None:
            if self._is_over:
                raise DatabaseBusy("The server is stopping. Try again shortly.")
            self._connection = self._database.connected()
        memory = recall(self._connection)
        if memory is None:
            return self._read(self._connection, key)
        if key not in memory:
            memory[key] = self._read(self._connection, key)
        standing: Standing | None = memory[key]
        return standing

    @staticmethod
    def _read(connection: Connection, key: StandingKey) -> Standing | None:
        row = connection.execute(_CHECK, {"name": key.collection, "hash": key.hash}).first()
        if row is None:
            return None
        identity, revision, *of_token = row
        return Standing(identity, revision, _read(Token, of_token))

    def close(self) -> None:
        """Close the connection for good, after the current reading has ended."""
        with self._use:
            self._is_over = True
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.close()
