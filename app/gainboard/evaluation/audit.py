"""The audit log: who changed what, and when. Every change adds its entry in the transaction that makes it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import audit, tokens
from gainboard.store.audit import NOTHING, AuditWanted, canonical, digest, stamp
from gainboard.store.database import Transaction, at_the_end
from gainboard.store.records import AuditEntry, Collection
from gainboard.vocabulary import Action

FIELDS = tuple(AuditEntry.__annotations__)
LONGEST = 1000
"""The longest detail, in characters. For longer details, such as thousands of topics, the entry has their hash."""
MOST_NAMED = 100
"""The most members of a detail that are shortened one by one. Others have one hash, such as the texts of queries."""
BATCH = 500


_IS_PART_OF_ONE: ContextVar[bool] = ContextVar("part of one change", default=False)


@contextmanager
def as_one_change() -> Iterator[None]:
    """Make no entries for the changes in the block. Whoever uses it records all of them as one change, after it."""
    before = _IS_PART_OF_ONE.set(True)
    try:
        yield
    finally:
        _IS_PART_OF_ONE.reset(before)


def record(
    tx: Transaction,
    principal: Principal | None,
    action: Action,
    subject: str,
    collection: Collection | None,
    **details: Any,
) -> None:
    """Add an entry to the log at the end of the writing transaction, and none if it fails.

    `principal` is None for the start of the service. `subject` names what was changed: a run, a version, an id.
    `details` are JSON values or times. They hold no secret, and hashes instead of the content of files.
    """
    if _IS_PART_OF_ONE.get():
        return
    token = principal.token if principal else None
    team = {"team": token.team} if token and token.team else {}
    entry = partial(
        audit.append,
        collection=collection,
        token_id=token.id if token else None,
        role=principal.role if principal else "operator",
        action=action,
        subject=subject,
        details={name: _brief(value) for name, value in (team | details).items()},
    )
    # All entries wait for the lock of one chain, so it is taken last and held as briefly as possible.
    at_the_end(tx, entry)


def _brief(value: Any) -> Any:
    if isinstance(value, Mapping) and len(value) <= MOST_NAMED:
        return {str(key): _brief(item) for key, item in value.items()}
    value = plain(value)
    text = canonical(value)
    return value if len(text) <= LONGEST else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def plain(value: Any) -> Any:
    """Return a value in the form of entries: times as text, tuples as lists, and whole numbers without a point."""
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    # 1.0 and 1 are the same number in JSON, and only 1 is canonical.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def differences(old: Collection, new: Collection) -> dict[str, dict[str, Any]]:
    """Return the settings that differ, each with its old and its new value, for the details of an entry.

    A setting of the policy is named `policy.NAME`, so that an entry has only those that differ.
    """
    before, after = settings_of(asdict(old)), settings_of(asdict(new))
    # The revision changes with every change, and damage with none, so neither is a setting.
    names = [name for name in after if before.get(name) != after[name] and name not in ("revision", "damage")]
    return {name: {"old": _brief(before.get(name)), "new": _brief(after[name])} for name in names}


def settings_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings with those of the policy as `policy.NAME`, and lists in place of tuples."""
    flat = {name: value for name, value in values.items() if name != "policy"}
    flat |= {f"policy.{name}": value for name, value in (values.get("policy") or {}).items()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in flat.items()}


def list_entries(
    workspace: Workspace, principal: Principal, name: str | None, wanted: AuditWanted, after: int | None, limit: int
) -> list[AuditEntry]:
    """List the entries about a collection (its organisers) or, without a name, all (the instance's), oldest first."""
    with workspace.database.reading() as tx:
        wanted = _admit(tx, principal, name, wanted)
        return audit.page(tx, wanted, after=after, limit=limit)


def _admit(tx: Transaction, principal: Principal, name: str | None, wanted: AuditWanted) -> AuditWanted:
    if name is None:
        principal.require_instance_organiser()
        return wanted
    view = open_collection(tx, principal, name)
    view.require_organiser()
    return replace(wanted, collection_id=view.collection.id)


