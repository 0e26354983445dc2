"""The news of a collection: versions of its judgments, its release, and runs that came after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from gainboard.evaluation.access.principals import Principal
from gainboard.evaluation.access.visibility import open_collection
from gainboard.evaluation.workspace import Workspace
from gainboard.store import qrels, runs
from gainboard.store.records import Collection

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
    with workspace.database.reading() as tx:
        view = open_collection(tx, principal, name)
        view.require_judgments()
        collection = view.collection
        versions = qrels.page(tx, collection.id, drafts=False, after=None, limit=1_000_000)
        start = collection.late_from
        late = runs.newest(tx, collection.id, start, MOST_ENTRIES) if start else []
    entries = [
        FeedEntry(
            "qrels",
            str(each.version),
            each.published_at,
            f"Version {each.version} of the judgments is in use: {each.judged:,} judged, {each.relevant:,} relevant",
        )
        for each in versions
        if each.published_at is not None
    ]
    if (release := collection.release) is not None and release <= now:
        entries.append(FeedEntry("release", collection.name, release, "The judgments were released"))
    entries += [
        FeedEntry("late-run", run.name, run.created_at, f"The run {run.name} of {run.team} came after the release")
        for run in late
    ]
    return Feed(collection, sorted(entries, key=lambda entry: entry.at, reverse=True)[:MOST_ENTRIES])
