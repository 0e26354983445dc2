"""Reading a qrels file in TREC's or NTCIR's layout: every judgment with its level, every fault with its line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np

from gainboard.errors import FaultyFile, InvalidRequest
from gainboard.trec.findings import (
    DEFAULT_LIMITS,
    RESERVED_TOPIC,
    SECOND_COLUMN_DIFFERS,
    Faults,
    FileLimits,
    FileWarning,
    cause_by_intent,
    cause_in_qrels,
    cause_of_level,
    columns_in_words,
    note_reserved,
    quoted,
)
from gainboard.trec.judgments import LEVEL_ZERO, PackedJudgments, PackedTopic, level_byte
from gainboard.trec.layouts import LAYOUTS, LOWEST_LEVEL, Evidence, LevelNotation
from gainboard.trec.lines import Block, LineTable, Text
from gainboard.trec.numbers import decimal
from gainboard.trec.topics import topic_lengths

_AMBIGUOUS = (
    "The order of the columns is not clear: topic, document, level or topic, level, document. "
    f"Name it with ?columns= (--columns), for example ?columns=topic-document-level. Available: {', '.join(LAYOUTS)}"
)

_SECONDS = 255
"""The number of tokens of the second column that are told apart."""


@dataclass(frozen=True)
class QrelsFile:
    """The judgments of a file at levels -127..h. Negative levels are kept as given.

    `columns` is the name of the layout of the file. `strata` has the stratum of each document of a sampled pool, by
    topic and id; those without a judgment were not sampled. `sets` are the attribute sets of the file.
    """

    judgments: PackedJudgments
    columns: str
    warnings: list[FileWarning]
    strata: Mapping[str, Mapping[bytes, int]] = field(default_factory=dict)
    sets: Sequence[Memberships] = ()

    @property
    def annotated(self) -> dict[str, list[bytes]] | None:
        """The documents of each judged topic that are judged, or otherwise known, in byte order; None if not."""
        if not (self.strata or self.sets):
            return None
        more = (self.judgments, self.strata, *(each.vectors for each in self.sets))
        topics = sorted(self.judgments, key=str.encode)
        return {topic: sorted(set().union(*(known.get(topic, ()) for known in more))) for topic in topics}


def read_qrels(
    chunks: Iterable[bytes],
    *,
    levels: Sequence[str] | int,
    columns: str | None = None,
    limits: FileLimits = DEFAULT_LIMITS,
) -> QrelsFile:
    """Read a qrels file, which attribute sets may follow (`Memberships`). The whole file is held in memory.

    `levels` are the names of levels 1..h, lowest first, or h itself. `columns` is the layout, a key of `LAYOUTS`. If
    `columns` is None, the lines decide (see `Evidence.decide`).

    Raises:
        FaultyFile: with all faults of the file.
        TooLarge: a limit is exceeded.
        InvalidRequest: the layout does not exist.
    """
    scale = LevelNotation.of(levels)
    if columns is not None:
        if columns not in LAYOUTS:
            available = ", ".join(LAYOUTS)
            message = f"columns={columns[:60]!r} is not a layout of qrels without intents. Available: {available}"
            raise InvalidRequest.at("query.columns", "unknown-columns", message)
        return _read(Text(chunks, limits), scale, columns)
    taken: list[bytes] = []
    rest = iter(chunks)
    file, layout = _read_and_decide(Text(_note_chunks(rest, taken), limits), scale)
    return file or _read(Text(chain(taken, rest), limits), scale, layout)


def _read(text: Text, scale: LevelNotation, layout: str) -> QrelsFile:
    judging = _Judging(layout, scale, text.faults)
    behind: list[Block] = []
    for table in _read_tables(text, behind):
        judging.add(table)
    return judging.file(text, read_memberships(text, behind))


def _read_and_decide(text: Text, scale: LevelNotation) -> tuple[QrelsFile | None, str]:
    """Read the file in TREC's layout, as almost every file is, while its lines decide which layout it has.

    Return the file if it is in TREC's layout, and the layout. Reading ends early when the file is too faulty for every
    layout. Raises FaultyFile or TooLarge.
    """
    evidence = Evidence(scale)
    # Faults in TREC's layout count only if the file turns out to have that layout, so they are noted apart.
    judging: _Judging | None = _Judging("trec", scale, Faults(text.faults.most))
    behind: list[Block] = []
    for table in _read_tables(text, behind):
        evidence.add(table.columns)
        try:
            if judging:
                judging.add(table)
        except FaultyFile:
            # Too faulty for TREC's layout. The file may still be fine in another one, so its lines are still counted.
            judging = None
        if not judging and evidence.are_all_faulty(text.faults.most):
            break
    if not (layout := evidence.decide(text.has_beir_header)):
        text.faults.add("ambiguous-columns", _AMBIGUOUS + cause_by_intent(evidence.example))
        raise text.faults.error()
    if layout != "trec" or not judging:
        return None, layout
    text.faults.join(judging.faults)
    return judging.file(text, read_memberships(text, behind)), layout


def _read_tables(text: Text, behind: list[Block]) -> Iterator[LineTable]:
    for block in text.blocks():
        if (judged := split_off(block, behind)).count:
            yield from text.tables(judged)


def _note_chunks(chunks: Iterable[bytes], taken: list[bytes]) -> Iterator[bytes]:
    """Yield the chunks, and append each chunk to `taken`, so that the file can be read again."""
    for chunk in chunks:
        taken.append(chunk)
        yield chunk


@dataclass(slots=True)
class _Judged:
    """The judgments of one topic in the order of the file: documents (a line feed after each), levels, line numbers.

    All are bytes: a level takes one, a line number eight. `seconds` has a byte for each token of TREC's second column,
    and `strata` one for each stratum.
    """

    documents: bytearray = field(default_factory=bytearray)
    levels: bytearray = field(default_factory=bytearray)
    seconds: bytearray = field(default_factory=bytearray)
    numbers: bytearray = field(default_factory=bytearray)
    strata: bytearray = field(default_factory=bytearray)


class _Judging:
    """The judgments of a file in one layout, added table by table and packed at once, because tokens take much room."""

    def __init__(self, layout: str, scale: LevelNotation, faults: Faults) -> None:
        self.faults = faults
        self._name, self._layout, self._scale = layout, LAYOUTS[layout], scale
        self._is_empty = True
        self._topics: dict[bytes, _Judged] = {}
        self._level_bytes: dict[bytes, int] = {}
        self._second_bytes: dict[bytes, int] = {}

    def add(self, table: LineTable) -> None:
        """Add lines, and note those that are at fault. Raises FaultyFile if there are too many."""
        self._is_empty = False
        table = self._keep_well_shaped(table)
        if table.numbers.size:
            table = self._keep_known_levels(table)
        if not table.numbers.size:
            return
        topics, documents, tokens = self._columns(table)
        levels, seconds = bytes(map(self._level_bytes.__getitem__, tokens)), self._number_seconds(table)
        column = self._layout.stratum
        strata = b"" if column is None else bytes(map(int, table.columns[column]))
        start = 0
        for topic, length in topic_lengths(topics):
            stretch = slice(start, start + length)
            judged = self._topics.setdefault(topic, _Judged())
            judged.documents += b"\n".join(documents[stretch]) + b"\n"
            judged.levels += levels[stretch]
            judged.seconds += seconds[stretch]
            judged.strata += strata[stretch]
            judged.numbers += table.numbers[stretch].tobytes()
            start += length

    def file(self, text: Text, sets: Sequence[Memberships]) -> QrelsFile:
        """Return the whole file. Raises FaultyFile if it has faults, or no judgments."""
        if self._is_empty and not text.faults:
            text.faults.add("empty-file", "The file has no judgments. A judgment is a line such as: 51 0 doc-17 1")
        topics: dict[str, PackedTopic] = {}
        strata: dict[str, dict[bytes, int]] = {}
        repeated = unsampled = 0
        for topic, judged in self._topics.items():
            packed = PackedTopic(bytes(judged.documents), bytes(judged.levels))
            documents = packed.documents.split(b"\n")[:-1]
            if again := len(documents) - len(set(documents)):
                repeated += again
                self._note_conflicts(topic, documents, judged, text.faults)
                # Unpacking keeps one of the equal judgments, and is needed for repetitions alone.
                packed = packed if text.faults else PackedTopic.of(packed.unpacked())
            if self._layout.stratum is not None and not text.faults:
                strata[topic.decode()] = dict(zip(documents, judged.strata, strict=True))
                levels = packed.unpacked()
                packed = PackedTopic.of({document: level for document, level in levels.items() if level >= 0})
                unsampled += len(levels) - len(packed.levels)
            topics[topic.decode()] = packed
        if text.faults:
            raise text.faults.error()
        warnings = text.warnings(self._layout.widths)
        if repeated:
            warnings.append(FileWarning("repeated-judgment", "Documents judged again at the same level", repeated))
        if unsampled:
            message = (
                "Documents of the pool were not sampled (level -1). xinfAP, infNDCG and iP use them; for other metrics "
                "they are unjudged"
            )
            warnings.append(FileWarning("unsampled-documents", message, unsampled))
        if self._layout.level is None:
            message = "The file has no levels, as MS MARCO's qrels of two columns. Each document counts as level 1"
            warnings.append(FileWarning("no-levels", message, sum(len(topic.levels) for topic in topics.values())))
        if without := {topic for each in sets for topic in each.vectors if topic not in topics}:
            message = "Topics with memberships but without judgments. They do not count"
            warnings.append(FileWarning("ignored-memberships", message, len(without)))
        message = "An attribute set has no memberships on judged topics, so that GFR leaves it out"
        warnings += [FileWarning("no-memberships", message) for of in sets if of.vectors.keys().isdisjoint(topics)]
        return QrelsFile(PackedJudgments(topics), self._name, warnings, strata, sets)

    def _columns(self, table: LineTable) -> tuple[list[bytes], list[bytes], list[bytes]]:
        """Return the topics, the documents and the tokens of the levels."""
        level = self._layout.level
        levels = [b"1"] * len(table.numbers) if level is None else table.columns[level]
        return table.columns[0], table.columns[self._layout.document], levels

    def _number_seconds(self, table: LineTable) -> bytes:
        """Return a byte for each line, which tells tokens of TREC's second column apart: the first 255 of them."""
        column = table.columns[1]
        if self._name != "trec":
            return bytes(len(column))
        if column.count(column[0]) == len(column):  # so in almost every file, and much faster
            return bytes([self._second_byte(column[0])]) * len(column)
        return bytes(map(self._second_byte, column))

    def _second_byte(self, token: bytes) -> int:
        if token not in self._second_bytes and len(self._second_bytes) < _SECONDS:
            self._second_bytes[token] = len(self._second_bytes)
        return self._second_bytes.get(token, _SECONDS)

    def _keep_well_shaped(self, table: LineTable) -> LineTable:
        """Return the lines that have the columns of the layout. Each other line is a fault."""
        width = len(table.columns)
        if width == 4 and 3 in self._layout.widths:
            # The column has few different tokens, so these are checked and not a million lines.
            wrong = {token for token in set(table.columns[3]) if self._layout.is_misshapen([b"", b"", b"", token])}
            if not wrong:
                return table
            at_fault = np.array([token in wrong for token in table.columns[3]])
        elif self._layout.is_misshapen([b""] * width):
            at_fault = np.ones(table.numbers.size, bool)
        else:
            return table
        example = [column[int(at_fault.argmax())] for column in table.columns]
        columns, cause = columns_in_words(width), cause_in_qrels(example)
        problem = f"the line has {columns}, which do not fit: {self._layout.columns}{cause}"
        for number in table.numbers[at_fault].tolist():
            self.faults.add("bad-columns", problem, number)
        return table.lines(~at_fault)

    def _keep_known_levels(self, table: LineTable) -> LineTable:
        """Return the lines whose level is on the scale, and whose stratum is a number. Each other line is a fault."""
        if (column := self._layout.stratum) is not None:
            known = np.array([token.isdigit() and len(token) < 3 for token in table.columns[column]])
            for at in (~known).nonzero()[0].tolist():
                topic, _, document, token = (values[at] for values in table.columns[:4])
                problem = f"stratum {quoted(token)} of document {quoted(document)} is not a whole number from 0 to 99"
                self.faults.add("bad-stratum", problem, int(table.numbers[at]), topic=topic)
            table = table.lines(known)
        topics, documents, tokens = self._columns(table)
        if RESERVED_TOPIC in topics and RESERVED_TOPIC not in self._topics:
            # Entered at once, so that the topic is one fault and not one for each table.
            self._topics[RESERVED_TOPIC] = _Judged()
            note_reserved(RESERVED_TOPIC, int(table.numbers[topics.index(RESERVED_TOPIC)]), self.faults)
        unknown = set()
        for token in set(tokens) - self._level_bytes.keys():
            level = self._layout.read(self._scale, token)
            if level is None:
                unknown.add(token)
            else:
                self._level_bytes[token] = level_byte(level)
        if not unknown:
            return table
        at_fault = np.array([token in unknown for token in tokens])
        for at in at_fault.nonzero()[0].tolist():
            problem = f"level {quoted(tokens[at])} of document {quoted(documents[at])} is not {self._describe_levels()}"
            problem += cause_of_level(tokens[at]) or self._cause_by_document(documents[at])
            self.faults.add("bad-level", problem, int(table.numbers[at]), topic=topics[at])
        return table.lines(~at_fault)

    def _note_conflicts(self, topic: bytes, documents: list[bytes], judged: _Judged, faults: Faults) -> None:
        """Note a fault for each line that gives a document another level than its first line does."""
        indexes = range(len(documents))
        # A later entry of a dictionary replaces an earlier one.
        first_place = dict(zip(reversed(documents), reversed(indexes), strict=True))
        first = np.fromiter(map(first_place.__getitem__, documents), np.int64, len(documents))
        levels = np.frombuffer(bytes(judged.levels), np.uint8)
        numbers = np.frombuffer(bytes(judged.numbers), np.int64)
        seconds = np.frombuffer(bytes(judged.seconds), np.uint8)
        strata = np.frombuffer(bytes(judged.strata) or bytes(len(levels)), np.uint8)

        def described(at: int) -> str:
            return f"level {int(levels[at]) - LEVEL_ZERO}" + (f" in stratum {strata[at]}" if judged.strata else "")

        for at in ((levels != levels[first]) | (strata != strata[first])).nonzero()[0].tolist():
            line, first_line = int(numbers[at]), int(numbers[first[at]])
            is_one_intent = seconds[at] == seconds[first[at]]
            advice = ". Keep one of the two lines" if is_one_intent else SECOND_COLUMN_DIFFERS
            problem = (
                f"document {quoted(documents[at])} has {described(at)} here, "
                f"but {described(first[at])} on line {first_line}"
                f"{self._cause_by_document(documents[at]) or advice}"
            )
            faults.add("conflicting-judgment", problem, first_line, line, topic=topic)

    def _cause_by_document(self, document: bytes) -> str:
        """Return a sentence if TREC's second column was read as a document, because the level is missing."""
        if self._name != "topic-document-level" or document not in (b"0", b"Q0"):
            return ""
        return f". Is the level missing? {quoted(document)} is TREC's second column, as in `51 0 doc-17 1`"

    def _describe_levels(self) -> str:
        numeric = f"an integer from {LOWEST_LEVEL} to {self._scale.highest}"
        if self._layout.read is LevelNotation.read_numeric:
            return numeric
        others = [token.decode() for token, level in self._scale.tokens.items() if token != b"L%d" % level]
        named = "one of " + ", ".join([*others, f"L0 to L{self._scale.highest}"])
        return f"{named}, or {numeric}" if self._layout.read is LevelNotation.read_either else named


