"""The lines of a run by topic: of some lines with a fault among them, or of a whole file whose topics interleave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import GainboardError
from gainboard.trec.findings import FileLimits
from gainboard.trec.judgments import SEED

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
        is_usual, found = group(text, SEED, slots, names, ends, topics, out)
        if not is_usual:
            raise Unusual
        spans = names[:found].tolist()
        ids = [data[begin:end].decode() for begin, end in spans]
        return cls(out.tobytes(), ids, [begin for begin, _ in spans], ends[:found].tolist(), topics)

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
        for place, (name, lines) in enumerate(grouped.by_topic()):
            index = indexes[place] = self._indexes.setdefault(name, len(self._texts))
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
