"""Releases of collections: found, listed and read; what they hold stays. And the news of a collection, for a feed.

The history of a release is what the audit log says about what the release holds, and nothing else.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from gainboard.errors import HeldByRelease, NotFound
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import reading_judgments
from gainboard.evaluation.releases.document import HistoryEntry, LoggedEntry
from gainboard.evaluation.workspace import Workspace, spend
from gainboard.store import blobs, qrels, releases, runs
from gainboard.store.audit import canonical
from gainboard.store.database import Transaction
from gainboard.store.records import AuditEntry, Collection, Release, Run, VersionName
from gainboard.vocabulary import judge_of_matrix

SECONDS_A_BYTE: Final = 1e-7
"""Roughly the time that it takes to parse a document and to show it."""


def name_of(collection: Collection, number: int) -> str:
    """Return the name of a release, as in its address: `web-1`."""
    return f"{collection.name}-{number}"


def list_releases(
    workspace: Workspace, principal: Principal, name: str, before: int | None = None, limit: int | None = None
) -> tuple[Collection, Sequence[Release]]:
    """Return the releases of a collection, newest first, for those who see the judgments."""
    with reading_judgments(workspace, principal, name) as (tx, view):
        return view.collection, releases.page(tx, view.collection.id, before=before, limit=limit)


def find_release(
    workspace: Workspace, principal: Principal, name: str, number: int | None
) -> tuple[Collection, Release]:
    """Return a release of a collection, the newest without a number, for those who see the judgments.

    Raise NotFound if there is none.
    """
    with reading_judgments(workspace, principal, name) as (tx, view):
        wanted = releases.last_number(tx, view.collection.id) if number is None else number
        release = releases.find(tx, view.collection.id, wanted)
    if release is None:
        named = "no release" if number is None else f"no release {number}"
        raise NotFound(f"{name!r} has {named}. Organisers make one: gainboard freeze {name}")
    return view.collection, release


def read_document(workspace: Workspace, release: Release) -> dict[str, Any]:
    """Return all that was frozen. Raise TooManyDearRequests if it is large, and others read as much."""
    body = b"".join(blobs.get(workspace.database, release.sha256))
    spend(len(body) * SECONDS_A_BYTE, is_chosen=False)
    document: dict[str, Any] = json.loads(body)
    return document


def require_not_held(
    principal: Principal, collection: Collection, what: str, holding: Sequence[Release]
) -> Mapping[str, Any]:
    """Return the details for the audit log about what releases hold, if an organiser of the instance takes it away.

    Raise HeldByRelease for all others.
    """
    if not holding:
        return {}
    names = [name_of(collection, release.number) for release in holding]
    if not principal.organises_instance:
        raise HeldByRelease(
            f"{what} is part of the release {names[0]}, which never changes. Ask an organiser of the instance, if it "
            "must go.",
            releases=names,
        )
    return {"held_by": names}


def refuse_held_run(tx: Transaction, collection: Collection, run: Run) -> None:
    """Raise HeldByRelease if releases hold a run, whatever its principal: what they say of it does not change."""
    if holding := releases.holding_run(tx, run.id):
        names = [name_of(collection, release.number) for release in holding]
        message = f"The run {run.name!r} is part of the release {names[0]}, which never changes, with its metadata."
        raise HeldByRelease(f"{message} Describe a run before the collection is frozen.", releases=names)


def held_set(tx: Transaction, principal: Principal, collection: Collection, judgments: str) -> Mapping[str, Any]:
    """Return the details for the audit log if releases hold a judgment set. Raise as `require_not_held`."""
    holding = releases.holding_set(tx, collection.id, judgments)
    return require_not_held(principal, collection, f"The judgments {judgments!r}", holding)


# BibTeX counts each brace, also one behind a backslash. Letters beyond ASCII stay, for the sake of reference managers.
_BRACES: Final = {"{": r"{\char123}", "}": r"{\char125}", "\\": r"{\char92}", "~": r"{\char126}", "^": r"{\char94}"}
_TEX: Final = str.maketrans(_BRACES | {sign: f"\\{sign}" for sign in "$&#_%"})
_ORDERS: Final = {"score": "trec_eval's order", "score32": "trec_eval 9's order", "rank": "the order of the ranks"}


def describe_scores(label: str, order_by: str, topics: str, is_tested: bool) -> str:
    """Return how a paper says which scores these are: the metric, its parameters, the topics and the test."""
    name, options, cutoff = re.findall(r"^([^(@]+)(?:\((.*)\))?(@.*)?$", label)[0]
    words = options.replace("=", " ").replace("_", " ").split(",")
    said = sorted(filter(None, words), key=lambda option: not option.startswith("gains"))
    # Scores from elsewhere have no order of documents.
    said += [] if ":" in name else [_ORDERS[order_by]]
    test = "; significance by bootstrap range, 5 %" if is_tested else ""
    return f"{name}{cutoff} with {', '.join(said)}; {topics}{test}."


def cite(
    key: str, title: str, at: str, version: str, sha256: str, url: str, said: str, by: Sequence[str] = (), doi: str = ""
) -> dict[str, str]:
    """Return how a paper cites a release, a board or a score: its `sentence`, `bibtex`, and CSL-JSON as `csl`."""
    note = f"{version}, SHA-256 {sha256}. {said}"
    csl: dict[str, Any] = {"id": key, "type": "dataset", "title": title, "version": version, "URL": url, "note": note}
    csl |= {
        "DOI": doi,
        "author": [{"literal": name} for name in by],
        "issued": {"date-parts": [[*map(int, at[:10].split("-"))]]},
    }
    # Braces keep the capitals of a title, and an "and" within a name.
    names = " and ".join(f"{{{name.translate(_TEX)}}}" for name in by)
    fields = {"author": names, "title": f"{{{title.translate(_TEX)}}}", "year": at[:4], "url": url}
    fields |= {"version": version.translate(_TEX), "note": note.translate(_TEX), "doi": quote(doi, "/:;()<>")}
    entry = "".join(f"  {name} = {{{value}}},\n" for name, value in fields.items() if value)
    item = {name: value for name, value in csl.items() if value}
    return {"sentence": said, "bibtex": f"@misc{{{key},\n{entry}}}", "csl": json.dumps([item], ensure_ascii=False)}


def cite_release(document: Mapping[str, Any], sha256: str, server: str) -> dict[str, str]:
    """Return how to cite a release and its boards."""
    release, order, boards = document["release"], document["settings"]["order_by"], document["boards"]
    over = "; means over the replicates of each system" if any(it.get("system") for it in document["runs"]) else ""
    said = (describe_scores(it["by"], order, f"{it['topics']} topics{over}", bool(it["test"])) for it in boards)
    named = release["name"], release["title"], release["created_at"], f"Release {release['number']}", sha256
    return cite(*named, f"{server}/r/{release['name']}", " ".join(said), release["creators"], release["doi"] or "")


MOST_ENTRIES: Final = 100
"""The most entries of a feed: the newest."""


@dataclass(frozen=True)
class FeedEntry:
    """One event: its kind, the name of what it is about, when it was, and a sentence."""

    kind: Literal["qrels", "release", "late-run"]
    subject: str
    at: datetime
    title: str


@dataclass(frozen=True)
class Feed:
    """The news of a collection, the newest first."""

    collection: Collection
    entries: Sequence[FeedEntry]

    @property
    def updated_at(self) -> datetime:
        """The time of the newest entry, or that of the collection's creation."""
        return max((entry.at for entry in self.entries), default=self.collection.created_at)


