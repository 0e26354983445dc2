"""Qrels versions: sent as drafts or published, listed, returned and discarded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any

from gainboard.evaluation import audit
from gainboard.evaluation.access import visibility
from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.collection_settings import Policy
from gainboard.evaluation.judgments import publication
from gainboard.evaluation.judgments.publication import Rows, after_all, list_unjudged, store_judged, with_all_judged
from gainboard.evaluation.judgments.versions import INDEXES, judged_topics, require_set, select
from gainboard.evaluation.runs.intake import Body, Intake, read_by
from gainboard.evaluation.runs.join import QrelsIndex
from gainboard.evaluation.runs.run_files import Chunks, no_common_topics, read_judgments
from gainboard.evaluation.workspace import Workspace
from gainboard.notation.sources import MOST_LEVELS
from gainboard.store import blobs, collections, qrels
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels, VersionName
from gainboard.trec import FileLimits, FileWarning, QrelsFile
from gainboard.vocabulary import OFFICIAL, Action, RunOrder


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
    collection = visibility.require_organiser(workspace, principal, name)
    visibility.require_judged(collection, "no qrels can be uploaded")
    options: dict[str, Any] = {"levels": collection.levels, "intents": collection.intents, "columns": columns}
    with Intake(body, workspace.limits) as intake:
        file = intake.read(partial(read_by, read_judgments, limits=workspace.limits, **options))
        upload = _QrelsUpload(workspace, principal, collection, judgments, intake, file, draft)
        with workspace.database.reading() as tx:
            if same := upload.same(tx):
                return Published(same, created=False)
            is_long = publication.is_long(tx, collection)
        declared = collection.topics or []
        if declared and not any(topic in file.judgments for topic in declared):
            raise no_common_topics("qrels", next(iter(file.judgments)), collection.name, declared)
        index = QrelsIndex.of(file, collection.highest_level)
        if is_long:
            # A job will judge the runs and publish. Until then this is a draft, which nothing waits for.
            published = replace(upload, draft=True).add(index, None)
            assert published is not None
            return replace(published, takes_job=True)
        return with_all_judged(
            workspace, collection, lambda: index, lambda judged: upload.add(index, judged), order=collection.order
        )


@dataclass(frozen=True)
class _QrelsUpload:
    """A file of judgments that was read for a set of a collection, whose settings may change until it is stored."""

    workspace: Workspace
    principal: Principal
    collection: Collection
    judgments: str
    intake: Intake
    file: QrelsFile
    draft: bool

    def same(self, tx: Transaction) -> Qrels | None:
        """Return the newest version if this is its file; else, for a draft, an equal draft."""
        newest = qrels.find(tx, self.collection.id, VersionName(self.judgments))
        # The same bytes in another layout are other judgments.
        if newest is not None and newest.sha256 == self.intake.sha256 and newest.columns == self.file.columns:
            return newest
        if not self.draft:
            return None
        order = self.collection.order
        return qrels.find_draft(tx, self.collection.id, self.judgments, self.intake.sha256, self.file.columns, order)

    def add(self, index: QrelsIndex, judged: Rows | None) -> Published | None:
        """Store the version with the judged runs. Return None if other runs came in, which must be judged first."""
        collection = self.collection
        with self.intake.prepared(self.workspace.database) as content, self.workspace.database.writing() as tx:
            view = visibility.open_locked(tx, self.principal, collection.name)
            view.require_organiser()
            visibility.require_unchanged(collection, view.collection, *RunOrder._fields)
            # Another request may have stored the same file since the first check.
            if same := self.same(tx):
                return Published(same, created=False)
            if judged is not None and list_unjudged(tx, collection, judged):
                return None
            blobs.put(tx, content)
            now = self.workspace.now()
            qrels.add_set(tx, collection.id, self.judgments, now)
            levels = self.file.judgments.count_levels()
            warnings = [*self.file.warnings, *_topic_warnings(collection, list(self.file.judgments), now)]
            added = qrels.add(
                tx,
                collection.id,
                self.judgments,
                created_at=now,
                published_at=None if self.draft else after_all(tx, collection, self.judgments, now),
                sha256=self.intake.sha256,
                columns=self.file.columns,
                topics=len(self.file.judgments),
                judged=levels.total(),
                relevant=sum(count for level, count in levels.items() if level > 0),
                per_level={collection.level_name(level): levels[level] for level in sorted(levels)},
                warnings=[warning.as_json() for warning in warnings],
                counts=index.topics.packed(),
                **collection.order._asdict(),
            )
            if judged is not None:
                store_judged(tx, collection, judged, added.id)
            # No answer uses a draft, so answers that are kept stay valid.
            if not self.draft:
                collections.touch(tx, collection.id)
            action: Action = "qrels-drafted" if self.draft else "qrels-published"
            details = {"sha256": added.sha256, "bytes": self.intake.size, "judged": added.judged}
            audit.record(tx, self.principal, action, added.subject, collection, **details)
        # After the transaction: without it, the id may mean another version later.
        INDEXES.of(self.workspace).keep(added.id, index)
        return Published(added, created=True)


OF_TOPICS = ("no-topics-declared", "undeclared-topics", "unjudged-topics")
"""The codes of warnings that depend on the collection's declared topics, which may change after the upload."""


