"""The reading of run files: joined with judgments in one compiled pass if possible, with their topics checked."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from gainboard.errors import Fault, FaultyFile
from gainboard.evaluation.runs.join import JudgedFile, QrelsIndex, assemble_joined, judge
from gainboard.notation.texts import order_topics
from gainboard.trec import (
    FileLimits,
    FileWarning,
    Joined,
    QrelsFile,
    Ranking,
    RunReader,
    TopicsInterleaved,
    judged_documents,
    read_intent_qrels,
    read_joined,
    read_qrels,
)
from gainboard.vocabulary import RunOrder

if TYPE_CHECKING:
    from gainboard.evaluation.collection_settings import Policy
    from gainboard.trec.run_metadata import RunMetadata

MOST_NAMED = 20
"""The most missing topics that a warning names."""
HEAD_BYTES = 65_536
"""The bytes of a file in which its header of ir_metadata is."""
NO_LIMITS = FileLimits(**{limit.name: sys.maxsize for limit in fields(FileLimits)})
"""The limits for stored files, which met the limits of their time, and for commands without a service."""

Chunks = Callable[[], Iterable[bytes]]
"""A function that returns the content of a file from its start, each time that it is called."""

T = TypeVar("T")


class RunFile(NamedTuple):
    """The content of a run file: `retrieved` documents after truncation, and the join, if there are judgments."""

    tag: str
    warnings: list[FileWarning]
    topics: list[str]
    retrieved: int
    joined: JudgedFile | None
    example: str = ""
    """The document id of the first line."""


def read_judgments(
    chunks: Iterable[bytes], levels: Sequence[str] | int, intents: bool, columns: str | None, limits: FileLimits
) -> QrelsFile:
    """Return the judgments of a qrels file, by intent if there are `intents`.

    Raise FaultyFile, TooLarge, or InvalidRequest for `columns` that the file cannot have.
    """
    read = read_intent_qrels if intents else read_qrels
    file = read(chunks, levels=levels, columns=columns, limits=limits)
    if max(file.judgments.count_levels(), default=0) <= 0:
        message = "No document is relevant, so no topic has a score. Is the level in the column that was read as such?"
        file.warnings.append(FileWarning("no-relevant-documents", message))
    return file


def read_run_file(chunks: Chunks, order: RunOrder, depth: int, limits: FileLimits, index: QrelsIndex | None) -> RunFile:
    """Return the file joined with a qrels version, if there is one. Raise FaultyFile or TooLarge.

    Its warnings include those about a header of ir_metadata.
    """
    head = bytearray()

    def watched() -> Iterator[bytes]:
        # A second reading begins at the start of the file.
        head.clear()
        for chunk in chunks():
            if len(head) < HEAD_BYTES:
                head.extend(chunk[: HEAD_BYTES - len(head)])
            yield chunk

    if (joined := _read_joined(watched, order, depth, limits, index)) is not None:
        judged = assemble_joined(joined, len(index.rows)) if index else None
        retrieved = int(joined.retrieved.sum())
        read = RunFile(joined.tag, joined.warnings, joined.topics, retrieved, judged, joined.example)
    else:
        read = _read_plainly(watched, order, depth, limits, index)
    metadata = metadata_of(bytes(head), read.tag)
    return read._replace(warnings=[*read.warnings, *metadata.warnings()]) if metadata else read


def metadata_of(head: bytes, tag: str) -> RunMetadata | None:
    """Return the header of ir_metadata at the beginning of a run's file; None without one."""
    if not head.lstrip().startswith(b"#"):
        return None
    from gainboard.trec.run_metadata import read_metadata  # noqa: PLC0415 (YAML, which few runs need)

    return read_metadata(head, tag)


def read_run(
    chunks: Chunks, order: RunOrder, depth: int, limits: FileLimits, consume: Callable[[Iterable[Ranking]], T]
) -> tuple[RunReader, T]:
    """Read a run topic by topic into `consume`; if its topics are not in blocks, read it again into memory.

    Almost every run has its topics in blocks. Then memory never holds more than one topic.
    """
    reader = RunReader(chunks(), **order._asdict(), depth=depth, limits=limits)
    try:
        return reader, consume(reader)
    except TopicsInterleaved:
        reader = RunReader(chunks(), **order._asdict(), depth=depth, limits=limits, gather=True)
        return reader, consume(reader)


class TopDocuments(NamedTuple):
    """The first documents of a run, best first, topic after topic: `counts` of each of the `topics`, and their ids."""

    topics: list[str]
    counts: list[int]
    documents: list[bytes]


def read_top_documents(chunks: Chunks, order: RunOrder, depth: int, limits: FileLimits) -> TopDocuments:
    """Return the first `depth` documents of each topic of a run, which is read whole. Raise FaultyFile or TooLarge."""
    if (joined := _read_joined(chunks, order, depth, limits, None, with_documents=True)) is not None:
        return TopDocuments(joined.topics, joined.retrieved.tolist(), joined.documents)

    def consume(rankings: Iterable[Ranking]) -> TopDocuments:
        top = TopDocuments([], [], [])
        for ranking in rankings:
            top.topics.append(ranking.topic)
            top.counts.append(len(ranking.documents))
            top.documents.extend(ranking.documents)
        return top

    return read_run(chunks, order, depth, limits, consume)[1]


