"""Receipts of uploads: what arrived, when, whose it is, and the hash of the entry of the audit log that says so."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from gainboard.errors import NotFound
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.runs import runs
from gainboard.evaluation.workspace import Workspace
from gainboard.store import audit
from gainboard.store.records import AuditEntry
from gainboard.vocabulary import Action

RUN: Final[Sequence[Action]] = ("run-uploaded",)
QRELS: Final[Sequence[Action]] = ("qrels-published", "qrels-drafted")
MATRIX: Final[Sequence[Action]] = ("score-matrix-uploaded",)
"""The entries of the audit log about uploads."""


@dataclass(frozen=True)
class Receipt:
    """A receipt. Whoever has the audit log can check it; it is no secret, and no signature."""

    collection: str
    collection_uuid: str
    action: str
    subject: str
    """The name of the run, or the number of the version."""
    team: str | None
    sha256: str
    """The SHA-256 of the decompressed file."""
    bytes: int | None
    """The size of the decompressed file; None for what arrived before there were receipts."""
    received_at: str
    entry: str
    """The hash of the entry of the audit log."""

    def as_json(self) -> str:
        """Return the receipt as one line of JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def of(cls, entry: AuditEntry) -> Receipt:
        """Return the receipt that an entry about an upload stands for."""
        # Entries from before there were receipts have neither the size nor the time of arrival.
        details = entry.details
        return cls(
            collection=str(entry.collection),
            collection_uuid=str(entry.collection_uuid),
            action=entry.action,
            subject=entry.subject,
            team=details.get("of_team"),
            sha256=details["sha256"],
            bytes=details.get("bytes"),
            received_at=details.get("received_at", entry.at),
            entry=entry.hash,
        )


def receipt_of_run(workspace: Workspace, principal: Principal, collection: str, name: str) -> Receipt:
    """Return the receipt of a run, for those who may read its file. Raise NotFound or JudgmentsHidden."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, collection)
        run = runs.find(tx, view, name)
        view.require_file(run)
    return receipt_of(workspace, run.collection_id, RUN, run.name, run.sha256)


def receipt_of(
    workspace: Workspace, collection_id: int, actions: Sequence[Action], subject: str, sha256: str
) -> Receipt:
    """Return the receipt of a file that was stored under this name. Raise NotFound if the log has no entry."""
    with workspace.database.reading() as tx:
        entry = audit.upload(tx, collection_id, actions, subject, sha256)
    if entry is None:
        raise NotFound(f"There is no receipt of {subject!r}: the audit log began after it had arrived.")
    return Receipt.of(entry)


class ReceiptCheck:
    """The comparison of receipts with the entries of a log, which pass through `watched` once."""

    def __init__(self, receipts: Iterable[Mapping[str, Any]]) -> None:
        self._wanted = {str(receipt.get("entry")): receipt for receipt in receipts}
        self._found: set[str] = set()
        self.faults: list[str] = []

    @property
    def count(self) -> int:
        return len(self._wanted)

    def watched(self, entries: Iterable[Any]) -> Iterator[Any]:
        """Yield the entries, and compare those that receipts name."""
        for entry in entries:
            # The log may be a file that somebody has changed, so an entry may be anything.
            if isinstance(entry, dict) and (receipt := self._wanted.get(str(entry.get("hash")))) is not None:
                self._found.add(str(entry["hash"]))
                self._compare(entry, receipt)
            yield entry

    def _compare(self, entry: Mapping[str, Any], receipt: Mapping[str, Any]) -> None:
        try:
            logged = asdict(Receipt.of(AuditEntry(**entry)))
        except (KeyError, TypeError, AttributeError):
            self.faults.append(f"entry {entry.get('number')}, which a receipt names, is about no upload")
            return
        for name, value in logged.items():
            if receipt.get(name) != value:
                said = f"the receipt of {receipt.get('subject')!r} says {name} {receipt.get(name)!r}"
                self.faults.append(f"{said}, and entry {entry['number']} of the log says {value!r}")

    def missing(self) -> Iterator[str]:
        """Yield a sentence for each receipt whose entry is not in the log."""
        for entry, receipt in self._wanted.items():
            if entry not in self._found:
                yield f"the log has no entry {entry}, which the receipt of {receipt.get('subject')!r} names"
