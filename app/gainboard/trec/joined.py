"""Fast reading of a run: one compiled pass reads the run and joins it with judgments. `RunReader` defines the result.

The pass handles the common case: ASCII, six columns, either spaces or tabs, the lines of a topic together, and no
fault. It gives up on any other file. The plain reader then starts at the beginning of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.compiled import Twin
from gainboard.errors import GainboardError
from gainboard.trec.findings import DEFAULT_LIMITS, RESERVED_TOPIC, FileWarning, Limits
from gainboard.trec.judgment_tables import SEED, JudgedDocuments
from gainboard.trec.judgments import PackedTopic
from gainboard.trec.numbers import decimals
from gainboard.trec.rankings import OrderBy, single_precision
from gainboard.trec.runs import WIDTH, order_differs

BUFFER = 1 << 18
"""Bytes read at a time. They and the arrays made from them fit in the processor's cache."""
LARGEST = 16 << 20
"""Most bytes of a topic. The plain reader reads files with a longer topic."""
_SHORTEST_LINE = len(b"1 0 d 1 1 t\n")


@dataclass(frozen=True, slots=True)
class Joined:
    """A run joined with judgments: arrays by topic, and arrays by judged document retrieved.

    Arrays by topic, in file order:

    - `topics`: the topic ids.
    - `rows` int64: the index of the topic among the judged topics, or -1.
    - `retrieved` and `judged` int64: the number of documents after truncation, and of the judged ones among them.
    - `sums` float64 [topics, 4]: the lowest score, the highest score, and two sums over the unjudged documents. The
      first sum is of scores scaled to [0, 1] by the lowest and the highest score; the second is of absolute scores.
      Undefined where `rows` is -1.

    Arrays by document, topic after topic, best document first: `rank` uint32, `level` int8, `score` float64.
    """

    tag: str
    warnings: list[FileWarning]
    topics: list[str]
    rows: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    judged: NDArray[np.int64]
    sums: NDArray[np.float64]
    rank: NDArray[np.uint32]
    level: NDArray[np.int8]
    score: NDArray[np.float64]


class _ReadingKernels(NamedTuple):
    fill: Callable[..., None]
    tokenise: Callable[..., tuple[bool, int, int]]
    join: Callable[..., tuple[bool, int]]


class _Unusual(Exception):
    """The file is not the common case, so the plain reader must read it."""


def _load() -> _ReadingKernels:
    from gainboard.trec import kernels  # noqa: PLC0415 (it imports the compiler)

    loaded = _ReadingKernels(kernels.fill, kernels.tokenise, kernels.join)
    documents = JudgedDocuments.of([PackedTopic.of({b"d": 1})], loaded.fill)
    assert documents is not None
    _Pass(loaded, documents, {"1": 0}, "rank", 1, DEFAULT_LIMITS).read([b"1 0 d 1 1 t\n"])
    return loaded


READING = Twin("reading", _load, kernels="gainboard.trec.kernels")
"""The compiled functions, if the `fast` extra is installed."""


def judged_documents(judgments: Sequence[PackedTopic]) -> JudgedDocuments | None:
    """Return the hash tables for `read_joined`.

    Return None if the compiled functions are missing, or if a topic has too many judged documents (16 MiB of text).
    """
    kernels = READING.get()
    return JudgedDocuments.of(judgments, kernels.fill) if kernels else None


def read_joined(
    chunks: Iterable[bytes],
    documents: JudgedDocuments,
    rows: Mapping[str, int],
    *,
    order_by: OrderBy = "score",
    depth: int = 1000,
    limits: Limits = DEFAULT_LIMITS,
) -> Joined | None:
    """Return the run joined with `documents`. `rows` maps each topic id to its index in `documents`.

    The other arguments are those of `RunReader`. Return None if the compiled functions are missing, or if the plain
    reader must read the file.
    """
    kernels = READING.get()
    if kernels is None:
        return None
    try:
        return _Pass(kernels, documents, rows, order_by, depth, limits).read(chunks)
    except (_Unusual, GainboardError):  # the plain reader finds the fault again and decides which error to raise
        return None


