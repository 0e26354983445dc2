"""The differences between two qrels versions, judgment by judgment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

Levels = Mapping[str, Mapping[bytes, int]]
"""Maps topic and document id to the level."""

CHANGES_SHOWN = 100


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A document whose judgment differs. A level is None if the document is not judged."""

    topic: str
    document: bytes
    old: int | None
    new: int | None


@dataclass(frozen=True)
class Corrections:
    """All differences, counted, and the first `CHANGES_SHOWN` by name, by topic and document in byte order."""

    documents: Mapping[tuple[int | None, int | None], int]
    """The number of documents for each pair of an old and a new level; None means not judged."""
    changes: Sequence[LevelChange]
    topics_added: Sequence[str]
    topics_removed: Sequence[str]
    topics_changed: Sequence[str]

    @property
    def added(self) -> int:
        """The number of documents that are judged only in the new version."""
        return sum(count for (old, _), count in self.documents.items() if old is None)

    @property
    def removed(self) -> int:
        """The number of documents that are judged only in the old version."""
        return sum(count for (_, new), count in self.documents.items() if new is None)

    @property
    def unchanged(self) -> int:
        """The number of documents with the same level in both versions."""
        return sum(count for (old, new), count in self.documents.items() if old == new)

    @property
    def changed(self) -> int:
        """The number of documents with another level in the new version."""
        return sum(self.documents.values()) - self.added - self.removed - self.unchanged

    @property
    def levels(self) -> list[int | None]:
        """The levels that occur, lowest first, after None for unjudged."""
        return [None, *sorted({level for pair in self.documents for level in pair if level is not None})]

    def table(self) -> list[list[int]]:
        """Return numbers of documents: a row for each old level in `levels`, a column for each new level."""
        return [[self.documents.get((old, new), 0) for new in self.levels] for old in self.levels]


def compare_levels(old: Levels, new: Levels) -> Corrections:
    """Return the differences between `old` and `new`."""
    documents: Counter[tuple[int | None, int | None]] = Counter()
    for topic in old.keys() | new.keys():
        before, after = old.get(topic, {}), new.get(topic, {})
        # Without a loop over documents in Python: two versions may have millions of judgments.
        documents.update(zip(map(before.get, after), after.values(), strict=True))
        documents.update((before[document], None) for document in before.keys() - after.keys())
    common = old.keys() & new.keys()
    return Corrections(
        documents,
        list(islice(_changes(old, new), CHANGES_SHOWN)),
        _sort_topics(new.keys() - common),
        _sort_topics(old.keys() - common),
        _sort_topics({topic for topic in common if old[topic] != new[topic]}),
    )


def _changes(old: Levels, new: Levels) -> Iterator[LevelChange]:
    for topic in _sort_topics(old.keys() | new.keys()):
        before, after = old.get(topic, {}), new.get(topic, {})
        for document in sorted({document for document, _ in before.items() ^ after.items()}):
            yield LevelChange(topic, document, before.get(document), after.get(document))


def _sort_topics(topics: set[str]) -> list[str]:
    return sorted(topics, key=str.encode)
