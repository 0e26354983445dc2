"""The audit log: who changed what, when. Every change adds its entry in the transaction that makes it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from gainboard.evaluation.principals import Principal
from gainboard.evaluation.visibility import open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import audit
from gainboard.store.audit import NOTHING, Wanted, canonical, digest, stamp
from gainboard.store.database import Transaction, at_the_end
from gainboard.store.records import Action, Collection, Entry

FIELDS = tuple(Entry.__annotations__)
LONGEST = 1000
"""Characters of a detail; of longer ones, such as thousands of topics, the entry has their hash."""
BATCH = 500


def record(
    tx: Transaction,
    principal: Principal | None,
    action: Action,
    subject: str,
    collection: Collection | None,
    **details: Any,
) -> None:
    """Adds an entry to the log when the writing transaction ends; none if it fails.

    `principal` is None for whoever starts the service. `subject` names what was changed: a run, a version, an id.
    `details` are JSON values or times: nothing secret, and no content of files, but their hashes.
    """
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
    at_the_end(tx, entry)


def _brief(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _brief(each) for key, each in value.items()}
    value = _plain(value)
    text = canonical(value)
    return value if len(text) <= LONGEST else {"sha256": hashlib.sha256(text.encode()).hexdigest()}


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    # 1.0 and 1 are one number in JSON, and canonical only as the latter.
    return int(value) if isinstance(value, float) and value.is_integer() else value


def differences(old: Collection, new: Collection) -> dict[str, dict[str, Any]]:
    """For the details of an entry: the settings that became others, each with what it was and is."""
    before, after = asdict(old), asdict(new)
    names = [name for name in before if before[name] != after[name] and name != "revision"]
    return {name: {"old": _brief(before[name]), "new": _brief(after[name])} for name in names}


def list_entries(
    workspace: Workspace, principal: Principal, name: str | None, wanted: Wanted, after: int | None, limit: int
) -> list[Entry]:
    """Entries about a collection, for its organisers, oldest first; without a name of the whole instance, for its."""
    with workspace.database.reading() as tx:
        wanted = _admitted(tx, principal, name, wanted)
        return audit.page(tx, wanted, after=after, limit=limit)


def _admitted(tx: Transaction, principal: Principal, name: str | None, wanted: Wanted) -> Wanted:
    if name is None:
        principal.require_instance_organiser()
        return wanted
    view = open_collection(tx, principal, name)
    view.require_organiser()
    return replace(wanted, collection_id=view.collection.id)


@dataclass(frozen=True)
class Export:
    """All wanted entries that there are now: `last` is the hash of the newest, and so tells them all."""

    last: str
    entries: Iterator[Entry]


def exported(workspace: Workspace, principal: Principal, name: str | None, wanted: Wanted) -> Export:
    """As `listed`, all of it. Raises before anything is given; entries that come meanwhile are not in it."""
    with workspace.database.reading() as tx:
        wanted = _admitted(tx, principal, name, wanted)
        newest = audit.last(tx, wanted)
    if newest is None:
        return Export(NOTHING, iter(()))
    return Export(newest.hash, _entries(workspace, wanted, newest.number))


def _entries(workspace: Workspace, wanted: Wanted, upto: int) -> Iterator[Entry]:
    after = 0
    while after < upto:
        # A transaction for each batch: a client may take any time to read, and entries never change.
        with workspace.database.reading() as tx:
            batch = audit.page(tx, wanted, after=after, limit=BATCH, upto=upto)
        yield from batch
        after = batch[-1].number if batch else upto


def line(entry: Entry) -> str:
    """An entry as a line of an export."""
    return canonical(asdict(entry)) + "\n"


@dataclass(frozen=True)
class Verdict:
    """Of a chain: the number of entries that fit together, the hash of the last of them, and what does not."""

    entries: int
    last: str
    fault: str | None


def verify(entries: Iterable[Any], *, has_gaps: bool = False) -> Verdict:
    """Follows a chain from its beginning to the first entry that does not fit.

    `has_gaps`: for the export of one collection, or a filtered one, in which only neighbours are bound to each other.
    """
    number, last, count = 0, NOTHING, 0
    for entry in entries:
        if fault := _fault(entry, number, last, has_gaps):
            return Verdict(count, last, fault)
        number, last, count = entry["number"], entry["hash"], count + 1
    return Verdict(count, last, None)


def _fault(entry: Any, number: int, last: str, has_gaps: bool) -> str | None:
    if not isinstance(entry, dict) or set(entry) != set(FIELDS) or type(entry["number"]) is not int:
        return f"what follows entry {number} is no entry of an audit log"
    own = f"entry {entry['number']}"
    if entry["number"] <= number or (entry["number"] > number + 1 and not has_gaps):
        return f"{own} stands where {number + 1} should"
    if not _is_whole(entry):
        return f"{own} is not what was hashed: one of its fields was changed"
    if entry["number"] == number + 1 and entry["previous"] != last:
        return f"{own} does not follow the one before it: that one was changed, with its hash"
    return None


def _is_whole(entry: Mapping[str, Any]) -> bool:
    try:
        return bool(digest(entry) == entry["hash"])
    except ValueError:  # halves of surrogate pairs, or numbers that are none: nothing of the kind was ever hashed
        return False
