"""Qrels versions in use: chosen, and kept ready for scoring and for the join."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gainboard.errors import NoQrels, NotFound
from gainboard.evaluation.judging import JudgedTopics, QrelsIndex
from gainboard.evaluation.reading import NO_LIMITS
from gainboard.evaluation.visibility import View
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.store import blobs, qrels
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels
from gainboard.trec import read_qrels

JUDGED_TOPICS: Cache[int, JudgedTopics] = Cache(64)
"""By the id of the version."""
INDEXES: Cache[int, QrelsIndex] = Cache(1_000_000, lambda index: index.judged)
"""Ready for the join of uploads, by the id of the version: a million judgments, of about half a kilobyte each."""


@dataclass(frozen=True)
class JudgedVersion:
    """A version with its topics, and how many documents are judged of each."""

    qrels: Qrels
    topics: JudgedTopics

    @classmethod
    def of(cls, workspace: Workspace, tx: Transaction, found: Qrels) -> JudgedVersion:
        """The version, its counts from memory where they were used lately."""
        return cls(found, judged_topics(workspace, tx, found))


def select(tx: Transaction, view: View, number: int | None) -> Qrels:
    """The version asked for, or the one published last; raises NotFound or NoQrels.

    A draft is there for organisers who name it; to everybody else it is absent.
    """
    name = view.collection.name
    found = qrels.find(tx, view.collection.id, number)
    if found is not None and found.published_at is None and not view.organises:
        found = None
    if found is None and number is not None:
        raise NotFound(f"{name!r} has no qrels version {number}.")
    if found is None:
        raise NoQrels(f"{name!r} has no qrels yet, so its runs cannot be scored.")
    return found


def published_versions(
    workspace: Workspace, tx: Transaction, collection: Collection, named: Mapping[str, int]
) -> dict[int, JudgedVersion]:
    """By number: the versions that a job's parameters name beside its own, each at a place in them.

    No drafts, for the job is shown to all who see the judgments. Raises NotFound with the place of one that is absent.
    """
    found: dict[int, JudgedVersion] = {}
    for place, number in named.items():
        version = qrels.find(tx, collection.id, number)
        if version is None or version.published_at is None:
            message = f"{collection.name!r} has no published qrels version {number}."
            fault = {"location": f"body.params.{place}", "code": NotFound.slug, "message": message}
            raise NotFound(message, errors=[fault])
        found[number] = JudgedVersion.of(workspace, tx, version)
    return found


def judged_topics(workspace: Workspace, tx: Transaction, found: Qrels) -> JudgedTopics:
    """The topics and counts of a version, from memory where they were used lately."""
    return JUDGED_TOPICS.of(workspace).get(found.id, lambda: JudgedTopics.unpacked(qrels.counts(tx, found.id)))


def index_of(workspace: Workspace, collection: Collection, found: Qrels) -> QrelsIndex:
    """A version ready for the join, from memory where it was used lately."""
    return INDEXES.of(workspace).get(found.id, lambda: _read_index(workspace, collection, found))


def _read_index(workspace: Workspace, collection: Collection, found: Qrels) -> QrelsIndex:
    content = blobs.get(workspace.database, found.sha256)
    file = read_qrels(content, levels=collection.levels, columns=found.columns, limits=NO_LIMITS)
    with workspace.database.reading() as tx:
        return QrelsIndex(file.judgments, judged_topics(workspace, tx, found))
