"""The stored audit log: entries that nobody changes, each linked to the entry before by its hash.

There is one chain for the whole instance. Triggers refuse to change or delete an entry. If somebody gets around them,
the hashes of that entry and of the next one no longer match.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Row, Select, bindparam, insert, select

from gainboard.store.database import Transaction, exclude_others, machine_of
from gainboard.store.records import AuditEntry, Collection
from gainboard.store.tables import audit as table
from gainboard.store.tables import collections, tokens

NOTHING = "0" * 64
"""The value that the first entry has instead of the hash of an earlier entry."""
# Not the default key: an entry waits for other entries alone.
_LOCK = 0x61756474


@dataclass(frozen=True, slots=True)
class AuditWanted:
    """A choice of entries: of one collection, of one action, from a time on, or all (None)."""

    collection_id: int | None = None
    action: str | None = None
    since: datetime | None = None


def canonical(value: Any) -> str:
    """Return JSON in the form of RFC 8785: sorted keys, no blanks.

    Hashed values contain no fractions by default, because programming languages write these differently.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(entry: Mapping[str, Any]) -> str:
    """Return the hash of an entry: SHA-256 of the canonical JSON of all its other fields."""
    return hashlib.sha256(canonical({key: entry[key] for key in entry if key != "hash"}).encode()).hexdigest()


def stamp(time: datetime) -> str:
    """Return a time as it is hashed: RFC 3339 in UTC with six decimals, so that texts sort as times do."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


_WAIT_FOR_TOKEN = select(tokens.c.id).where(tokens.c.id == bindparam("id")).with_for_update(read=True, key_share=True)
_LAST = select(table.c.number, table.c.hash).order_by(table.c.number.desc()).limit(1)
_ADD = insert(table)


def append(
    tx: Transaction,
    *,
    collection: Collection | None,
    token_id: str | None,
    role: str,
    action: str,
    subject: str,
    details: Mapping[str, Any],
) -> None:
    """Add an entry to the chain.

    Nobody else can add an entry until the transaction ends, so this comes last in it (`database.at_the_end`).
    """
    if token_id is not None:
        # The entry refers to the token, which a rotation locks. We wait for that here, before we take the chain's lock.
        tx.execute(_WAIT_FOR_TOKEN, {"id": token_id})
    exclude_others(tx, _LOCK)
    last = tx.execute(_LAST).first()
    entry: dict[str, Any] = {
        # A sequence would leave a gap where a transaction was rolled back, as if an entry had been deleted.
        "number": last.number + 1 if last else 1,
        # Read under the lock, so that times ascend as numbers do.
        "at": stamp(machine_of(tx).now()),
        "collection": collection.name if collection else None,
        "collection_uuid": collection.uuid if collection else None,
        "token": token_id,
        "role": role,
        "action": action,
        "subject": subject,
        "details": dict(details),
        "previous": last.hash if last else NOTHING,
    }
    kept = {key: entry[key] for key in ("number", "at", "role", "action", "subject", "previous")}
    about = {"collection_id": collection.id if collection else None, "token_id": token_id}
    tx.execute(_ADD, {**kept, **about, "details": canonical(details), "hash": digest(entry)})


def _select(wanted: AuditWanted) -> Select[Any]:
    about = (collections.c.name.label("collection"), collections.c.uuid.label("collection_uuid"))
    query = select(table, *about).outerjoin(collections, collections.c.id == table.c.collection_id)
    if wanted.collection_id is not None:
        query = query.where(table.c.collection_id == wanted.collection_id)
    if wanted.action is not None:
        query = query.where(table.c.action == wanted.action)
    if wanted.since is not None:
        query = query.where(table.c.at >= stamp(wanted.since))
    return query


def subjects_by(tx: Transaction, action: str, token_id: str) -> list[tuple[int, str]]:
    """Return the collection and subject of each of a token's entries of one action about collections."""
    of_token = (table.c.action == action, table.c.token_id == token_id, table.c.collection_id.is_not(None))
    return [
        (here, subject) for here, subject in tx.execute(select(table.c.collection_id, table.c.subject).where(*of_token))
    ]


_ABOUT = _select(AuditWanted()).where(
    table.c.collection_id == bindparam("collection_id"),
    table.c.action.in_(bindparam("actions", expanding=True)),
    table.c.subject == bindparam("subject"),
)


def _details(text: str) -> dict[str, Any]:
    # Whoever changes a row may write a key twice, or another form of the same values: the hash would still match, and
    # readers of the table would see something else. Such a text becomes a member, which no hash matches.
    with suppress(ValueError, RecursionError):
        details: dict[str, Any] = json.loads(text)
        if isinstance(details, dict) and canonical(details) == text:
            return details
    return {"changed": text}


def _record(row: Row[Any]) -> AuditEntry:
    return AuditEntry(
        number=row.number,
        at=row.at,
        collection=row.collection,
        collection_uuid=row.collection_uuid,
        token=row.token_id,
        role=row.role,
        action=row.action,
        subject=row.subject,
        details=_details(row.details),
        previous=row.previous,
        hash=row.hash,
    )


def page(
    tx: Transaction, wanted: AuditWanted, *, after: int | None, limit: int, upto: int | None = None
) -> list[AuditEntry]:
    """Return the wanted entries, oldest first, with numbers above `after` and up to `upto`."""
    query = _select(wanted).where(table.c.number > (after or 0)).order_by(table.c.number).limit(limit)
    if upto is not None:
        query = query.where(table.c.number <= upto)
    return [_record(row) for row in tx.execute(query)]


def last(tx: Transaction, wanted: AuditWanted) -> AuditEntry | None:
    """Return the newest of the wanted entries."""
    row = tx.execute(_select(wanted).order_by(table.c.number.desc()).limit(1)).first()
    return _record(row) if row else None


def upload(tx: Transaction, collection_id: int, actions: Sequence[str], subject: str, sha256: str) -> AuditEntry | None:
    """Return the newest entry about the upload of these bytes under this name."""
    about = {"collection_id": collection_id, "actions": actions, "subject": subject}
    entries = [entry for entry in map(_record, tx.execute(_ABOUT, about)) if entry.details.get("sha256") == sha256]
    # To publish a draft makes an entry of the same kind, which has no size.
    return max(entries, key=lambda entry: ("bytes" in entry.details, entry.number), default=None)


def last_at(tx: Transaction, collection_id: int, actions: Sequence[str]) -> datetime | None:
    """Return the time of a collection's newest entry with one of these actions; None if there is none to be read."""
    query = select(table.c.at).where(table.c.collection_id == collection_id, table.c.action.in_(actions))
    text = tx.execute(query.order_by(table.c.number.desc()).limit(1)).scalar()
    # Somebody got around the triggers. The chain of hashes shows that, so no other answer needs to fail.
    with suppress(ValueError):
        return datetime.fromisoformat(text) if text else None
    return None
