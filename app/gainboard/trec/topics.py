"""The lines of a run by topic: as they come where topics follow one another, else once the file has ended."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

from gainboard.trec.findings import Limits, shortened


class TopicsInterleaved(Exception):  # no fault of the file: the caller reads it again, gathering
    """A topic goes on after another one has begun, so its ranking could not be given out as a whole."""


class LineColumns(NamedTuple):
    """Some lines of a run, column by column, with their line numbers. The second column is ignored."""

    numbers: Sequence[int]
    topics: list[bytes]
    documents: list[bytes]
    ranks: list[bytes]
    scores: list[bytes]
    tags: list[bytes]


@dataclass(slots=True)
class TopicLines:
    """The lines of one topic as the file has them, column by column; `numbers` are its line numbers."""

    topic: bytes
    numbers: list[Sequence[int]] = field(default_factory=list)
    documents: list[bytes] = field(default_factory=list)
    ranks: list[bytes] = field(default_factory=list)
    scores: list[bytes] = field(default_factory=list)

    def line_numbers(self) -> Iterator[int]:
        """Yield the number of each line: put together only when a fault needs them."""
        return chain.from_iterable(self.numbers)

    def extend(self, columns: LineColumns, stretch: slice) -> None:
        """Add some lines of the same topic."""
        self.numbers.append(columns.numbers[stretch])
        self.documents += columns.documents[stretch]
        self.ranks += columns.ranks[stretch]
        self.scores += columns.scores[stretch]


@dataclass(slots=True)
class _Packed:
    """What TopicLines holds as plain text: as large as the file, where tokens are six times that."""

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
    """Yield each topic as soon as the next one begins. Raises TopicsInterleaved if one goes on, TooLarge at once."""
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
    """Yield each topic once the file has ended, in the order of their first lines. Raises TooLarge at once."""
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
    """Yield the lines of each topic that follow one another within the same part."""
    for columns in parts:
        start = 0
        for topic, length in topic_lengths(columns.topics):
            yield topic, columns, slice(start, start + length)
            start += length


def topic_lengths(topics: list[bytes]) -> list[tuple[bytes, int]]:
    """Return each topic in turn, and its number of lines; there is at least one line."""
    first, last = topics[0], topics[-1]
    # One topic or the end of one and the beginning of the next, as almost always: counted in a quarter of the time.
    leading = topics.count(first)
    if leading == len(topics):
        return [(first, leading)]
    if leading + topics.count(last) == len(topics) and topics[:leading] == [first] * leading:
        return [(first, leading), (last, len(topics) - leading)]
    return [(topic, len(list(lines))) for topic, lines in groupby(topics)]