def find_last_change(
    workspace: Workspace, principal: Principal, name: str, subject: str
) -> tuple[AuditEntry, str] | None:
    """Return the newest entry about a part of a collection, and who made it in words (organisers)."""
    with workspace.database.reading() as tx:
        wanted = _admit(tx, principal, name, AuditWanted(subject=subject))
        if (entry := audit.last(tx, wanted)) is None:
            return None
        # An organiser of the instance has a token of no collection.
        places = (wanted.collection_id, None)
        owners = (tokens.find_by_id(tx, place, entry.token) for place in places if entry.token is not None)
        holder = next((owner.holder for owner in owners if owner and owner.holder), None)
        return entry, f"{entry.role} {holder}" if holder else entry.role


@dataclass(frozen=True)
class Export:
    """All wanted entries that exist now. `last` is the hash of the newest, which therefore identifies all of them."""

    last: str
    entries: Iterator[AuditEntry]


def export_entries(workspace: Workspace, principal: Principal, name: str | None, wanted: AuditWanted) -> Export:
    """Return all entries that `list_entries` would list.

    Raise errors before the first entry; later entries are left out.
    """
    with workspace.database.reading() as tx:
        wanted = _admit(tx, principal, name, wanted)
        newest = audit.last(tx, wanted)
    if newest is None:
        return Export(NOTHING, iter(()))
    return Export(newest.hash, _entries(workspace, wanted, newest.number))


def entries_of(workspace: Workspace, collection: Collection) -> Iterator[AuditEntry]:
    """Yield the entries about a collection, for whoever was admitted to all of it. They never change."""
    wanted = AuditWanted(collection.id)
    with workspace.database.reading() as tx:
        newest = audit.last(tx, wanted)
    return _entries(workspace, wanted, newest.number) if newest else iter(())


def _entries(workspace: Workspace, wanted: AuditWanted, upto: int) -> Iterator[AuditEntry]:
    after = 0
    while after < upto:
        # Each batch has a transaction of its own, because a slow client may read for hours. Entries never change, so
        # the batches fit together.
        with workspace.database.reading() as tx:
            batch = audit.page(tx, wanted, after=after, limit=BATCH, upto=upto)
        yield from batch
        after = batch[-1].number if batch else upto


def line(entry: AuditEntry) -> str:
    """Return an entry as a line of an export."""
    return canonical(asdict(entry)) + "\n"


def read_line(line: str) -> Any:
    """Return what a line of an export says, or the ValueError that tells why it is no entry."""
    try:
        return json.loads(line, object_pairs_hook=_members)
    except RecursionError:
        return ValueError("it is nested too deeply")
    except ValueError as error:
        return error


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    # Of equal keys, readers of JSON take the first, the last, or both. An entry must mean one thing.
    members: dict[str, Any] = {}
    for key, value in pairs:
        if key in members:
            raise ValueError(f"it has the key {key!r} twice")
        members[key] = value
    return members


@dataclass(frozen=True)
class Verdict:
    """The verdict on a chain: the number of intact entries, the hash of the last one, and the first fault."""

    entries: int
    last: str
    fault: str | None


def verify(entries: Iterable[Any], *, has_gaps: bool = False) -> Verdict:
    """Verify a chain from its start to the first entry that does not fit.

    `has_gaps` is for the export of one collection, or a filtered one, in which only adjacent numbers are linked.
    """
    number, last, count = 0, NOTHING, 0
    for entry in entries:
        if fault := _fault(entry, number, last, has_gaps):
            return Verdict(count, last, fault)
        number, last, count = entry["number"], entry["hash"], count + 1
    return Verdict(count, last, None)


def _fault(entry: Any, number: int, last: str, has_gaps: bool) -> str | None:
    if isinstance(entry, ValueError):
        return f"the line after entry {number} is not an entry of an audit log: {entry}"
    # Not `isinstance` for the number, because true is a number to Python.
    if not isinstance(entry, dict) or set(entry) != set(FIELDS) or type(entry["number"]) is not int:
        return f"the line after entry {number} is not an entry of an audit log"
    this_entry = f"entry {entry['number']}"
    if entry["number"] <= number or (entry["number"] > number + 1 and not has_gaps):
        return f"{this_entry} was found where entry {number + 1} should be"
    if not _is_whole(entry):
        return f"{this_entry} was changed: its hash does not match its fields"
    if entry["number"] == number + 1 and entry["previous"] != last:
        return f"{this_entry} does not follow the entry before it: that entry and its hash were changed"
    return None


def _is_whole(entry: Mapping[str, Any]) -> bool:
    try:
        return bool(digest(entry) == entry["hash"])
    # Halves of surrogate pairs and invalid numbers raise it, and Gainboard never hashed such an entry.
    except ValueError:
        return False
