"""Qrels versions: published, listed, given back, and kept ready for the join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from app.evaluation.intake import Body, Intake, reread
from app.evaluation.judging import JudgedTopics, QrelsIndex, judge, no_common_topics
from app.evaluation.principals import Principal
from app.evaluation.versions import select
from app.evaluation.visibility import open_collection, open_locked, require_unchanged
from app.evaluation.workspace import Workspace
from app.store import blobs, collections, qrels, runs
from app.store.database import Transaction
from app.store.records import Collection, Qrels, Run
from app.trec import FileWarning, QrelsFile, read_qrels


@dataclass(frozen=True)
class Published:
    """A version, and whether this call made it."""

    qrels: Qrels
    created: bool


def admit(workspace: Workspace, principal: Principal, name: str) -> Collection:
    """The collection for whose qrels the principal may send a file; raises before anybody sends one in vain."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_organiser()
        return view.collection


def publish(workspace: Workspace, principal: Principal, name: str, body: Body, columns: str | None = None) -> Published:
    """Reads a qrels file, judges the stored runs by it, and makes it the version that answers.

    All computing happens outside the write transaction; runs that arrive meanwhile are picked up before the
    version is published. The same bytes as the newest version make no new one.
    """
    collection = admit(workspace, principal, name)
    with Intake(body, workspace.limits) as intake:
        file = read_qrels(intake.chunks(), levels=collection.levels, columns=columns, limits=workspace.limits)
        with workspace.database.reading() as tx:
            if same := _newest_if_same(tx, collection, intake, file):
                return Published(same, created=False)
        _refuse_foreign(collection, file)
        index = QrelsIndex(file.judgments, JudgedTopics.of(file.judgments, collection.highest_level))
        judged: dict[int, dict[str, Any]] = {}
        while True:
            with workspace.database.reading() as tx:
                waiting = [run for run in runs.page(tx, collection.id) if run.id not in judged]
            for run in waiting:
                judged[run.id] = _judge_stored(workspace, collection, run, index)
            if published := _publish(workspace, principal, collection, intake, file, index, judged):
                return published


def _newest_if_same(tx: Transaction, collection: Collection, intake: Intake, file: QrelsFile) -> Qrels | None:
    newest = qrels.find(tx, collection.id)
    is_same = newest is not None and newest.sha256 == intake.sha256 and newest.columns == file.columns
    return newest if is_same else None


def _judge_stored(workspace: Workspace, collection: Collection, run: Run, index: QrelsIndex) -> dict[str, Any]:
    """The join of a stored run with a qrels version, as a row for the store."""
    return reread(workspace, collection, run, lambda rankings: judge(rankings, index)).row()


def _publish(
    workspace: Workspace,
    principal: Principal,
    collection: Collection,
    intake: Intake,
    file: QrelsFile,
    index: QrelsIndex,
    judged: dict[int, dict[str, Any]],
) -> Published | None:
    with workspace.database.writing() as tx:
        view = open_locked(tx, principal, collection.name)
        view.require_organiser()
        require_unchanged(collection, view.collection)
        if same := _newest_if_same(tx, collection, intake, file):
            return Published(same, created=False)
        stored = [run.id for run in runs.page(tx, collection.id)]
        if not judged.keys() >= set(stored):
            return None  # A run came in between; it is judged before anything is published.
        intake.store(tx)
        now = workspace.now()
        values = _values(collection, intake, file, index)
        added = qrels.add(tx, collection.id, created_at=now, published_at=now, **values)
        runs.add_judged(tx, [judged[run_id] | {"run_id": run_id, "qrels_id": added.id} for run_id in stored])
        collections.touch(tx, collection.id)
    workspace.indexes.keep(added.id, index)
    return Published(added, created=True)


def _values(collection: Collection, intake: Intake, file: QrelsFile, index: QrelsIndex) -> dict[str, Any]:
    levels = Counter(level for judged in file.judgments.values() for level in judged.values())
    return {
        "sha256": intake.sha256,
        "columns": file.columns,
        "topics": len(file.judgments),
        "judged": levels.total(),
        "relevant": sum(count for level, count in levels.items() if level > 0),
        "per_level": {collection.level_name(level): levels[level] for level in sorted(levels)},
        "warnings": [warning.as_json() for warning in (*file.warnings, *_topic_warnings(collection, file))],
        "counts": index.topics.packed(),
    }


def _topic_warnings(collection: Collection, file: QrelsFile) -> Iterator[FileWarning]:
    """Where a collection declares its topics, participants send runs for those: other ones are a likely mistake."""
    if collection.topics is None:
        return
    declared = set(collection.topics)
    undeclared = [topic for topic in file.judgments if topic not in declared]
    unjudged = [topic for topic in collection.topics if topic not in file.judgments]
    if undeclared:
        message = f"Topics of the qrels that the collection does not declare, such as {undeclared[0]!r}; they count"
        yield FileWarning("undeclared-topics", message, len(undeclared))
    if unjudged:
        message = f"Declared topics without judgments, such as {unjudged[0]!r}; they do not count"
        yield FileWarning("unjudged-topics", message, len(unjudged))


def _refuse_foreign(collection: Collection, file: QrelsFile) -> None:
    declared = collection.topics or []
    if declared and not any(topic in file.judgments for topic in declared):
        raise no_common_topics("qrels", next(iter(file.judgments)), collection.name, declared)


def versions(workspace: Workspace, principal: Principal, name: str, after: int | None, limit: int) -> list[Qrels]:
    """The versions of a collection, oldest first, for whoever may see its judgments."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        return qrels.page(tx, view.collection.id, after=after, limit=limit)


def version(workspace: Workspace, principal: Principal, name: str, number: int) -> Qrels:
    """One version, for whoever may see the judgments."""
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        return select(tx, view, number)


def file(workspace: Workspace, found: Qrels) -> Iterator[bytes]:
    """A version's file, byte for byte as it was uploaded, decompressed."""
    return blobs.get(workspace.database, found.sha256)
