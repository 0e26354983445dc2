"""Qrels versions: sent as drafts or published, listed, returned and discarded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from gainboard.evaluation import audit
from gainboard.evaluation.access.policy import CollectionPolicy, unscorable
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import View, open_collection, open_locked, require_unchanged
from gainboard.evaluation.judgments import publication
from gainboard.evaluation.judgments.publication import Rows, after_all, store_judged, unjudged, with_all_judged
from gainboard.evaluation.judgments.versions import INDEXES, judged_topics, require_set, select
from gainboard.evaluation.runs.intake import Body, Intake
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import Chunks, no_common_topics, read_judgments
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.sources import MOST_LEVELS
from gainboard.store import blobs, collections, qrels
from gainboard.store.access_records import Action
from gainboard.store.database import Transaction
from gainboard.store.records import OFFICIAL, Collection, Qrels, VersionName
from gainboard.store.run_order import RunOrder
from gainboard.trec import FileLimits, FileWarning, QrelsFile


@dataclass(frozen=True)
class Published:
    """A version, and whether this call created it."""

    qrels: Qrels
    created: bool
    takes_job: bool = False
    """True if the stored runs are still to be judged by it, which takes longer than a request may."""


@dataclass(frozen=True)
class SeenQrels:
    """A version, and whether it answers requests that name no version."""

    qrels: Qrels
    in_use: bool


def admit(workspace: Workspace, principal: Principal, name: str) -> Collection:
    """Return the collection if the principal may send qrels for it. Raise errors before the file is sent in vain."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        return view.collection


def publish(
    workspace: Workspace,
    principal: Principal,
    name: str,
    body: Body,
    columns: str | None = None,
    *,
    draft: bool = False,
    judgments: str = OFFICIAL,
) -> Published:
    """Read a qrels file, judge the stored runs by it, and publish it or store it as a draft of a judgment set.

    All computing happens outside the write transaction. Runs that arrive meanwhile are judged before the version is
    stored. The bytes of the newest version create no new version, and those of a draft no new draft.
    """
    collection = admit(workspace, principal, name)
    with Intake(body, workspace.limits) as intake:
        read = partial(_read, collection=collection, columns=columns, limits=workspace.limits)
        file = intake.read(read)
        with workspace.database.reading() as tx:
            if same := _same(tx, collection, judgments, intake, file, draft):
                return Published(same, created=False)
            is_long = publication.is_long(tx, collection)
        _refuse_foreign(collection, file)
        index = QrelsIndex.of(file, collection.highest_level)
        if is_long:
            return replace(
                _add_unjudged(workspace, principal, collection, judgments, intake, file, index), takes_job=True
            )
        return with_all_judged(
            workspace,
            collection,
            lambda: index,
            lambda judged: _add(workspace, principal, collection, judgments, intake, file, index, judged, draft),
            order=collection.order,
        )


def _read(chunks: Chunks, *, collection: Collection, columns: str | None, limits: FileLimits) -> QrelsFile:
    return read_judgments(chunks(), collection.levels, collection.intents, columns, limits)


def _same(
    tx: Transaction, collection: Collection, judgments: str, intake: Intake, file: QrelsFile, draft: bool
) -> Qrels | None:
    newest = qrels.find(tx, collection.id, VersionName(judgments))
    if newest is not None and newest.sha256 == intake.sha256 and newest.columns == file.columns:
        return newest
    if not draft:
        return None
    return qrels.find_draft(tx, collection.id, judgments, intake.sha256, file.columns, collection.order)


def _add_unjudged(
    workspace: Workspace,
    principal: Principal,
    collection: Collection,
    judgments: str,
    intake: Intake,
    file: QrelsFile,
    index: QrelsIndex,
) -> Published:
    """Store the version as a draft by which no run is judged yet. An equal draft is used again."""
    with workspace.database.reading() as tx:
        if same := _same(tx, collection, judgments, intake, file, draft=True):
            return Published(same, created=False)
    added = _add(workspace, principal, collection, judgments, intake, file, index, None, draft=True)
    assert added is not None, "nothing waits for runs to be judged"
    return added


def _add(
    workspace: Workspace,
    principal: Principal,
    collection: Collection,
    judgments: str,
    intake: Intake,
    file: QrelsFile,
    index: QrelsIndex,
    judged: Rows | None,
    draft: bool,
) -> Published | None:
    with intake.prepared(workspace.database) as content, workspace.database.writing() as tx:
        view = open_locked(tx, principal, collection.name)
        view.require_organiser()
        require_unchanged(collection, view.collection, *RunOrder._fields)
        # Another request may have stored the same file since the first check.
        if same := _same(tx, collection, judgments, intake, file, draft):
            return Published(same, created=False)
        if judged is not None and unjudged(tx, collection, judged):
            return None
        blobs.put(tx, content)
        now = workspace.now()
        published_at = None if draft else after_all(tx, collection, judgments, now)
        values = _values(collection, intake, file, index, now)
        qrels.add_set(tx, collection.id, judgments, now)
        added = qrels.add(tx, collection.id, judgments, created_at=now, published_at=published_at, **values)
        if judged is not None:
            store_judged(tx, collection, judged, added.id)
        if not draft:  # no answer uses a draft
            collections.touch(tx, collection.id)
        action: Action = "qrels-drafted" if draft else "qrels-published"
        details = {"sha256": added.sha256, "bytes": intake.size, "judged": added.judged}
        audit.record(tx, principal, action, added.subject, collection, **details)
    # After the transaction: without it, the id may mean another version later.
    INDEXES.of(workspace).keep(added.id, index)
    return Published(added, created=True)


