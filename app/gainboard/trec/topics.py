"""The lines of a run by topic: one topic at a time if topics do not interleave, else all at the end of the file."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

from gainboard.trec.findings import Limits, shortened


class TopicsInterleaved(Exception):  # not a fault of the file: the caller reads it again with `gather`
    """A topic continues after another topic has begun, so its ranking was not complete when it was yielded."""


class LineColumns(NamedTuple):
    """Lines of a run, column by column, with their line numbers. The second column is ignored."""

    numbers: Sequence[int]
    topics: list[bytes]
    documents: list[bytes]
    ranks: list[bytes]
    scores: list[bytes]
    tags: list[bytes]


@dataclass(slots=True)
class TopicLines:
    """The lines of one topic in file order, column by column. `numbers` are the line numbers."""

    topic: bytes
    numbers: list[Sequence[int]] = field(default_factory=list)
    documents: list[bytes] = field(default_factory=list)
    ranks: list[bytes] = field(default_factory=list)
    scores: list[bytes] = field(default_factory=list)

    def line_numbers(self) -> Iterator[int]:
        """Yield the number of each line. The numbers are chained only when a fault needs them."""
        return chain.from_iterable(self.numbers)

    def extend(self, columns: LineColumns, stretch: slice) -> None:
        """Add lines of the same topic: the part `stretch` of `columns`."""
        self.numbers.append(columns.numbers[stretch])
        self.documents += columns.documents[stretch]
        self.ranks += columns.ranks[stretch]
        self.scores += columns.scores[stretch]


@dataclass(slots=True)
class _Packed:
    """The contents of TopicLines as plain text. They are as large as the file; lists of tokens take six times that."""

    numbers: array[int] = field(default_factory=lambda: array("Q"))
    documents: bytearray = field(default_factory=bytearray)
    ranks: bytearray = field(default_factory=bytearray)
    scores: bytearray = field(default_factory=bytearray)

    def extend(self, columns: LineColumns, stretch: slice) -> None:
        self.numbers.extend(columns.numbers[stretch])
        self.documents += b" ".join(columns.documents[stretch]) + b" "
        self.ranks += b" ".join(columns.ranks[stretch]) + b" "
        self.scores += b" ".join(columns.scores[stretch]) + b" "

    def unpacked(self, topic: bytes) -> TopicLines:
        documents, ranks, scores = (bytes(text).split() for text in (self.documents, self.ranks, self.scores))
        return TopicLines(topic, [self.numbers], documents, ranks, scores)


def split_topics(parts: Iterable[LineColumns], limits: Limits) -> Iterator[TopicLines]:
    """Yield each topic as soon as the next topic begins.

    Raises TopicsInterleaved if an earlier topic continues, and TooLarge as soon as a topic has too many lines.
    """
    current: TopicLines | None = None
    seen: set[bytes] = set()
    for topic, columns, stretch in _stretches(parts):
        if current is None or current.topic != topic:
            if topic in seen:
                number = columns.numbers[stretch.start]
                raise TopicsInterleaved(f"topic {shortened(topic)} goes on at line {number}")
            if current is not None:
                yield current
            seen.add(topic)
            current = TopicLines(topic)
        current.extend(columns, stretch)
        _check_size(len(current.documents), limits)
    if current is not None:
        yield current


def gather_topics(parts: Iterable[LineColumns], limits: Limits) -> Iterator[TopicLines]:
    """Yield all topics at the end of the file, in the order of their first lines.

    Raises TooLarge as soon as a topic has too many lines.
    """
    held: dict[bytes, _Packed] = {}
    for topic, columns, stretch in _stretches(parts):
        if topic not in held:
            held[topic] = _Packed()
        held[topic].extend(columns, stretch)
        _check_size(len(held[topic].numbers), limits)
    for topic in list(held):
        yield held.pop(topic).unpacked(topic)


def _check_size(lines: int, limits: Limits) -> None:
    if lines > limits.topic_lines:
        raise limits.exceeded("topic_lines", "A topic of the run has more lines than")


def _stretches(parts: Iterable[LineColumns]) -> Iterator[tuple[bytes, LineColumns, slice]]:
    """Yield each group of successive lines of one topic within a part."""
    for columns in parts:
        start = 0
        for topic, length in topic_lengths(columns.topics):
            yield topic, columns, slice(start, start + length)
            start += length


def topic_lengths(topics: list[bytes]) -> list[tuple[bytes, int]]:
    """Return each group of successive equal topics and its length. `topics` must not be empty."""
    first, last = topics[0], topics[-1]
    # Almost always there are one or two topics. Counting them takes a quarter of the time of `groupby`.
    leading = topics.count(first)
    if leading == len(topics):
        return [(first, leading)]
    if leading + topics.count(last) == len(topics) and topics[:leading] == [first] * leading:
        return [(first, leading), (last, len(topics) - leading)]
    return [(topic, len(list(lines))) for topic, lines in groupby(topics)]
