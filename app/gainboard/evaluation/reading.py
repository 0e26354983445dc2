"""A run file read and joined with judgments, in one compiled pass where that can be done; and its topics checked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import TypeVar

from gainboard.errors import Fault, FaultyFile
from gainboard.evaluation.judging import JudgedFile, QrelsIndex, assembled, judge
from gainboard.trec import (
    FileWarning,
    Limits,
    OrderBy,
    Ranking,
    RunReader,
    TopicsInterleaved,
    judged_documents,
    read_joined,
)

NO_LIMITS = Limits(**{limit.name: sys.maxsize for limit in fields(Limits)})
"""For files read again from the store, which were within the limits of their day, and for those of no service."""

Chunks = Callable[[], Iterable[bytes]]
"""The content of a file from its start, each time that it is called."""

T = TypeVar("T")


@dataclass(frozen=True)
class RunFile:
    """What a run file says: `retrieved` documents after truncation, and the join, if there was one to make."""

    tag: str
    warnings: list[FileWarning]
    topics: list[str]
    retrieved: int
    joined: JudgedFile | None


def read_run_file(chunks: Chunks, order_by: OrderBy, depth: int, limits: Limits, index: QrelsIndex | None) -> RunFile:
    """The file joined with a qrels version, if there is one. Raises FaultyFile or TooLarge."""
    compiled = _compiled(chunks, order_by, depth, limits, index)
    return compiled or _plain(chunks, order_by, depth, limits, index)


def read_run(
    chunks: Chunks,
    order_by: OrderBy,
    depth: int,
    limits: Limits,
    consume: Callable[[Iterable[Ranking]], T],
) -> tuple[RunReader, T]:
    """Reads a run topic by topic into `consume`, and again holding all of it where its topics are not in blocks.

    Almost every run has its topics in blocks, and then memory never holds more than one topic.
    """
    reader = RunReader(chunks(), order_by=order_by, depth=depth, limits=limits)
    try:
        return reader, consume(reader)
    except TopicsInterleaved:
        reader = RunReader(chunks(), order_by=order_by, depth=depth, limits=limits, gather=True)
        return reader, consume(reader)


def _compiled(
    chunks: Chunks, order_by: OrderBy, depth: int, limits: Limits, index: QrelsIndex | None
) -> RunFile | None:
    documents = index.documents if index else judged_documents([])
    if documents is None:
        return None
    rows = index.rows if index else {}
    found = read_joined(chunks(), documents, rows, order_by=order_by, depth=depth, limits=limits)
    if found is None:
        return None
    joined = assembled(found, len(rows)) if index else None
    return RunFile(found.tag, found.warnings, found.topics, int(found.retrieved.sum()), joined)


def _plain(chunks: Chunks, order_by: OrderBy, depth: int, limits: Limits, index: QrelsIndex | None) -> RunFile:
    survey = _Survey()

    def consume(rankings: Iterable[Ranking]) -> JudgedFile | None:
        survey.begin()
        counted = survey.of(rankings)
        if index is not None:
            return judge(counted, index)
        for _ in counted:  # read to the end, for its faults
            pass
        return None

    reader, joined = read_run(chunks, order_by, depth, limits, consume)
    return RunFile(reader.tag, reader.warnings, survey.topics, survey.retrieved, joined)


@dataclass
class _Survey:
    """What a run says without any judgments; filled while its rankings pass through `of`."""

    topics: list[str] = field(default_factory=list)
    retrieved: int = 0

    def begin(self) -> None:
        """Forgets what was counted; the file is read from its start."""
        self.topics, self.retrieved = [], 0

    def of(self, rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        """The same rankings, counted."""
        for ranking in rankings:
            self.topics.append(ranking.topic)
            self.retrieved += len(ranking.documents)
            yield ranking


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
