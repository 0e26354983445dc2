"""Reading a qrels file in TREC's or NTCIR's layout: every judgment with its level, every fault with its line.

`read_plain` defines the meaning of a file, line by line. `read_usual` reads a file in TREC's layout without faults,
block by block, in a fifth of the time. `read_plain` reads all other files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from gainboard.errors import InvalidRequest
from gainboard.trec.findings import DEFAULT_LIMITS, RESERVED_TOPIC, Faults, FileWarning, Limits, note_reserved, quoted
from gainboard.trec.judgments import PackedJudgments, PackedTopic, level_byte
from gainboard.trec.layouts import LAYOUTS, LOWEST_LEVEL, Layout, LevelNotation, Row, decide_layout
from gainboard.trec.lines import Block, Text
from gainboard.trec.topics import topic_lengths

_TREC_WIDTH = 4
_AMBIGUOUS = (
    "The order of the columns is not clear: topic, document, level or topic, level, document. "
    f"Name it with ?columns=, for example ?columns=topic-document-level. Available: {', '.join(LAYOUTS)}"
)


@dataclass(frozen=True)
class QrelsFile:
    """The judgments of a file at levels -127..h. Negative levels are kept as given.

    `columns` is the layout of the file, a key of `LAYOUTS`.
    """

    judgments: PackedJudgments
    columns: str
    warnings: list[FileWarning]


def read_qrels(
    chunks: Iterable[bytes], *, levels: Sequence[str] | int, columns: str | None = None, limits: Limits = DEFAULT_LIMITS
) -> QrelsFile:
    """Read a qrels file. The whole file is held in memory.

    `levels` are the names of levels 1..h, lowest first, or h itself. `columns` is the layout, a key of `LAYOUTS`. If
    `columns` is None, the lines decide (see `decide_layout`).

    Raises:
        FaultyFile: with all faults of the file.
        TooLarge: a limit is exceeded.
        InvalidRequest: the layout does not exist.
    """
    scale, known = LevelNotation.of(levels), _known(columns)
    taken: list[bytes] = []
    rest = iter(chunks)
    if known in (None, "trec") and (found := read_usual(Text(_noted(rest, taken), limits), scale)):
        return found
    return read_plain(Text(chain(taken, rest), limits), scale, known)


def read_plain(text: Text, scale: LevelNotation, columns: str | None) -> QrelsFile:
    """Read any qrels file, in the layout `columns` or, if it is None, in the layout that most lines fit.

    Raises FaultyFile or TooLarge.
    """
    rows = _rows_to_judge(text, scale, columns)
    chosen = columns or decide_layout([row for _, row in rows], scale)
    judgments = _Judgments(LAYOUTS[chosen or "trec"], scale, text.faults)
    if not rows and not text.faults:
        text.faults.add("empty-file", "The file has no judgments. A judgment is a line such as: 51 0 doc-17 1")
    elif chosen is None:
        text.faults.add("ambiguous-columns", _AMBIGUOUS)
    else:
        judgments.read(rows)
    if chosen is None or text.faults:
        raise text.faults.error()
    return QrelsFile(judgments.packed(), chosen, [*text.warnings(), *judgments.warnings()])


def _rows_to_judge(text: Text, scale: LevelNotation, columns: str | None) -> list[tuple[int, Row]]:
    """Return the rows of the file, up to the block in which it has become too faulty for each layout."""
    rows: list[tuple[int, Row]] = []
    # A file is held against one layout until that has too many faults: almost every file needs one look at a row.
    waiting = [LAYOUTS[columns]] if columns else list(LAYOUTS.values())
    faulty = seen = 0
    for block in text.blocks():
        rows += text.rows(block)
        while waiting:
            faulty += waiting[0].count_faulty(scale, [row for _, row in rows[seen:]])
            seen = len(rows)
            if faulty < text.faults.most:
                break
            del waiting[0]
            faulty = seen = 0
        else:
            break
    return rows


def _known(columns: str | None) -> str | None:
    if columns is not None and columns not in LAYOUTS:
        message = f"columns={columns[:60]!r} is not a layout of qrels. Available: {', '.join(LAYOUTS)}"
        raise InvalidRequest.at("query.columns", "unknown-columns", message)
    return columns


def _noted(chunks: Iterable[bytes], taken: list[bytes]) -> Iterator[bytes]:
    """Yield the chunks, and append each chunk to `taken`, so that the file can be read again."""
    for chunk in chunks:
        taken.append(chunk)
        yield chunk


def read_usual(text: Text, scale: LevelNotation) -> QrelsFile | None:
    """Read a file in TREC's layout without faults. Return None for any other file, which may be partly read then."""
    judged = _UsualJudgments(scale)
    for block in text.blocks():
        tokens = text.table(block, _TREC_WIDTH) or _table_of_odd_lines(text, block)
        if tokens is None or not judged.add(tokens):
            return None
    return judged.file(text)