def feed_of(workspace: Workspace, principal: Principal, name: str) -> Feed:
    """Return the news of a collection. Raise JudgmentsHidden unless the principal may see its judgments.

    Drafts, other judgment sets and withdrawn runs are left out.
    """
    now = workspace.now()
    with reading_judgments(workspace, principal, name) as (tx, view):
        collection = view.collection
        versions = qrels.page(tx, collection.id, drafts=False, after=None, limit=1_000_000)
        start = collection.late_from
        late = runs.list_newest(tx, collection.id, start, MOST_ENTRIES) if start else []
    entries = [
        FeedEntry(
            "qrels",
            str(version.version),
            version.published_at,
            f"Version {version.version} of the judgments is in use: {version.judged:,} judged, {version.relevant:,} "
            "relevant",
        )
        for version in versions
        if version.published_at is not None
    ]
    if (release := collection.release) is not None and release <= now:
        entries.append(FeedEntry("release", collection.name, release, "The judgments were released"))
    entries += [
        FeedEntry("late-run", run.name, run.created_at, f"The run {run.name} of {run.team} came after the release")
        for run in late
    ]
    return Feed(collection, sorted(entries, key=lambda entry: entry.at, reverse=True)[:MOST_ENTRIES])


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
        held.add(("answers-judged", judge_of_matrix(item["name"]), item["sha256"]))
    for item in document.get("nuggets", ()):
        held.add(("nuggets-published", str(item["version"]), item["sha256"]))
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
