"""The history of a release: what the audit log says about what the release holds, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from gainboard.evaluation.releases.document import HistoryEntry, LoggedEntry
from gainboard.store.access_records import AuditEntry
from gainboard.store.audit import canonical
from gainboard.store.records import VersionName

HISTORY: Final = "data/history.ndjson"
"""Its place in the folder of a release."""
WHOLE_LOG: Final = "data/audit.ndjson"
"""The place of the whole log in folders of the first form."""


def history(entries: Iterable[AuditEntry], document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield what entries of the audit log say about what a release holds, up to the release itself.

    The log also tells of drafts, hidden judgments, jobs about them and sessions, and their hashes find them again.
    """
    # By hash, too: the name of a withdrawn run may have been used again.
    held = {("run-uploaded", run["name"], run["sha256"]) for run in document["runs"]}
    held |= {("run-described", run["name"], run.get("metadata_sha256")) for run in document["runs"]}
    for item in document["judgments"]:
        held.add(("qrels-published", VersionName(item["judgments"], item["version"]).subject, item["sha256"]))
    for item in document.get("score_matrices", ()):
        held.add(("score-matrix-uploaded", f"{item['name']} {item['version']}", item["sha256"]))
    for entry in entries:
        sha256, is_frozen = entry.details.get("sha256"), entry.action == "release-frozen"
        if isinstance(sha256, str) and (is_frozen or (entry.action, entry.subject, sha256) in held):
            entry_fields = {"at": entry.at, "action": entry.action, "subject": entry.subject}
            yield {**entry_fields, "team": entry.details.get("of_team"), "sha256": sha256, "hash": entry.hash}
            if is_frozen and entry.subject == document["release"]["name"]:
                return


def line_of(entry: Mapping[str, Any]) -> str:
    """Return an entry of a history as a line of its file."""
    return canonical(entry) + "\n"


def read_history(text: str, document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the history of a release from its folder, or from an audit log, as older folders have. Raise ValueError."""
    either = TypeAdapter[HistoryEntry | LoggedEntry](HistoryEntry | LoggedEntry)
    for number, line in enumerate(text.splitlines(), start=1):
        try:
            entry = either.validate_json(line)
            fields = entry.model_dump()
            if isinstance(entry, LoggedEntry):
                frozen = next(history([AuditEntry(**fields)], document), None)
                fields = HistoryEntry.model_validate(frozen).model_dump() if frozen else {}
        except ValidationError as error:
            raise ValueError(f"line {number} is no entry of a history or an audit log") from error
        if fields:
            yield fields