MARK: Final = b"@attributes"
_NAME: Final = re.compile(rb"(?!all$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KINDS: Final = {b"nominal": False, b"ordinal": True}
_MOST_GROUPS: Final = 100
"""The most groups of all sets of a file together, because each document has a number for each of them in memory."""
_ROUNDING: Final = 0.001
"""The largest difference of a sum from 1, because files round: three groups of 0.333 are 0.999."""
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Memberships:
    """An attribute set: the share that each group should have, and the vectors of documents by topic and id.

        51 0 doc-17 1
        @attributes gender nominal 0.5 0.5
        51 doc-17 1 0
        51 doc-18 0.25 0.75

    A line that begins with `@attributes` opens a set: its name, `ordinal` or `nominal`, and its target. The lines
    behind it are its memberships: topic, document id, and a number for each group. A document need not be judged.
    """

    name: str
    is_ordinal: bool
    target: Vector
    vectors: dict[str, dict[bytes, Vector]] = field(default_factory=dict)

    def add(self, number: int, row: Sequence[bytes], first: dict[tuple[bytes, bytes], int], faults: Faults) -> None:
        """Add the vector of a line, or note its fault. `first` has the lines of documents before."""
        if not (groups := len(self.target)):
            return  # the set is at fault, so its groups are not known
        if len(row) != groups + 2:
            problem = f"the line has {len(row)} columns, but {self.name!r} has {groups} groups"
            faults.add("bad-columns", f"{problem}: topic, document id and {groups} numbers", number)
            return
        topic, document = row[:2]
        vector, problem = _read_vector(row[2:])
        if problem:
            problem = f"the memberships of document {quoted(document)}: {problem}"
            faults.add("bad-membership", problem, number, topic=topic)
        elif (before := first.setdefault((topic, document), number)) != number:
            problem = (
                f"document {quoted(document)} has memberships in {self.name!r} on line {before}. Keep one of the lines"
            )
            faults.add("repeated-membership", problem, before, number, topic=topic)
        else:
            self.vectors.setdefault(topic.decode(), {})[document] = vector


def split_off(block: Block, behind: list[Block]) -> Block:
    """Return the judgments of a block, and put what begins with a mark, or follows it, `behind` the judgments."""
    data = block.data
    at = 0 if behind else (b"\n" + data).find(b"\n" + MARK)
    if at < 0:
        return block
    lines = data.count(b"\n", 0, at)
    behind.append(Block(data[at:], block.numbers[lines:]))
    return Block(data[:at], block.numbers[:lines])


def read_memberships(text: Text, behind: Sequence[Block]) -> list[Memberships]:
    """Return the attribute sets behind the judgments of a text, and note their faults."""
    faults = text.faults
    sets: list[Memberships] = []
    groups = 0
    first: dict[tuple[bytes, bytes], int] = {}
    for number, row in (line for block in behind for line in text.rows(block)):
        if row[0] != MARK:
            sets[-1].add(number, row, first, faults)
            continue
        _, name, kind, *tokens = row if len(row) > 2 else (*row, b"", b"")
        target, problem = _read_vector(tokens)
        groups += len(tokens)
        if not _NAME.fullmatch(name) or kind not in _KINDS:
            problem = f"{quoted(name)}: a set has a name of letters, digits and `._-`, then `nominal` or `ordinal`"
        elif not problem and (len(target) < 2 or groups > _MOST_GROUPS):
            problem = f"has {len(target)} groups. A set has 2 or more, and all sets have at most {_MOST_GROUPS}"
        elif not problem and name.decode() in (each.name for each in sets):
            problem = f"{quoted(name)} is opened again. Give each set a name of its own"
        if problem:
            example = "@attributes gender nominal 0.5 0.5"
            faults.add("bad-attributes", f"the attribute set or its target: {problem}, as in `{example}`", number)
        sets.append(Memberships(name.decode(), _KINDS.get(kind, False), () if problem else target))
        first.clear()
    return sets


def _read_vector(tokens: Sequence[bytes]) -> tuple[Vector, str]:
    """Return numbers that add up to 1, and what is wrong with them, or an empty text."""
    values = [decimal(token) for token in tokens]
    vector = tuple(value for value in values if value is not None and 0 <= value <= 1)
    for token, value in zip(tokens, values, strict=True):
        if value is None or not 0 <= value <= 1:
            return vector, f"{quoted(token)} is not a number from 0 to 1"
    wrong = abs((total := sum(vector)) - 1) > _ROUNDING + 1e-9
    return vector, f"the numbers add up to {total:g}, and not to 1" if wrong else ""
