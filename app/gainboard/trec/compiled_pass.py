"""The compiled pass over a run, which reads the run and joins it with judgments topic by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.acceleration import OptionalKernel
from gainboard.errors import GainboardError
from gainboard.trec.bodies import other_format_of
from gainboard.trec.findings import DEFAULT_LIMITS, RESERVED_TOPIC, Faults, FileLimits, FileWarning
from gainboard.trec.judgments import SEED, JudgedDocuments, PackedTopic
from gainboard.trec.lines import BYTE_ORDER_MARK, header_line
from gainboard.trec.numbers import decimals
from gainboard.trec.runs import WIDTH, RankAgreement, RunReader, single_precision
from gainboard.trec.topics import LARGEST, BeyondLimit, GatheredFile, Group, GroupedLines, TopicsInterleaved, Unusual
from gainboard.vocabulary import OrderBy

BUFFER = 1 << 18
"""Bytes read at a time. They and the arrays made from them fit in the processor's cache."""
LINES_TRIED = 1000
"""Lines of the first buffer among which one must have six columns."""
PIECE = 1 << 15
"""Bytes that the plain reader reads at least, if there is a fault among them."""
_SHORTEST_LINE = len(b"1 0 d 1 1 t\n")


class Joined(NamedTuple):
    """A run joined with judgments: arrays by topic, and arrays by judged document retrieved.

    Arrays by topic, in file order:

    - `topics`: the topic ids.
    - `rows` int64: the index of the topic among the judged topics, or -1.
    - `retrieved` and `judged` int64: the number of documents after truncation, and of the judged ones among them.
    - `sums` float64 [topics, 4]: the lowest score, the highest score, and two sums over the unjudged documents. The
      first sum is of scores scaled to [0, 1] by the lowest and the highest score; the second is of absolute scores.
      Undefined where `rows` is -1.

    Arrays by judged document, topic after topic, best document first: `rank` uint32, `level` int8, `score` float64.
    `documents` are the ids of all documents after truncation, in the same order, if they were asked for.
    """

    tag: str
    example: str
    """The document id of the first line."""
    warnings: list[FileWarning]
    topics: list[str]
    rows: NDArray[np.int64]
    retrieved: NDArray[np.int64]
    judged: NDArray[np.int64]
    sums: NDArray[np.float64]
    rank: NDArray[np.uint32]
    level: NDArray[np.int8]
    score: NDArray[np.float64]
    documents: list[bytes]


class ReadingKernels(NamedTuple):
    """The compiled functions of `gainboard.trec.kernels` that a pass calls."""

    fill: Callable[..., None]
    tokenise: Callable[..., tuple[bool, int, int]]
    join: Callable[..., bool]
    group: Group


