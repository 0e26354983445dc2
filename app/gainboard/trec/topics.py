"""The lines of a run by topic: one topic at a time if topics do not interleave, else all at the end of the file."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby
from typing import NamedTuple

from gainboard.errors import TooLarge
from gainboard.trec.findings import FileLimits, shortened


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


def split_topics(parts: Iterable[LineColumns], limits: FileLimits) -> Iterator[TopicLines]:
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
            _check_topics(len(seen), limits)
            current = TopicLines(topic)
        current.extend(columns, stretch)
        _check_size(len(current.documents), limits)
    if current is not None:
        yield current


def gather_topics(parts: Iterable[LineColumns], limits: FileLimits) -> Iterator[TopicLines]:
    """Yield all topics at the end of the file, in the order of their first lines.

    Raises TooLarge as soon as there are too many topics, or lines of one.
    """
    # Held as plain text, which is as large as the file: tokens are six times that.
    held: defaultdict[bytes, bytearray] = defaultdict(bytearray)
    lines: Counter[bytes] = Counter()
    for topics, columns in ((part.topics, (part.numbers, part.documents, part.ranks, part.scores)) for part in parts):
        for topic, line in zip(topics, map(b"%d %b %b %b ".__mod__, zip(*columns, strict=True)), strict=True):
            held[topic] += line
        lines.update(topics)
        _check_topics(len(held), limits)
        _check_size(max(lines[topic] for topic in set(topics)), limits)
    for topic in list(held):
        # Each text is released before its tokens are used: texts and tokens are not held together.
        tokens = bytes(held.pop(topic)).split()
        numbers, documents, ranks, scores = (tokens[column::4] for column in range(4))
        yield TopicLines(topic, [list(map(int, numbers))], documents, ranks, scores)


def _check_topics(topics: int, limits: FileLimits) -> None:
    if topics > limits.topics:
        raise TooLarge(
            f"The run has more than {limits.topics:,} topics. The most is 20 for each topic that the collection "
            "declares, or 10,000 if that is more, and never more than the limit GAINBOARD_MAX_TOPICS",
            limit=limits.topics,
            setting="GAINBOARD_MAX_TOPICS",
        )


def _check_size(lines: int, limits: FileLimits) -> None:
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
