"""Qrels versions in use: chosen, and kept ready for scoring and for the join."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from gainboard.errors import NoQrels, NotFound
from gainboard.evaluation.judging import JudgedTopics, QrelsIndex
from gainboard.evaluation.names import is_slug
from gainboard.evaluation.principals import Principal, Sender, behind, note_use
from gainboard.evaluation.reading import NO_LIMITS
from gainboard.evaluation.visibility import View, view_of
from gainboard.evaluation.workspace import Cache, Workspace
from gainboard.store import blobs, qrels, standing, tokens
from gainboard.store.database import Transaction
from gainboard.store.records import Collection, Qrels
from gainboard.trec import read_qrels

JUDGED_TOPICS: Cache[int, JudgedTopics] = Cache(64)
"""By the id of the version."""
INDEXES: Cache[int, QrelsIndex] = Cache(1_000_000, lambda index: index.judged)
"""By the id of the version, a million judgments in all: of 25 bytes each, of 130 once runs were joined plainly."""


@dataclass(frozen=True)
class JudgedVersion:
    """A version with its topics, and how many documents are judged of each."""

    qrels: Qrels
    topics: JudgedTopics

    @classmethod
    def of(cls, workspace: Workspace, tx: Transaction, found: Qrels) -> JudgedVersion:
        """The version, its counts from memory where they were used lately."""
        return cls(found, judged_topics(workspace, tx, found))


@contextmanager
def opened(
    workspace: Workspace, sender: Sender, name: str, number: int | None
) -> Iterator[tuple[Transaction, View, Qrels | None]]:
    """A reading transaction, and what one statement tells in it: the sender's view of the collection of this name, and
    the version of this number or the newest, for `require`. Raises as `open_collection`.
    """
    principal = Principal("anonymous")
    try:
        with workspace.database.reading() as tx:
            found = standing.find(tx, name, sender.token, number) if is_slug(name) else None
            if found is None and sender.token is not None:
                token = tokens.find(tx, sender.token)
            else:
                token = found.token if found else None
            principal = behind(sender, token, workspace.now())
            view = view_of(principal, found.collection if found else None, name)
            yield tx, view, found.qrels if found else None
    finally:
        note_use(workspace, principal)


def select(tx: Transaction, view: View, number: int | None) -> Qrels:
    """The version asked for, or the one published last; raises as `require`."""
    return require(view, qrels.find(tx, view.collection.id, number), number)


def require(view: View, found: Qrels | None, number: int | None) -> Qrels:
    """The version that was found under this number, or as the newest; raises NotFound or NoQrels.

    A draft is there for organisers who name it; to everybody else it is absent.
    """
    name = view.collection.name
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