def _topic_warnings(collection: Collection, judged: Sequence[str], now: datetime) -> Iterator[FileWarning]:
    """Yield warnings about undeclared topics.

    Participants send runs for the declared topics, so others are probably a mistake.
    """
    if collection.topics is None:
        if Policy.of(collection).presets and not collection.is_released(now):
            yield visibility.unscorable(collection)
        return
    declared, with_judgments = set(collection.topics), set(judged)
    undeclared = [topic for topic in judged if topic not in declared]
    unjudged = [topic for topic in collection.topics if topic not in with_judgments]
    if undeclared:
        message = (
            f"The qrels have topics that the collection does not declare, such as {undeclared[0]!r}. They count; "
            "declare them if they should"
        )
        yield FileWarning("undeclared-topics", message, len(undeclared))
    if unjudged:
        message = f"Declared topics have no judgments, such as {unjudged[0]!r}. They do not count"
        yield FileWarning("unjudged-topics", message, len(unjudged))


def list_versions(
    workspace: Workspace, principal: Principal, name: str, judgments: str, after: int | None, limit: int
) -> list[SeenQrels]:
    """List a set's versions by number, for principals who may see its judgments; drafts only for organisers."""
    with visibility.reading_judgments(workspace, principal, name) as (tx, view):
        view.require_judged("it has no qrels")
        require_set(tx, view, judgments)
        versions = qrels.page(tx, view.collection.id, judgments, drafts=view.organises, after=after, limit=limit)
        newest = qrels.find(tx, view.collection.id, VersionName(judgments))
        return [SeenQrels(_renew_warnings(workspace, tx, view, version), version == newest) for version in versions]


def find_version(workspace: Workspace, principal: Principal, name: str, named: VersionName) -> SeenQrels:
    """Return one version, for principals who may see the judgments."""
    with visibility.reading_judgments(workspace, principal, name) as (tx, view):
        view.require_judged("it has no qrels")
        stored = select(tx, view, named)
        in_use = stored == qrels.find(tx, view.collection.id, named._replace(version=None))
        return SeenQrels(_renew_warnings(workspace, tx, view, stored), in_use)


def _renew_warnings(workspace: Workspace, tx: Transaction, view: visibility.View, version: Qrels) -> Qrels:
    """Return a version with the warnings about its topics that hold now: those of the upload may have been solved."""
    stored = [warning for warning in version.warnings if warning["code"] not in OF_TOPICS]
    topics = judged_topics(workspace, tx, version).topics
    now = [warning.as_json() for warning in _topic_warnings(view.collection, topics, workspace.now())]
    return replace(version, warnings=[*stored, *now])


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
    return SurveyedQrels(max([1, *levels]), sorted(file.judgments, key=str.encode), levels.total(), relevant)


def _read_any(chunks: Chunks, *, limits: FileLimits) -> QrelsFile:
    return read_judgments(chunks(), MOST_LEVELS, False, None, limits)


def read_file(workspace: Workspace, version: Qrels) -> Iterator[bytes]:
    """Yield a version's file as it was uploaded, decompressed."""
    return blobs.get(workspace.database, version.sha256)