def _values(
    collection: Collection, intake: Intake, file: QrelsFile, index: QrelsIndex, now: datetime
) -> dict[str, Any]:
    levels = file.judgments.count_levels()
    warnings = [*file.warnings, *_topic_warnings(collection, list(file.judgments), now)]
    return {
        "sha256": intake.sha256,
        "columns": file.columns,
        "topics": len(file.judgments),
        "judged": levels.total(),
        "relevant": sum(count for level, count in levels.items() if level > 0),
        "per_level": {collection.level_name(level): levels[level] for level in sorted(levels)},
        "warnings": [warning.as_json() for warning in warnings],
        "counts": index.topics.packed(),
        **collection.order._asdict(),
    }


OF_TOPICS = ("no-topics-declared", "undeclared-topics", "unjudged-topics")
"""The codes of warnings that depend on the collection's declared topics, which may change after the upload."""


def _topic_warnings(collection: Collection, judged: Sequence[str], now: datetime) -> Iterator[FileWarning]:
    """Yield warnings about undeclared topics.

    Participants send runs for the declared topics, so others are probably a mistake.
    """
    if collection.topics is None:
        if CollectionPolicy.of(collection).presets and not collection.is_released(now):
            yield unscorable(collection)
        return
    declared, known = set(collection.topics), set(judged)
    undeclared = [topic for topic in judged if topic not in declared]
    unjudged = [topic for topic in collection.topics if topic not in known]
    if undeclared:
        message = (
            f"The qrels have topics that the collection does not declare, such as {undeclared[0]!r}. They count; "
            "declare them if they should"
        )
        yield FileWarning("undeclared-topics", message, len(undeclared))
    if unjudged:
        message = f"Declared topics have no judgments, such as {unjudged[0]!r}. They do not count"
        yield FileWarning("unjudged-topics", message, len(unjudged))


def _refuse_foreign(collection: Collection, file: QrelsFile) -> None:
    declared = collection.topics or []
    if declared and not any(topic in file.judgments for topic in declared):
        raise no_common_topics("qrels", next(iter(file.judgments)), collection.name, declared)


def list_versions(
    workspace: Workspace, principal: Principal, name: str, judgments: str, after: int | None, limit: int
) -> list[SeenQrels]:
    """List a set's versions by number, for principals who may see its judgments; drafts only for organisers."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        require_set(tx, view, judgments)
        found = qrels.page(tx, view.collection.id, judgments, drafts=view.organises, after=after, limit=limit)
        newest = qrels.find(tx, view.collection.id, VersionName(judgments))
        return [SeenQrels(_as_it_is_now(workspace, tx, view, each), each == newest) for each in found]


def version(workspace: Workspace, principal: Principal, name: str, named: VersionName) -> SeenQrels:
    """Return one version, for principals who may see the judgments."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        found = select(tx, view, named)
        in_use = found == qrels.find(tx, view.collection.id, named._replace(version=None))
        return SeenQrels(_as_it_is_now(workspace, tx, view, found), in_use)


def _as_it_is_now(workspace: Workspace, tx: Transaction, view: View, found: Qrels) -> Qrels:
    """Return a version with the warnings about its topics that hold now: those of the upload may have been solved."""
    stored = [each for each in found.warnings if each["code"] not in OF_TOPICS]
    topics = judged_topics(workspace, tx, found).topics
    now = [each.as_json() for each in _topic_warnings(view.collection, topics, workspace.now())]
    return replace(found, warnings=[*stored, *now])


@dataclass(frozen=True)
class SurveyedQrels:
    """A qrels file in numbers: its highest level, its topics in byte order, and its judgments."""

    levels: int
    topics: Sequence[str]
    judged: int
    relevant: int


def survey(workspace: Workspace, principal: Principal, body: Body) -> SurveyedQrels:
    """Read a qrels file of any numbered levels for whoever may create a collection for it, and store nothing."""
    principal.require_instance_organiser()
    with Intake(body, workspace.limits) as intake:
        file = intake.read(partial(_read_any, limits=workspace.limits))
    levels = file.judgments.count_levels()
    relevant = sum(count for level, count in levels.items() if level > 0)
    return SurveyedQrels(max(1, *levels), sorted(file.judgments, key=str.encode), levels.total(), relevant)


def _read_any(chunks: Chunks, *, limits: FileLimits) -> QrelsFile:
    return read_judgments(chunks(), MOST_LEVELS, False, None, limits)


def file(workspace: Workspace, found: Qrels) -> Iterator[bytes]:
    """Yield a version's file as it was uploaded, decompressed."""
    return blobs.get(workspace.database, found.sha256)