class _Room:
    """Arrays for the lines of a buffer. The docstrings of the kernels define their contents."""

    def __init__(self, lines: int) -> None:
        self.lines = lines
        self.documents = np.empty((lines, 2), np.int32)
        self.hashes = np.empty(lines, np.uint64)
        self.ranks = np.empty(lines, np.int64)
        self.scores = np.empty(lines, np.float64)
        self.odd = np.empty((lines, 3), np.int32)
        self.topics = np.empty((lines + 1, 3), np.int32)
        self.aside = np.empty((2, lines), np.int32), np.empty(4 * lines + 4, np.int32)
        self.out = np.empty(lines, np.uint32), np.empty(lines, np.int8), np.empty(lines, np.float64)

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays by line."""
        return self.documents, self.hashes, self.ranks, self.scores


class _Pass:
    """One pass over one file."""

    def __init__(
        self,
        kernels: _ReadingKernels,
        documents: JudgedDocuments,
        rows: Mapping[str, int],
        order_by: OrderBy,
        depth: int,
        limits: Limits,
    ) -> None:
        self._kernels, self._documents, self._rows = kernels, documents, rows
        self._order_by, self._depth, self._limits = order_by, depth, limits
        self._room = _Room(0)
        self._tag, self._blank = b"", 0
        self._topics: dict[str, int] = {}
        self._lines = self._differing = 0
        self._parts: list[tuple[NDArray[Any], ...]] = []

    def read(self, chunks: Iterable[bytes]) -> Joined:
        """Return the joined run. Raises _Unusual if the plain reader must read the file."""
        waiting: list[bytes] = []
        size, wanted = 0, BUFFER
        for chunk in chunks:
            waiting.append(chunk)
            size += len(chunk)
            if size >= wanted:
                data = b"".join(waiting)
                waiting = [data[self._read_whole_topics(data, is_last=False) :]]
                size = len(waiting[0])
                wanted = max(BUFFER, 2 * size)
                if size > LARGEST:
                    raise _Unusual
        self._read_whole_topics(b"".join(waiting), is_last=True)
        return self._join_parts()

    def _read_whole_topics(self, data: bytes, *, is_last: bool) -> int:
        """Read the topics that are complete in `data`, and return the offset of the next topic."""
        stop = data.rfind(b"\n") + 1
        if stop < len(data) - self._limits.line_bytes or (is_last and (not stop or stop < len(data))):
            raise _Unusual
        if not stop:
            return 0
        if not self._tag:
            self._begin(data)
        if self._room.lines < (lines := len(data) // _SHORTEST_LINE + 1):
            self._room = _Room(lines)
        found = self._tokenise(data, stop)
        self._check_size(self._room.topics[: found + 1, 0])
        found -= not is_last
        if found:
            self._join(data, found)
        return len(data) if is_last else int(self._room.topics[found, 1])

    def _begin(self, data: bytes) -> None:
        line = data[: data.index(b"\n")]
        columns = line.split()
        if len(columns) != WIDTH or not all(0x20 < byte < 0x7F for byte in columns[-1]):
            raise _Unusual
        self._tag, self._blank = columns[-1], ord("\t" if b"\t" in line else " ")

    def _tokenise(self, data: bytes, stop: int) -> int:
        room, tag = self._room, np.frombuffer(self._tag, np.uint8)
        form = self._limits.line_bytes, self._blank, tag, SEED
        text = np.frombuffer(data, np.uint8)
        is_usual, odds, found = self._kernels.tokenise(text, stop, *form, *room.columns, room.odd, room.topics)
        if not is_usual:
            raise _Unusual
        if odds:
            lines, starts, stops = room.odd[:odds].T
            tokens = [data[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
            if (scores := decimals(tokens)) is None:
                raise _Unusual
            room.scores[lines] = scores
        return found

    def _join(self, data: bytes, found: int) -> None:
        room, topics = self._room, self._room.topics[: found + 1]
        rows = self._number_topics([data[start:stop] for _, start, stop in topics[:found].tolist()])
        self._lines += int(topics[-1, 0])
        counts, sums = np.empty((found, 2), np.int64), np.empty((found, 4), np.float64)
        keys = single_precision(room.scores).astype(np.float64) if self._order_by == "score32" else room.scores
        form = self._documents, self._order_by == "rank", self._depth
        text = np.frombuffer(data, np.uint8)
        is_usual, differing = self._kernels.join(
            text, *room.columns, keys, topics, rows, *form, room.aside, room.out, counts, sums
        )
        if not is_usual:
            raise _Unusual
        self._differing += differing
        judged = int(counts[:, 1].sum())
        self._parts.append((rows, *counts.T, sums, *(column[:judged].copy() for column in room.out)))

    def _number_topics(self, names: list[bytes]) -> NDArray[np.int64]:
        for name in names:
            topic = name.decode()
            if name == RESERVED_TOPIC or topic in self._topics:
                raise _Unusual
            self._topics[topic] = self._rows.get(topic, -1)
        if len(self._topics) > self._limits.topics:
            raise _Unusual
        return np.fromiter((self._topics[name.decode()] for name in names), np.int64, len(names))

    def _check_size(self, starts: NDArray[np.int32]) -> None:
        if self._lines + starts[-1] > self._limits.lines or np.diff(starts).max() > self._limits.topic_lines:
            raise _Unusual

    def _join_parts(self) -> Joined:
        rows, retrieved, judged, sums, rank, level, score = (
            np.concatenate(column) for column in zip(*self._parts, strict=True)
        )
        warnings = order_differs(self._differing, self._order_by)
        tag, topics = self._tag.decode(), list(self._topics)
        return Joined(tag, warnings, topics, rows, retrieved, judged, sums, rank, level, score)