def _read_joined(
    chunks: Chunks,
    order: RunOrder,
    depth: int,
    limits: FileLimits,
    index: QrelsIndex | None,
    *,
    with_documents: bool = False,
) -> Joined | None:
    # Without judgments, the pass reads the file just as fast, against empty tables.
    documents = index.documents if index else judged_documents([])
    if documents is None:
        return None
    rows = index.rows if index else {}
    form: dict[str, Any] = {**order._asdict(), "depth": depth, "limits": limits, "with_documents": with_documents}
    try:
        return read_joined(chunks(), documents, rows, **form)
    except TopicsInterleaved:
        return read_joined(chunks(), documents, rows, **form, gather=True)


def _read_plainly(chunks: Chunks, order: RunOrder, depth: int, limits: FileLimits, index: QrelsIndex | None) -> RunFile:
    sizes: dict[str, int] = {}

    def counted(rankings: Iterable[Ranking]) -> Iterator[Ranking]:
        # A file whose topics are not in blocks is read a second time.
        sizes.clear()
        for ranking in rankings:
            sizes[ranking.topic] = len(ranking.documents)
            yield ranking

    def consume(rankings: Iterable[Ranking]) -> JudgedFile | None:
        if index is not None:
            return judge(counted(rankings), index)
        # The file is read to its end only to report its faults.
        deque(counted(rankings), maxlen=0)
        return None

    reader, joined = read_run(chunks, order, depth, limits, consume)
    return RunFile(reader.tag, reader.warnings, list(sizes), sum(sizes.values()), joined, reader.example)


def no_common_topics(kind: str, its_topic: str, collection: str, topics: Iterable[str]) -> FaultyFile:
    """Return the fault of a file that shares no topic with the collection."""
    example = min(topics)
    message = (
        f"No topic of the {kind} ({its_topic!r}, ...) is a topic of {collection!r} ({example!r}, ...), so nothing can "
        "be scored. Topic ids must be identical, with leading zeros and prefixes"
    )
    return FaultyFile([Fault("no-common-topics", message)], 1)


def no_declared_topics(its_topic: str, collection: str, declared: Iterable[str]) -> FaultyFile:
    """Return the fault of a run that has none of the topics that the collection declares."""
    message = (
        f"No topic of the run ({its_topic!r}, ...) is declared by {collection!r} ({min(declared)!r}, ...), so nothing "
        "can be scored. Topic ids must be identical, with leading zeros and prefixes"
    )
    return FaultyFile([Fault("no-declared-topics", message)], 1)


def list_missing(topics: Iterable[str], wanted: Sequence[str], declared: Sequence[str] | None = None) -> list[str]:
    """Return the wanted topics that are not among the topics of a run, in the order for people."""
    of_run = set(topics)
    missing = [topic for topic in wanted if topic not in of_run]
    return [missing[index] for index in order_topics(missing, declared)]


def topic_warnings(unknown: int, missing: int, of: str, named: Sequence[str] = ()) -> list[FileWarning]:
    """Return the warnings for a run with `unknown` topics, and without `missing` topics, which are `named` in order."""
    more = f" and {missing - MOST_NAMED:,} more" if missing > MOST_NAMED else ""
    names = f": {', '.join(named[:MOST_NAMED])}{more}" if named else ""
    warnings = (
        FileWarning("unknown-topics", f"The run has topics that are not in the {of}; these are ignored.", unknown),
        FileWarning("missing-topics", f"The run lacks topics of the {of}; these score 0{names}.", missing),
    )
    return [warning for warning in warnings if warning.count]


def coverage_needed(policy: Policy, is_released: bool) -> float:
    """Return the share of the declared topics that a team's run needs for a score; 0 if it needs none, or gets none."""
    is_scored = policy.scores != "none" and bool(policy.is_free or policy.presets)
    return policy.coverage if is_scored and not (is_released or policy.is_open) else 0.0


def why_too_few(covered: int, declared: int, coverage: float) -> str | None:
    """Return why a run that covers so many of the declared topics has no score; None if it has one."""
    if covered >= coverage * declared:
        return None
    return (
        f"It covers {covered} of {declared} declared topics; a score needs {100 * coverage:.12g}% of them. Submit a "
        "run with more topics."
    )


def declared_topic_warnings(topics: Sequence[str], declared: Sequence[str], coverage: float) -> list[FileWarning]:
    """Return the warnings for a run with these topics; none if no topics are declared.

    `coverage` is the share of the declared topics that it needs for a score (`coverage_needed`).
    """
    missing = list_missing(topics, declared, declared)
    unknown = len(set(topics).difference(declared)) if declared else 0
    warnings = topic_warnings(unknown, len(missing), "collection", missing)
    if why := why_too_few(len(declared) - len(missing), len(declared), coverage):
        warnings.append(FileWarning("too-few-topics", f"The run gets no score while the judgments are hidden. {why}"))
    return warnings


def judged_run_warnings(file: RunFile, index: QrelsIndex) -> list[FileWarning]:
    """Return the warnings about the topics and documents of a run that is joined with judgments."""
    assert file.joined is not None
    missing = int(np.count_nonzero(file.joined.run.retrieved == 0))
    warnings = topic_warnings(file.joined.topics_unknown, missing, "qrels", list_missing(file.topics, [*index.rows]))
    return warnings if len(file.joined.run.level) else [*warnings, no_common_documents(file.example, index)]


def no_common_documents(its_document: str, index: QrelsIndex) -> FileWarning:
    """Return the warning for a run that retrieves no judged document of its judged topics."""
    # The first topics of a sampled pool may have no judged document.
    judged = next((some.documents for some in index.judgments.packed.values() if some.documents), b"").split(b"\n")[0]
    return FileWarning(
        "no-common-documents",
        f"The run retrieves no judged document, so that it scores 0. It has documents such as {its_document!r}, and "
        f"the qrels such as {judged.decode()!r}. Document ids must be identical, with prefixes and suffixes",
    )
