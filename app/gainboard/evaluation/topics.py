"""What is said of a file whose topics are not those of its collection."""

from __future__ import annotations

from collections.abc import Iterable

from gainboard.errors import Fault, FaultyFile
from gainboard.trec import FileWarning


def no_common_topics(kind: str, its_topic: str, collection: str, topics: Iterable[str]) -> FaultyFile:
    """The fault of a file none of whose topics is one of the collection's."""
    example = min(topics)
    message = (
        f"None of the topics of the {kind} ({its_topic!r}, ...) is one of those of {collection!r} ({example!r}, ...), "
        "so there would be nothing to score; ids must be the same to the letter"
    )
    return FaultyFile([Fault("no-common-topics", message)], 1)


def topic_warnings(unknown: int, missing: int, of: str) -> list[FileWarning]:
    """The warnings of a run that has `unknown` topics and lacks `missing` ones of the qrels or the collection."""
    found = (
        ("unknown-topics", unknown, f"Topics of the run that are not among those of the {of}; they are ignored."),
        ("missing-topics", missing, f"Topics of the {of} that are not in the run; they score 0, if anything does."),
    )
    return [FileWarning(code, message, count) for code, count, message in found if count]
