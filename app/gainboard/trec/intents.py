"""Reading qrels by intent: TREC's subtopic qrels, and NTCIR's Dqrels with the probabilities of intents (Iprob).

A line of four columns is a judgment: topic, intent, document id, level. A line of three columns is a probability:
topic, intent, probability. Both may be in one file, in any order. Intent 0 is an intent like any other if a document
of the topic has a level above 0 for it: half of the topics of TREC's Web tracks of 2013 and 2014 have no other. Else it
is none: its documents are judged, and relevant to no intent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import InvalidRequest, TooLarge
from gainboard.trec.findings import (
    DEFAULT_LIMITS,
    MOST_INTENTS,
    RESERVED_TOPIC,
    Faults,
    FileLimits,
    FileWarning,
    cause_by_level,
    note_reserved,
    quoted,
)
from gainboard.trec.judgments import PackedJudgments, PackedTopic
from gainboard.trec.layouts import LOWEST_LEVEL, LevelNotation
from gainboard.trec.lines import LineTable, Text
from gainboard.trec.numbers import decimal
from gainboard.trec.qrels import QrelsFile
from gainboard.trec.topics import topic_lengths

INTENT_LAYOUT: Final = "topic-intent-document-level"
"""The name of the layout of such a file."""
NO_INTENT: Final = b"0"
"""The intent that is none, unless a document is relevant to it."""
_ROUNDING: Final = 0.05
"""The largest difference of a topic's sum of probabilities from 1, because files round them."""


class TopicIntents(NamedTuple):
    """The intents of a topic, in byte order of their names, and the documents that are relevant to each of them.

    - `probability` float64 [intents]: they add up to 1, unless no document is relevant and none was given.
    - `document` int64 [relevant]: the number of a judged document, from 0. Documents are numbered in descending byte
      order of their ids.
    - `intent` int64 [relevant] and `level` int8 [relevant]: an intent to which it is relevant, and its level above 0.
    """

    probability: NDArray[np.float64]
    document: NDArray[np.int64]
    intent: NDArray[np.int64]
    level: NDArray[np.int8]


@dataclass(frozen=True)
class IntentQrels(QrelsFile):
    """A qrels file by intent. The level of a document in `judgments` is its highest level over all intents."""

    intents: Mapping[str, TopicIntents] = field(default_factory=dict)


def read_intent_qrels(
    chunks: Iterable[bytes],
    *,
    levels: Sequence[str] | int,
    columns: str | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
) -> IntentQrels:
    """Read a qrels file by intent. The whole file is held in memory.

    `levels` is as for `read_qrels`. A level is an integer, or a name such as `L1`. Raises FaultyFile, with all faults
    of the file; TooLarge, also for too many intents of a topic; and InvalidRequest for the name of another layout in
    `columns`.
    """
    if columns not in (None, INTENT_LAYOUT):
        message = f"columns={columns} is not for qrels by intent, which have the columns {INTENT_LAYOUT}. Leave it out."
        raise InvalidRequest.at("query.columns", "unknown-columns", message)
    text = Text(chunks, limits)
    reading = _IntentReading(LevelNotation.of(levels), text.faults)
    for block in text.blocks():
        for table in text.tables(block):
            reading.add(table)
    return reading.file(text)


@dataclass(slots=True)
class _Topic:
    """The lines of one topic in the order of the file. A line feed follows each id; line numbers take eight bytes."""

    documents: bytearray = field(default_factory=bytearray)
    intents: bytearray = field(default_factory=bytearray)
    levels: bytearray = field(default_factory=bytearray)
    numbers: bytearray = field(default_factory=bytearray)