def _table_of_odd_lines(text: Text, block: Block) -> list[bytes] | None:
    """Return the tokens of a block with skipped lines, as `Text.table` does; None if a line is faulty."""
    rows = [row for _, row in text.rows(block)]
    if text.faults or any(len(row) != _TREC_WIDTH for row in rows):
        return None
    return [token for row in rows for token in (*row, b"\x00")]


class _UsualJudgments:
    """Judgments that are read table by table, without their line numbers."""

    def __init__(self, scale: LevelNotation) -> None:
        self._scale = scale
        self._topics: dict[bytes, tuple[bytearray, bytearray]] = {}
        self._level_bytes: dict[bytes, int] = {}

    def add(self, tokens: list[bytes]) -> bool:
        """Add the lines of a table. Return False if the plain reader must read the file."""
        topics, iterations, documents, levels = (tokens[column :: _TREC_WIDTH + 1] for column in range(_TREC_WIDTH))
        if not self._scale.tokens.keys().isdisjoint(iterations):
            return False  # the file may have another layout
        for token in set(levels) - self._level_bytes.keys():
            if (level := self._scale.numeric(token)) is None:
                return False
            self._level_bytes[token] = level_byte(level)
        packed = bytes(map(self._level_bytes.__getitem__, levels))
        start = 0
        for topic, length in topic_lengths(topics) if topics else ():
            judged = self._topics.setdefault(topic, (bytearray(), bytearray()))
            judged[0].extend(b"\n".join(documents[start : start + length]) + b"\n")
            judged[1].extend(packed[start : start + length])
            start += length
        return RESERVED_TOPIC not in self._topics

    def file(self, text: Text) -> QrelsFile | None:
        """Return the whole file; None if it has no judgments or the judgments of a document conflict."""
        topics: dict[str, PackedTopic] = {}
        repeated = 0
        for topic, (documents, levels) in self._topics.items():
            packed = PackedTopic(bytes(documents), bytes(levels))
            ids = packed.documents.split(b"\n")[:-1]
            if again := len(ids) - len(set(ids)):
                repeated += again
                if len(set(zip(ids, levels, strict=True))) != len(ids) - again:
                    return None
                packed = PackedTopic.of(packed.unpacked())
            topics[topic.decode()] = packed
        if not topics:
            return None
        return QrelsFile(PackedJudgments(topics), "trec", [*text.warnings(), *_repetitions(repeated)])


def _repetitions(count: int) -> Iterator[FileWarning]:
    if count:
        yield FileWarning("repeated-judgment", "Documents judged again at the same level", count)


class _Judgments:
    """Judgments read in one layout, each with its line number."""

    def __init__(self, layout: Layout, scale: LevelNotation, faults: Faults) -> None:
        self._layout, self._scale, self._faults = layout, scale, faults
        self._judged: dict[bytes, dict[bytes, tuple[int, int]]] = {}
        self._repeated = 0

    def read(self, rows: Iterable[tuple[int, Row]]) -> None:
        for number, row in rows:
            if self._layout.misshapen(row):
                problem = f"the line has {len(row)} columns, which do not fit: {self._layout.columns}"
                self._faults.add("bad-columns", problem, number)
            else:
                self._read(number, row[0], row[self._layout.document], row[self._layout.level])

    def _read(self, number: int, topic: bytes, document: bytes, token: bytes) -> None:
        if topic not in self._judged:
            self._judged[topic] = {}
            note_reserved(topic, number, self._faults)
        level = self._layout.read(self._scale, token)
        if level is None:
            problem = f"level {quoted(token)} of document {quoted(document)} is not {self._expected()}"
            self._faults.add("bad-level", problem, number, topic=topic)
            return
        first_level, first = self._judged[topic].setdefault(document, (level, number))
        if first_level != level:
            problem = (
                f"document {quoted(document)} has level {level} here, but level {first_level} on line {first}. "
                "Keep one of the two lines"
            )
            self._faults.add("conflicting-judgment", problem, first, number, topic=topic)
        self._repeated += first != number

    def _expected(self) -> str:
        if self._layout.read is LevelNotation.numeric:
            return f"an integer from {LOWEST_LEVEL} to {self._scale.highest}"
        others = [token.decode() for token, level in self._scale.tokens.items() if token != b"L%d" % level]
        return "one of " + ", ".join([*others, f"L0 to L{self._scale.highest}"])

    def packed(self) -> PackedJudgments:
        return PackedJudgments(
            {
                topic.decode(): PackedTopic.of({document: level for document, (level, _) in judged.items()})
                for topic, judged in self._judged.items()
            }
        )

    def warnings(self) -> Iterator[FileWarning]:
        return _repetitions(self._repeated)
