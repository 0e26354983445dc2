"""The lines of a run by topic: one topic at a time if topics do not interleave, else all at the end of the file.

The plain reader has columns of tokens. The compiled pass has text: of some lines with a fault among them, or of a whole
file whose topics interleave.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, groupby
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import GainboardError, TooLarge
from gainboard.trec.findings import FileLimits, shorten
from gainboard.trec.judgments import SEED


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
                raise TopicsInterleaved(f"topic {shorten(topic)} goes on at line {number}")
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


LARGEST = 16 << 20
"""Most bytes of a topic. The plain reader reads files with a longer topic."""
SEGMENT = 8 << 20
"""Bytes of a file that are grouped at a time. Each topic's lines in a segment cost a step in Python."""

Group = Callable[..., tuple[bool, int]]
"""The type of the kernel `group`."""


class Unusual(Exception):
    """The lines are not the common case. If they have no fault, the plain reader must read the file from its start."""


class BeyondLimit(Exception):
    """A limit is exceeded, so the plain reader must read the file from its start, and tells which limit."""


class GroupedLines(NamedTuple):
    """Lines by topic, in the order of the topics' first lines. The lines of a topic keep their order.

    `names` are the topics, `begins` the offsets of their first lines in the original data. `ends` are the ends of their
    lines in `text`. `topics` int32 has the index of each line's topic, in the original order.
    """

    text: bytes
    names: list[str]
    begins: list[int]
    ends: list[int]
    topics: NDArray[np.int32]

    @classmethod
    def of(cls, data: bytes, group: Group) -> GroupedLines:
        """Group lines that end in a line feed. Raises Unusual if the topic of a line is not certain."""
        text = np.frombuffer(data, np.uint8)
        lines = int(np.count_nonzero(text == ord("\n")))
        names, ends = np.empty((lines, 2), np.int32), np.zeros(lines, np.int64)
        # At least twice as many slots as lines, so that searches stay short.
        slots, topics = np.full(1 << (2 * lines).bit_length(), -1, np.int32), np.empty(lines, np.int32)
        out = np.empty_like(text)
        is_usual, topic_count = group(text, SEED, slots, names, ends, topics, out)
        if not is_usual:
            raise Unusual
        spans = names[:topic_count].tolist()
        ids = [data[begin:end].decode() for begin, end in spans]
        return cls(out.tobytes(), ids, [begin for begin, _ in spans], ends[:topic_count].tolist(), topics)

    def by_topic(self) -> Iterator[tuple[str, bytes]]:
        """Yield each topic and its lines."""
        begin = 0
        for name, end in zip(self.names, self.ends, strict=True):
            yield name, self.text[begin:end]
            begin = end

    def pieces(self, size: int) -> Iterator[tuple[list[str], bytes]]:
        """Yield the topics and lines of pieces, each at least of this size, except the last."""
        names, begin = list[str](), 0
        for name, end in zip(self.names, self.ends, strict=True):
            names.append(name)
            if end - begin >= size or end == len(self.text):
                yield names, self.text[begin:end]
                names, begin = [], end

    @property
    def order(self) -> NDArray[np.intp]:
        """The index of each line of `text` in the original order."""
        # Grouping keeps the order of a topic's lines, and so does a stable sort.
        return np.argsort(self.topics, kind="stable")


class GatheredFile:
    """All lines of a file by topic, held as text. This takes as much memory as the file, as `gather_topics` does."""

    def __init__(self, group: Group, limits: FileLimits) -> None:
        self._group, self._limits = group, limits
        self._indexes: dict[str, int] = {}
        self._texts: list[bytearray] = []
        self._topics: list[NDArray[np.int32]] = []
        self._lines = 0

    @classmethod
    def of(cls, chunks: Iterable[bytes], group: Group, limits: FileLimits) -> GatheredFile:
        """Read the whole file. Raises Unusual or BeyondLimit if the plain reader must read it."""
        file = cls(group, limits)
        waiting: list[bytes] = []
        size = 0
        try:
            for chunk in chunks:
                waiting.append(chunk)
                size += len(chunk)
                if size >= SEGMENT:
                    data = b"".join(waiting)
                    stop = data.rfind(b"\n") + 1
                    file._add(data[:stop])
                    waiting, size = [data[stop:]], len(data) - stop
                    if size > limits.line_bytes:
                        raise Unusual
        except GainboardError as error:  # the plain reader decides whether a limit was exceeded before
            raise Unusual from error
        file._add(b"".join(waiting))
        return file

    def _add(self, data: bytes) -> None:
        if data and not data.endswith(b"\n"):
            raise Unusual
        grouped = GroupedLines.of(data, self._group)
        indexes = np.empty(len(grouped.names), np.int32)
        for number, (name, lines) in enumerate(grouped.by_topic()):
            index = indexes[number] = self._indexes.setdefault(name, len(self._texts))
            if index == len(self._texts):
                self._texts.append(bytearray())
            self._texts[index] += lines
        self._topics.append(indexes[grouped.topics])
        self._lines += len(grouped.topics)
        if self._lines > self._limits.lines or len(self._texts) > self._limits.topics:
            raise BeyondLimit

    def by_topic(self) -> Iterator[bytes]:
        """Yield the lines of each topic, and release them."""
        for index, text in enumerate(self._texts):
            if len(text) > LARGEST:
                raise Unusual
            yield bytes(text)
            self._texts[index] = bytearray()

    @cached_property
    def numbers(self) -> NDArray[np.intp]:
        """The line number of each line that `by_topic` yields. It takes time and only faults need it."""
        return np.argsort(np.concatenate(self._topics), kind="stable") + 1