class _IntentReading:
    """The lines of a file, added table by table, and packed at once, because tokens take much room."""

    def __init__(self, scale: LevelNotation, faults: Faults) -> None:
        self._scale, self._faults = scale, faults
        self._topics: dict[bytes, _Topic] = {}
        self._probabilities: dict[bytes, dict[bytes, float]] = {}
        self._faulty_probabilities: set[bytes] = set()
        """Topics with a fault in a line of a probability."""
        self._level_bytes: dict[bytes, int | None] = {}
        self._repeated = self._normalised = 0
        self._names_intents = False

    def add(self, table: LineTable) -> None:
        """Add lines, and note those that are at fault. Raises FaultyFile if there are too many."""
        width = len(table.columns)
        if width == 4:
            self._add_judgments(table)
        elif width == 3:
            for number, topic, intent, token in zip(table.numbers.tolist(), *table.columns, strict=True):
                value, probabilities = decimal(token), self._probabilities.setdefault(topic, {})
                if value is None or not 0 <= value <= 1:
                    problem = f"probability {quoted(token)} of intent {quoted(intent)} is not a number from 0 to 1"
                    problem += cause_by_level([topic, intent, token])
                elif (before := probabilities.setdefault(intent, value)) != value:
                    problem = f"intent {quoted(intent)} has two probabilities, {before:g} and {value:g}. Keep one"
                else:
                    continue
                self._faulty_probabilities.add(topic)
                self._faults.add("bad-probability", problem, number, topic=topic)
        else:
            problem = (
                f"the line has {width} column{'s' * (width > 1)}, which do not fit: topic, intent, document id, level; "
                "or topic, intent, probability"
            )
            for number in table.numbers.tolist():
                self._faults.add("bad-columns", problem, number)

    def file(self, text: Text) -> IntentQrels:
        """Return the whole file. Raises FaultyFile if it has faults, or no judgments."""
        if not self._topics and not self._faults:
            self._faults.add("empty-file", "The file has no judgments. A judgment is a line such as: 51 1 doc-17 1")
        packed: dict[str, PackedTopic] = {}
        intents: dict[str, TopicIntents] = {}
        for name, topic in self._topics.items():
            packed[name.decode()], intents[name.decode()] = self._pack_topic(name, topic)
        if self._faults:
            raise self._faults.error()
        warnings = [*text.warnings((3, 4)), *self._warnings()]
        return IntentQrels(PackedJudgments(packed), INTENT_LAYOUT, warnings, intents=intents)

    def _add_judgments(self, table: LineTable) -> None:
        levels = np.fromiter(map(self._level_byte, table.columns[3]), np.int64, len(table.numbers))
        for at in (levels < 0).nonzero()[0].tolist():
            topic, _, document, token = (column[at] for column in table.columns)
            problem = (
                f"level {quoted(token)} of document {quoted(document)} is not an integer from {LOWEST_LEVEL} to "
                f"{self._scale.highest}, or one of L0 to L{self._scale.highest}"
            )
            self._faults.add("bad-level", problem, int(table.numbers[at]), topic=topic)
        self._names_intents = self._names_intents or table.columns[1].count(NO_INTENT) < len(table.columns[1])
        reserved = table.columns[0]
        if RESERVED_TOPIC in reserved and RESERVED_TOPIC not in self._topics:
            self._topics[RESERVED_TOPIC] = _Topic()
            note_reserved(RESERVED_TOPIC, int(table.numbers[reserved.index(RESERVED_TOPIC)]), self._faults)
        table = table.lines(levels >= 0)
        if not table.numbers.size:
            return
        kept = levels[levels >= 0].astype(np.uint8).tobytes()
        topics, names, documents, _ = table.columns
        start = 0
        for topic, length in topic_lengths(topics):
            stretch = slice(start, start + length)
            lines = self._topics.setdefault(topic, _Topic())
            lines.documents += b"\n".join(documents[stretch]) + b"\n"
            lines.intents += b"\n".join(names[stretch]) + b"\n"
            lines.levels += kept[stretch]
            lines.numbers += table.numbers[stretch].tobytes()
            start += length

    def _level_byte(self, token: bytes) -> int:
        """Return the byte of a level, or -1 for another token."""
        if token not in self._level_bytes:
            level = self._scale.read_numeric(token)
            level = self._scale.read_named(token) if level is None else level
            self._level_bytes[token] = None if level is None else level & 0xFF
        level_byte = self._level_bytes[token]
        return -1 if level_byte is None else level_byte

    def _pack_topic(self, name: bytes, topic: _Topic) -> tuple[PackedTopic, TopicIntents]:
        documents, intents = (bytes(lines).split(b"\n")[:-1] for lines in (topic.documents, topic.intents))
        levels = np.frombuffer(bytes(topic.levels), np.int8).tolist()
        numbers = np.frombuffer(bytes(topic.numbers), np.int64)
        highest: dict[bytes, int] = {}
        judged: dict[tuple[bytes, bytes], tuple[int, int]] = {}
        for line, (document, intent, level) in enumerate(zip(documents, intents, levels, strict=True)):
            highest[document] = max(highest.get(document, LOWEST_LEVEL), level)
            before, first = judged.setdefault((document, intent), (level, line))
            if before != level:
                first_line = int(numbers[first])
                problem = (
                    f"document {quoted(document)} has level {level} for intent {quoted(intent)} here, but level "
                    f"{before} on line {first_line}. Keep one of the two lines"
                )
                self._faults.add("conflicting-judgment", problem, first_line, int(numbers[line]), topic=name)
            elif first != line:
                self._repeated += 1
        relevant = {key: level for key, (level, _) in judged.items() if level > 0}
        # Descending, because of documents with equal gains the one of the larger id comes first in an ideal ranking.
        return PackedTopic.of(highest), self._make_intents(name, sorted(highest, reverse=True), set(intents), relevant)

    def _make_intents(
        self, topic: bytes, documents: Sequence[bytes], judged: set[bytes], relevant: Mapping[tuple[bytes, bytes], int]
    ) -> TopicIntents:
        probabilities = self._probabilities.get(topic, {})
        names = sorted(judged | probabilities.keys())
        if NO_INTENT in names and NO_INTENT not in probabilities and all(intent != NO_INTENT for _, intent in relevant):
            names.remove(NO_INTENT)
        if len(names) > MOST_INTENTS:
            raise TooLarge(
                f"Topic {quoted(topic)} has {len(names)} intents; at most {MOST_INTENTS} are allowed",
                limit=MOST_INTENTS,
            )
        number = {document: index for index, document in enumerate(documents)}
        intent_number = {name: at for at, name in enumerate(names)}
        rows = sorted(
            (intent_number[intent], number[document], level) for (document, intent), level in relevant.items()
        )
        intent, document, level = np.array(rows, np.int64).reshape(-1, 3).T
        # A probability at fault is reported with its line. It would only look missing here.
        if probabilities and topic not in self._faulty_probabilities:
            probability = self._read_probabilities(topic, names, probabilities)
        else:
            # Files list intents without relevant documents or leave them out, and scores should not depend on it.
            probability, with_relevant = np.zeros(len(names)), np.unique(intent)
            probability[with_relevant] = 1.0 / max(1, len(with_relevant))
        return TopicIntents(probability, document.copy(), intent.copy(), level.astype(np.int8))

    def _read_probabilities(
        self, topic: bytes, names: Sequence[bytes], probabilities: Mapping[bytes, float]
    ) -> NDArray[np.float64]:
        """Return the probabilities that the file gives, so that they add up to 1."""
        missing = [name for name in names if name not in probabilities]
        if missing:
            intent = f"intent {quoted(missing[0])} of topic {quoted(topic)}"
            problem = f"{intent} has no probability, but other intents of the topic have one"
            self._faults.add("bad-probability", problem, topic=topic)
        probability = np.array([probabilities.get(name, 0.0) for name in names])
        total = float(probability.sum())
        # 1e-9 is for the error of the sum itself: probabilities that add up to 0.95 on paper are allowed.
        if abs(total - 1) > _ROUNDING + 1e-9 and not missing:
            intents = f"the intents of topic {quoted(topic)}"
            problem = f"the probabilities of {intents} add up to {total:g}. They must add up to 1"
            self._faults.add("bad-probability", problem, topic=topic)
        # A sum of 0 has been noted as a fault, and cannot be divided by.
        if abs(total - 1) <= 1e-9 or not total:
            return probability
        self._normalised += 1
        return probability / total

    def _warnings(self) -> Iterator[FileWarning]:
        if self._repeated:
            yield FileWarning("repeated-judgment", "Documents judged again at the same level", self._repeated)
        if self._normalised:
            message = "Topics whose probabilities do not add up to 1. They were divided by their sum"
            yield FileWarning("normalised-probabilities", message, self._normalised)
        if self._topics and not self._names_intents:
            yield FileWarning(
                "one-intent",
                "The second column is 0 in all lines, as in qrels without intents. Each topic is read as one with the "
                "single intent 0",
            )
        if ignored := len(self._probabilities.keys() - self._topics.keys()):
            yield FileWarning("ignored-probabilities", "Topics with probabilities but without judgments", ignored)