class OtherColumns(Exception):
    """The file does not begin as one of six columns does, so the plain reader must read it from its start."""


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
        self.tops = np.empty(lines, np.int32)

    @property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays by line."""
        return self.documents, self.hashes, self.ranks, self.scores


class Pass:
    """One pass over one file."""

    def __init__(
        self,
        kernels: ReadingKernels,
        documents: JudgedDocuments,
        rows: Mapping[str, int],
        order_by: OrderBy,
        depth: int,
        limits: FileLimits,
        ignore_identical_ids: bool = False,
        numbers: Callable[[NDArray[np.intp]], NDArray[np.intp]] = lambda indexes: indexes + 1,
        *,
        with_documents: bool = False,
    ) -> None:
        self._kernels, self._documents, self._rows = kernels, documents, rows
        self._order_by, self._depth, self._limits, self._numbers = order_by, depth, limits, numbers
        self._ignore_identical_ids = ignore_identical_ids
        self._room, self._has_begun = _Room(0), False
        self._tag, self._example, self._blank = b"", b"", 0
        self._faults = Faults(limits.faults)
        self._topics: dict[str, None] = {}
        self._lines = 0
        self._agreement = RankAgreement()
        self._parts: list[tuple[NDArray[Any], ...]] = []
        self._with_documents, self._found_documents = with_documents, list[bytes]()

    def read(self, chunks: Iterable[bytes]) -> Joined:
        """Return the joined run. Raises Unusual, BeyondLimit or OtherColumns if the plain reader must read the file."""
        waiting: list[bytes] = []
        size, wanted = 0, BUFFER
        try:
            for chunk in chunks:
                waiting.append(chunk)
                size += len(chunk)
                if size >= wanted:
                    data = b"".join(waiting)
                    waiting = [data[self._read_whole_topics(data, is_last=False) :]]
                    size = len(waiting[0])
                    # A topic that is not complete is read again with the next buffer. Doubling keeps the whole time
                    # linear.
                    wanted = max(BUFFER, 2 * size)
                    if size > LARGEST:
                        raise Unusual
        except GainboardError:  # an error of the chunks, which is the answer if the lines before it broke no limit
            self._read_usual(b"".join(waiting), is_last=False)
            raise
        self._read_whole_topics(b"".join(waiting), is_last=True)
        if self._faults:
            raise self._faults.error()
        rows, retrieved, judged, sums, rank, level, score = map(np.concatenate, zip(*self._parts, strict=True))
        warnings = list(self._agreement.warnings(self._order_by))
        tag, example, topics = self._tag.decode(), self._example.decode(), list(self._topics)
        columns = rows, retrieved, judged, sums, rank, level, score
        return Joined(tag, example, warnings, topics, *columns, self._found_documents)

    def _read_whole_topics(self, data: bytes, *, is_last: bool) -> int:
        """Read the topics that are complete in `data`, and return the offset of the next topic."""
        if not self._has_begun:  # before a line feed is added that the file lacks: old files of Macs have none
            self._has_begun = True
            if other_format_of(head := data.removeprefix(BYTE_ORDER_MARK)) or header_line(head):
                raise OtherColumns
        try:
            return self._read_usual(data, is_last=is_last)
        except Unusual:
            return self._read_faulty(data, is_last=is_last)

    def _read_faulty(self, data: bytes, *, is_last: bool) -> int:
        """Read the same piece by piece. The plain reader reads the pieces that have a fault."""
        # A fault may be in a topic id, so that it tears a topic apart. Grouping brings the topic together again.
        stop = data.rfind(b"\n") + 1
        # What follows the last line feed is longer than a line may be. The plain reader tells which limit that is.
        if stop < len(data) - self._limits.line_bytes or (is_last and not data):
            raise Unusual
        is_cut = is_last and stop < len(data)
        grouped = GroupedLines.of(data + b"\n" if is_cut else data[:stop], self._kernels.group)
        if not is_last and stop:
            # The topic of the last line may go on in the next buffer, so all of its lines wait.
            stop = grouped.begins[grouped.topics[-1]]
            grouped = GroupedLines.of(data[:stop], self._kernels.group)
        indexes = grouped.order + self._lines
        for topics, text in grouped.pieces(PIECE):
            before = self._lines
            try:
                # A piece has whole topics, so nothing in it has to wait for more.
                self._read_usual(text, is_last=True)
            except Unusual:
                self._note_faults(topics, text, self._numbers(indexes[: text.count(b"\n")]).tolist())
            indexes = indexes[self._lines - before :]
        if is_cut and not self._faults:  # without a fault, the missing line feed is a warning
            raise Unusual
        return stop

    def _note_faults(self, topics: list[str], text: bytes, numbers: list[int]) -> None:
        """Note the faults of some topics, as the plain reader finds them."""
        self._check_topics(topics)
        form: dict[str, Any] = {"order_by": self._order_by, "depth": self._depth, "limits": self._limits}
        try:
            RunReader([text], **form, numbers=numbers, faults=self._faults).note_faults()
        except GainboardError as error:  # a limit, or too many faults: the order of reading decides which are reported
            raise Unusual from error
        is_rare = not self._faults  # no fault: the file is of a form that only the plain reader reads
        if is_rare or self._lines + len(numbers) > self._limits.lines:
            raise Unusual
        self._topics.update(dict.fromkeys(topics))
        self._lines += len(numbers)

    def _read_usual(self, data: bytes, *, is_last: bool) -> int:
        """Read the same, compiled. Raises Unusual before anything is noted of topics that are not the common case."""
        stop = data.rfind(b"\n") + 1
        if stop < len(data) - self._limits.line_bytes or (is_last and (not stop or stop < len(data))):
            raise Unusual
        if not stop:
            return 0
        if not self._tag:
            self._begin(data)
        # No valid line is shorter, and the kernels stop at an invalid one: they cannot write beyond these arrays.
        if self._room.lines < (lines := len(data) // _SHORTEST_LINE + 1):
            self._room = _Room(lines)
        room, tag = self._room, np.frombuffer(self._tag, np.uint8)
        form = self._limits.line_bytes, self._blank, tag, SEED
        text = np.frombuffer(data, np.uint8)
        is_usual, odds, topics = self._kernels.tokenise(text, stop, *form, *room.columns, room.odd, room.topics)
        if not is_usual:
            raise Unusual
        if odds:
            lines_of_odds, starts, stops = room.odd[:odds].T
            tokens = [data[start:stop] for start, stop in zip(starts.tolist(), stops.tolist(), strict=True)]
            if (scores := decimals(tokens)) is None:
                raise Unusual
            room.scores[lines_of_odds] = scores
        first_lines = room.topics[: topics + 1, 0]
        if self._lines + first_lines[-1] > self._limits.lines or np.diff(first_lines).max() > self._limits.topic_lines:
            raise BeyondLimit
        topics -= not is_last
        if topics:
            self._join(data, topics)
        return len(data) if is_last else int(room.topics[topics, 1])

    def _begin(self, data: bytes) -> None:
        # Lines of other widths are skipped here, because they may be faults that say nothing about the other lines.
        lines = ((line, line.split()) for line in islice(BytesIO(data), LINES_TRIED))
        line, columns = next(((line, columns) for line, columns in lines if len(columns) == WIDTH), (b"", []))
        if not self._lines and len(columns) != WIDTH:
            raise OtherColumns
        if len(columns) != WIDTH or not all(0x20 < byte < 0x7F for byte in columns[-1]):
            raise Unusual
        self._tag, self._example = columns[-1], columns[2]
        self._blank = ord("\t" if b"\t" in line else " ")

    def _join(self, data: bytes, count: int) -> None:
        room, topics = self._room, self._room.topics[: count + 1]
        names = [data[start:stop].decode() for _, start, stop in topics[:count].tolist()]
        if RESERVED_TOPIC.decode() in names:
            raise Unusual
        self._check_topics(names)
        rows = np.array([self._rows.get(name, -1) for name in names], np.int64)
        counts, sums = np.empty((count, 2), np.int64), np.zeros((count, 4), np.float64)
        keys = room.scores[: topics[-1, 0]]  # beyond these lines, nothing is set
        if self._order_by == "score32":
            # The kernel is compiled for float64 alone. Every float32 is exact there, so ties stay ties.
            keys = single_precision(keys).astype(np.float64)
        form = self._documents, self._order_by == "rank", self._ignore_identical_ids, self._depth
        text = np.frombuffer(data, np.uint8)
        agreement = np.array([0, 0, 0, 0, 0, 0, 0, -1], np.int64)
        is_usual = self._kernels.join(
            text, *room.columns, keys, topics, rows, *form, room.aside, room.out, room.tops, counts, sums, agreement
        )
        if not is_usual:
            raise Unusual
        self._topics.update(dict.fromkeys(names))
        *counted, example = agreement.tolist()
        compared = RankAgreement(*counted)
        if example >= 0:
            compared.example = int(self._numbers(np.array([self._lines + example]))[0])
        self._agreement.add(compared)
        self._lines += int(topics[-1, 0])
        if self._with_documents:
            kept = room.documents[room.tops[: counts[:, 0].sum()]].tolist()
            self._found_documents += [data[start:stop] for start, stop in kept]
        judged = int(counts[:, 1].sum())
        # The room is filled again by the next buffer, so what is kept is copied.
        self._parts.append((rows, *counts.T, sums, *(column[:judged].copy() for column in room.out)))

    def _check_topics(self, names: list[str]) -> None:
        if len(set(names)) < len(names) or not self._topics.keys().isdisjoint(names):
            raise TopicsInterleaved
        if len(self._topics) + len(names) > self._limits.topics:
            raise BeyondLimit


def _load() -> ReadingKernels:
    from gainboard.trec import kernels  # noqa: PLC0415 (it imports the compiler)

    loaded = ReadingKernels(kernels.fill, kernels.tokenise, kernels.join, kernels.group)
    # One line goes through each function, which compiles it for the types that files have.
    documents = JudgedDocuments.of([PackedTopic.of({b"d": 1})], loaded.fill)
    assert documents is not None
    Pass(loaded, documents, {"1": 0}, "rank", 1, DEFAULT_LIMITS).read([b"1 0 d 1 1 t\n"])
    GroupedLines.of(b"1 0 d 1 1 t\n", loaded.group)
    return loaded


READING = OptionalKernel("reading", _load)
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
    ignore_identical_ids: bool = False,
    depth: int = 1000,
    limits: FileLimits = DEFAULT_LIMITS,
    gather: bool = False,
    with_documents: bool = False,
) -> Joined | None:
    """Return the run joined with `documents`. `rows` maps each topic id to its index in `documents`.

    `with_documents` asks for the ids of all documents after truncation.

    The other arguments and the errors are those of `RunReader`. Return None if the compiled functions are missing, or
    if the plain reader must read the file.
    """
    kernels = READING.get()
    if kernels is None:
        return None
    form = kernels, documents, rows, order_by, depth, limits, ignore_identical_ids
    try:
        if not gather:
            return Pass(*form, with_documents=with_documents).read(chunks)
        file = GatheredFile.of(chunks, kernels.group, limits)
        by_topic = Pass(*form, lambda indexes: file.numbers[indexes], with_documents=with_documents)
        return by_topic.read(file.by_topic())
    except (Unusual, BeyondLimit, OtherColumns):
        return None
