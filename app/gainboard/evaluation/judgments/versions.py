"""Choosing a qrels version, and keeping versions in memory for scoring and for the join."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import numpy as np

from gainboard.errors import Conflict, JudgmentsHidden, NoQrels, NotFound, RowDamaged
from gainboard.evaluation import audit
from gainboard.evaluation.access import visibility
from gainboard.evaluation.access.principals import Principal, Sender, identify, note_use
from gainboard.evaluation.releases.releases import held_set
from gainboard.evaluation.runs.join import JudgedTopics, QrelsIndex
from gainboard.evaluation.runs.run_files import NO_LIMITS, read_judgments
from gainboard.evaluation.workspace import Workspace, WorkspaceCache
from gainboard.metrics import Judgments
from gainboard.notation.texts import is_slug
from gainboard.store import blobs, collections, jobs, qrels, score_matrices, snapshots, tokens
from gainboard.store.database import Transaction, machine_of
from gainboard.store.records import Collection, Qrels, VersionName
from gainboard.vocabulary import OFFICIAL, Action, metric_of_matrix

JUDGED_TOPICS: WorkspaceCache[int, JudgedTopics] = WorkspaceCache(64)
"""Topics and counts, by the id of the version."""
INDEXES: WorkspaceCache[int, QrelsIndex] = WorkspaceCache(1_000_000, lambda index: index.judged)
"""Indexes for the join, by the id of the version, for a million judgments in total.

A judgment takes 25 bytes, or 130 bytes after a run was joined without the compiled functions.
"""


@dataclass(frozen=True)
class JudgedVersion:
    """A version with its topics, or some of them, and the number of judged documents of each topic."""

    qrels: Qrels
    topics: JudgedTopics

    @property
    def whole(self) -> JudgedVersion:
        """The version with all its topics."""
        return self if self.topics.whole is None else JudgedVersion(self.qrels, self.topics.whole)

    @property
    def is_none(self) -> bool:
        """Return whether this stands for no version: `no_version` made it."""
        return self.qrels.id == NO_ID

    @classmethod
    def of(cls, workspace: Workspace, tx: Transaction, version: Qrels) -> JudgedVersion:
        """Return the version with its topics and counts, which are kept in memory."""
        return cls(version, judged_topics(workspace, tx, version))


NO_ID: Final = 0
"""An id that no stored version has."""


def no_version(collection: Collection) -> JudgedVersion:
    """Return a version without judgments, for jobs about runs alone."""
    none = Qrels(
        id=NO_ID,
        collection_id=collection.id,
        judgments=OFFICIAL,
        version=0,
        sha256="",
        columns="",
        topics=0,
        judged=0,
        relevant=0,
        per_level={},
        warnings=[],
        created_at=collection.created_at,
        published_at=None,
        **collection.order._asdict(),
    )
    counts = np.zeros((0, collection.highest_level + 1), np.int64)
    return JudgedVersion(none, JudgedTopics([], Judgments(counts, np.zeros(0, np.int64))))


@contextmanager
def open_for_reading(
    workspace: Workspace, sender: Sender, name: str, named: VersionName
) -> Iterator[tuple[Transaction, visibility.View, Qrels | None]]:
    """Open a reading transaction, and yield it with the sender's view of the collection and a qrels version.

    It may be None or a draft, so check it with `require`. One statement reads everything. Raises the same errors as
    `open_collection`, and NotFound for a judgment set that the sender may not see.
    """
    principal = Principal("anonymous")
    try:
        with workspace.database.reading() as tx:
            opened = snapshots.find(tx, name, sender.hash, named) if is_slug(name) else None
            # Without a collection, the statement finds no token. Whether it is valid decides between 401 and 404.
            if opened is None and sender.hash is not None:
                token = tokens.find(tx, sender.hash)
            else:
                token = opened.token if opened else None
            principal = identify(workspace, sender, token)
            view = visibility.view_of(tx, principal, opened.collection if opened else None, name)
            require_set(tx, view, named.judgments)
            yield tx, view, opened.qrels if opened else None
    finally:
        # After the transaction, and for refused requests, too: the token was used.
        note_use(workspace, principal)


def select(tx: Transaction, view: visibility.View, named: VersionName) -> Qrels:
    """Return the version that a request names. Raises as `require_set` and `require`."""
    require_set(tx, view, named.judgments)
    return require(view, qrels.find(tx, view.collection.id, named), named)


def sees_set(tx: Transaction, view: visibility.View, judgments: str) -> bool:
    """Return whether a judgment set exists for the principal.

    The official set always does. Another one exists for organisers, and for whoever sees the judgments of the
    collection once the set itself is released.
    """
    if judgments == OFFICIAL:
        return True
    if not (view.organises or view.sees_judgments):
        # Without a look at the table, so that not even the time tells whether the set is there.
        return False
    stored = qrels.find_set(tx, view.collection.id, judgments) if is_slug(judgments) else None
    return stored is not None and (view.organises or stored.released_at is not None)


def require_set(tx: Transaction, view: visibility.View, judgments: str) -> None:
    """Raise NotFound if a judgment set does not exist for the principal: the same error whether or not it is there."""
    if not sees_set(tx, view, judgments):
        raise NotFound(
            f"There are no judgments {judgments!r} in {view.collection.name!r}, or this token may not see them."
        )


def require(view: visibility.View, version: Qrels | None, named: VersionName) -> Qrels:
    """Return the version that was found for this name.

    Raises NotFound if there is no version with the number, and NoQrels if there is no published version. A draft exists
    only for organisers, who must give its number.
    """
    name = view.collection.name
    if version is not None and version.published_at is None and not view.organises:
        version = None
    if version is None and named.version is not None:
        raise NotFound(f"{name!r} has no qrels {named}, or this token may not see it.")
    if version is None:
        of_set = "" if named.judgments == OFFICIAL else f" {named.judgments!r}"
        raise NoQrels(f"{name!r} has no published qrels{of_set} yet, so its runs cannot be scored.")
    return version


def require_newest(tx: Transaction, view: visibility.View, version: Qrels | None) -> None:
    """Raise JudgmentsHidden unless the version that was found is the newest published one, or scores are open.

    Each version shows something else about the hidden judgments. It does not matter whether another version exists.
    """
    if view.sees_free_scores:
        return
    newest = qrels.find(tx, view.collection.id)
    if version is None or newest is None or version.id != newest.id:
        raise JudgmentsHidden(
            "While the judgments are hidden, scores come from the newest qrels version. Leave out `qrels`."
        )


def published_versions(
    workspace: Workspace, tx: Transaction, view: visibility.View, named: Mapping[str, VersionName]
) -> dict[VersionName, JudgedVersion]:
    """Return the other versions that a job's parameters name. `named` maps each parameter to a name.

    Drafts are not allowed, because everyone who sees the judgments sees the job. Raises NotFound, with the parameter,
    if a version does not exist for the principal or is a draft.
    """
    versions: dict[VersionName, JudgedVersion] = {}
    for parameter, name in named.items():
        is_seen = sees_set(tx, view, name.judgments)
        version = qrels.find(tx, view.collection.id, name) if is_seen else None
        if version is None or version.published_at is None:
            message = f"{view.collection.name!r} has no published qrels {name}."
            if name.version is None:
                message = f"{view.collection.name!r} has no published judgments {name.judgments!r}."
            fault = {"location": f"body.params.{parameter}", "code": NotFound.slug, "message": message}
            raise NotFound(message, errors=[fault])
        versions[name] = JudgedVersion.of(workspace, tx, version)
    return versions


def stored_versions(
    workspace: Workspace, tx: Transaction, collection: Collection, named: Iterable[VersionName]
) -> dict[VersionName, JudgedVersion]:
    """Return the versions that the parameters of a stored job name, by set and number."""
    versions = {}
    for name in named:
        version = qrels.find(tx, collection.id, name)
        if version is None:
            raise Conflict(f"{collection.name!r} no longer has qrels {name}, so the job cannot go on.")
        versions[name] = JudgedVersion.of(workspace, tx, version)
    return versions


def judged_topics(workspace: Workspace, tx: Transaction, version: Qrels) -> JudgedTopics:
    """Return the topics and counts of a version. They are kept in memory. Raise RowDamaged if its row is damaged."""
    if version.damage:
        what = ", ".join(map(str, version.damage))
        raise RowDamaged(
            f"The qrels {version.named} cannot be read: {what}. Send the judgments again as a new version."
        )
    return JUDGED_TOPICS.of(workspace).get(version.id, lambda: JudgedTopics.unpacked(qrels.counts(tx, version.id)))


def known_topics(workspace: Workspace, tx: Transaction, collection: Collection) -> frozenset[str] | None:
    """Return the topics that uploaded files may have: the declared and the judged ones; None for any."""
    newest = qrels.find(tx, collection.id) if not collection.has_scores_alone else None
    judged = judged_topics(workspace, tx, newest).topics if newest else ()
    return frozenset((*(collection.topics or ()), *judged)) or None


def index_of(workspace: Workspace, collection: Collection, version: Qrels) -> QrelsIndex:
    """Return a version in the form for the join. It is kept in memory. Raise ScoresAlone if there is none."""
    visibility.require_judged(collection)

    def read_index() -> QrelsIndex:
        content = blobs.get(workspace.database, version.sha256)
        # Without limits, because the file met those of the time when it came.
        file = read_judgments(content, collection.levels, collection.intents, version.columns, NO_LIMITS)
        with workspace.database.reading() as tx:
            return QrelsIndex(file.judgments, judged_topics(workspace, tx, version), file.annotated)

    return INDEXES.of(workspace).get(version.id, read_index)


MOST_VERSIONS = 10_000
MOST_UPLOADED_OFFERED = 500


@dataclass(frozen=True, slots=True)
class SeenSet:
    """A judgment set as one principal sees it, with its versions by number and the one in use.

    The times are None for the official set, which is created and released with its collection.
    """

    name: str
    is_released: bool
    created_at: datetime | None
    released_at: datetime | None
    versions: Sequence[Qrels]
    in_use: Qrels | None


def list_sets(workspace: Workspace, principal: Principal, name: str) -> list[SeenSet]:
    """List the judgment sets that this principal sees, by name, for principals who may see the judgments."""
    with visibility.reading_judgments(workspace, principal, name) as (tx, view):
        view.require_judged("it has no judgment sets")
        sets = qrels.page_sets(tx, view.collection.id, hidden=view.organises)
        names = sorted([OFFICIAL, *(judgments.name for judgments in sets)], key=str.encode)
        return [_describe_set(tx, view, judgments) for judgments in names]


def _describe_set(tx: Transaction, view: visibility.View, name: str) -> SeenSet:
    here = view.collection
    versions = qrels.page(tx, here.id, name, drafts=view.organises, after=None, limit=MOST_VERSIONS)
    in_use = qrels.find(tx, here.id, VersionName(name))
    stored = qrels.find_set(tx, here.id, name)
    if stored is None:
        return SeenSet(name, here.is_released(machine_of(tx).now()), None, None, versions, in_use)
    return SeenSet(name, stored.released_at is not None, stored.created_at, stored.released_at, versions, in_use)


@dataclass(frozen=True)
class Choices:
    """The names among which a question may choose, as far as its principal may know of them.

    They are topic groups, judgment sets with a published version, and the expressions of uploaded metrics.
    """

    topic_groups: Sequence[str] = ()
    judgment_sets: Sequence[str] = ()
    uploaded_metrics: Sequence[str] = ()


def list_choices(workspace: Workspace, view: visibility.View) -> Choices:
    """Return the names that a form about scores offers, in byte order."""
    # Whoever sees rationed scores has nothing to choose: there are presets alone, on all topics.
    if not view.sees_free_scores:
        return Choices()
    here = view.collection.id
    with workspace.database.reading() as tx:
        groups = collections.list_group_names(tx, here)
        if not view.sees_judgments:
            return Choices(groups)
        uploaded = score_matrices.list_names(tx, here, MOST_UPLOADED_OFFERED)
        sets = qrels.list_sets_in_use(tx, here, hidden=view.organises)
    return Choices(groups, sets, [metric_of_matrix(name) for name in uploaded])


def release(workspace: Workspace, principal: Principal, name: str, judgments: str, *, is_released: bool) -> SeenSet:
    """Release a set, or hide it again (organisers). It is shown as soon as the collection is released as well.

    Raise NotFound if there is no such set, and Conflict for the official one.
    """
    with workspace.database.writing() as tx:
        view = _open_set(tx, principal, name, judgments)
        before = _describe_set(tx, view, judgments)
        if before.is_released != is_released:
            # Only hiding takes something away that a release holds.
            held = {} if is_released else held_set(tx, principal, view.collection, judgments)
            qrels.release_set(tx, view.collection.id, judgments, workspace.now() if is_released else None)
            collections.touch(tx, view.collection.id)
            action: Action = "judgments-released" if is_released else "judgments-hidden"
            audit.record(tx, principal, action, judgments, view.collection, **held)
        return _describe_set(tx, view, judgments)


def delete(workspace: Workspace, principal: Principal, name: str, judgments: str) -> None:
    """Delete a set with all its versions, and cancel the jobs about them (organisers).

    A new set of this name has higher version numbers. Raise NotFound if there is no such set, and Conflict for the
    official one.
    """
    with workspace.database.writing() as tx:
        view = _open_set(tx, principal, name, judgments)
        held, now = held_set(tx, principal, view.collection, judgments), workspace.now()
        versions = qrels.page(tx, view.collection.id, judgments, drafts=True, after=None, limit=MOST_VERSIONS)
        for version in versions:
            jobs.cancel_all(tx, view.collection.id, now, qrels_id=version.id)
            qrels.discard(tx, version.id, now)
        qrels.remove_set(tx, view.collection.id, judgments)
        collections.touch(tx, view.collection.id)
        audit.record(tx, principal, "judgments-deleted", judgments, view.collection, versions=len(versions), **held)


def _open_set(tx: Transaction, principal: Principal, name: str, judgments: str) -> visibility.View:
    view = visibility.open_locked(tx, principal, name)
    view.require_organiser()
    view.require_judged("it has no judgment sets")
    require_set(tx, view, judgments)
    if judgments == OFFICIAL:
        raise Conflict(
            f"The official judgments belong to {name!r} itself. Change the phase of the collection to release or hide "
            "them; delete a draft by its number, or the collection."
        )
    return view
