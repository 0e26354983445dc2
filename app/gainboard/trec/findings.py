"""Faults, warnings and limits of files. A file with faults is refused; a file with warnings is accepted.

A limit is an environment variable of the service, unless its text says otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from gainboard.errors import FAULTS_SHOWN, Fault, FaultyFile, TooLarge
from gainboard.trec.numbers import decimal, integer

MIB = 1 << 20
SHOWN_CHARACTERS = 60
RESERVED_TOPIC = b"all"


@dataclass(frozen=True)
class FileLimits:
    """Limits on one file. Each is an environment variable: `GAINBOARD_MAX_LINES` sets `lines`."""

    compressed_bytes: int = 256 * MIB
    """Bytes of a gzip or zstd body, as sent."""
    decompressed_bytes: int = 1024 * MIB
    """Bytes of the decompressed file."""
    lines: int = 20_000_000
    """Lines of the file, including comments and blank lines."""
    topic_lines: int = 1_000_000
    """Lines of one topic of a run. All lines of a topic are in memory at once."""
    topics: int = 100_000
    """Topics of a run. A collection may allow fewer: see `evaluation.runs`."""
    line_bytes: int = 4096
    """Bytes of one line, without its line feed."""
    ratio: int = 200
    """Decompressed bytes for each byte sent, beyond the first `ratio_after` bytes."""
    ratio_after: int = MIB
    """Decompressed bytes that any body may have. No setting."""
    skipped_lines: int = 100_000
    """Blank lines and comments that a file may have beyond its lines of data, at any point. No setting."""
    faults: int = 1000
    """Faults after which the rest of a file is not read. No setting."""

    def exceeded(self, limit: str, what: str) -> TooLarge:
        """Return the error for the field `limit`. `what` is the beginning of its sentence, up to the number."""
        setting = f"GAINBOARD_MAX_{limit.upper()}"
        bound: int = getattr(self, limit)
        return TooLarge(f"{what} {bound:,} (the server's limit {setting})", limit=bound, setting=setting)


DEFAULT_LIMITS = FileLimits()


@dataclass(frozen=True, slots=True)
class FileWarning:
    """A warning about a file that was accepted. `count` is the number of lines or topics concerned.

    `is_slight` tells that the warning concerns less than a percent of the file, so that a command that reads many files
    may sum it up.
    """

    code: str
    message: str
    count: int | None = None
    is_slight: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the warning as a JSON object for an answer."""
        shown = {"code": self.code, "message": self.message, "count": self.count}
        return {key: value for key, value in shown.items() if value is not None}


def shorten(token: bytes | str) -> str:
    """Return a token as text for a message, cut to 60 characters."""
    # The fault may be that it is not UTF-8.
    text = token if isinstance(token, str) else token.decode(errors="replace")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 1] + "…"


def quoted(token: bytes | str) -> str:
    """Return a token in quotes, with invisible and reordering characters escaped."""
    return repr(shorten(token))


class Faults:
    """The faults of one file: their total, and the first faults in line order.

    The order in which faults are added does not change the error. The fault number `most` raises the error at once:
    each fault costs time, and nobody reads more of them. Successive lines with the same fault are shown as one.
    """

    def __init__(self, most: int) -> None:
        self.total = 0
        self.most = most
        self._kept: list[Fault] = []

    def __bool__(self) -> bool:
        return self.total > 0

    def add(self, code: str, message: str, *lines: int, topic: bytes | None = None) -> None:
        """Note a fault. If there are two `lines`, the second is at fault and repeats the first; 0 is an unknown one.

        Raises FaultyFile for the fault number `most`.
        """
        self.total += 1
        lines = tuple(line for line in lines if line > 0)
        self._kept.append(
            Fault(
                code,
                message,
                line=lines[-1] if lines else None,
                topic=None if topic is None else shorten(topic),
                lines=lines if len(lines) > 1 else None,
            )
        )
        if self.total >= self.most:
            raise FaultyFile(self.first(), self.total, is_minimum=True)

    def join(self, others: Faults) -> None:
        """Add the faults of another reading of the same file.

        Raises FaultyFile if there are `most` faults then.
        """
        self.total += others.total
        self._kept += others._kept
        if self.total >= self.most:
            raise FaultyFile(self.first(), self.total, is_minimum=True)

    def first(self) -> list[Fault]:
        """Return the first faults in line order. Faults of the whole file come before all others."""
        shown: list[Fault] = []
        # Sorted here, because readers of whole columns and topics find faults in another order than that of the lines.
        for fault in sorted(self._kept, key=lambda fault: (fault.line or 0, fault.code)):
            if shown and _goes_on(shown[-1], fault):
                shown[-1] = replace(shown[-1], last_line=fault.line)
            else:
                shown.append(fault)
        return shown[:FAULTS_SHOWN]

    def error(self) -> FaultyFile:
        """Return the error that reports all faults."""
        return FaultyFile(self.first(), self.total)


def _goes_on(before: Fault, fault: Fault) -> bool:
    """Return whether the line after `before` has the same fault."""
    if fault.line is None or before.line is None:
        return False
    return (
        fault.line == (before.last_line or before.line) + 1
        and replace(before, line=fault.line, last_line=None) == fault
    )


def note_reserved(topic: bytes, line: int, faults: Faults) -> None:
    """Note a fault if the topic id, first used on `line`, is reserved for the service's answers."""
    if topic == RESERVED_TOPIC:
        problem = "topic id 'all' is reserved: in every answer, 'all' is the mean over topics. Rename the topic"
        faults.add("reserved-topic", problem, line, topic=topic)


MOST_INTENTS = 100
"""The most intents of a topic, because each of them is scored like a topic."""
BY_INTENT = "set `intents` of the collection, or use `--intents`"
SECOND_COLUMN_DIFFERS = f". If the second column names intents (subtopics), read the file by intent: {BY_INTENT}"
"""The likely cause of two judgments of a document that differ in level and in the second column."""
_NO_BREAK_SPACE = "\u00a0".encode()
_SEPARATORS = {b",": "commas", b";": "semicolons"}


def columns_in_words(count: int) -> str:
    """Return the number of columns as a message says it."""
    return "1 column" if count == 1 else f"{count} columns"


def cause_by_header(number: int, row: Sequence[bytes]) -> str:
    """Return a sentence if a line is the first of its file and has the names of columns, with a space before it."""
    if number > 1 or not row or any(decimal(token) is not None for token in row):
        return ""
    return ". The line looks like a header: leave it out"


_NAMES_OF_COLUMNS = frozenset(
    b"query queryid qid topic topicid topicno tid iter iteration q0 unused zero subtopic intent intentid "
    b"doc docid docno document documentid did corpus corpusid passage passageid pid url "
    b"rel relevance label level grade gain judgment judgement rating qrel value "
    b"rank position score sim similarity tag run runid runname runtag system name id no".split()
)
_BETWEEN_NAMES = re.compile(rb"[\s,;|]+")
_INSIDE_NAMES = bytes.maketrans(b"", b""), b"\"'`-_.#[]"


def names_of_columns(line: bytes) -> list[bytes]:
    """Return the names in a line if it is a header, in lower case and without signs; empty for a line of data.

    Names of columns are at least two, and half of the words. No word is a number but TREC's second column, 0.
    """
    words = [word.lower().translate(*_INSIDE_NAMES) for word in _BETWEEN_NAMES.split(line.strip()) if word]
    names = [word for word in words if word in _NAMES_OF_COLUMNS]
    # trec_eval's text has lines such as `runid all run`, which are data.
    numbers = [word for index, word in enumerate(words) if decimal(word) is not None and (index, word) != (1, b"0")]
    is_header = len(names) >= len(words) / 2 and len(set(names)) > 1 and b"all" not in words and not numbers
    return words if is_header else []


def cause_in_run(row: Sequence[bytes]) -> str:
    """Return a sentence on why a line of a run may not have six columns, with a space before it; empty if unknown."""
    if separator := _other_separator(row):
        return separator
    if len(row) in (3, 4) and integer(row[-1]) is not None:
        return ". It looks like a line of qrels: were the two files exchanged?"
    if len(row) == 5:
        return ". Is a column missing, such as Q0 or the run tag?"
    if len(row) > 6 and integer(row[3]) is not None and decimal(row[4]) is not None:
        return ". Is there a blank in the run tag? It must be one word"
    return ""


def cause_in_qrels(row: Sequence[bytes]) -> str:
    """Return a sentence on why a line of qrels may have the wrong columns, with a space before it; empty if unknown."""
    if separator := _other_separator(row):
        return separator
    if len(row) == 6 and decimal(row[4]) is not None:
        return ". It looks like a line of a run: were the two files exchanged?"
    if len(row) == 5 and integer(row[1]) is None and integer(row[2]) is not None and decimal(row[4]) is not None:
        return (
            ". It looks like a line of prels (topic, document, judgment, method, probability of inclusion), which are "
            "not supported: their metrics are estimated from a sample"
        )
    if len(row) == 5 and integer(row[3]) is not None and integer(row[4]) is not None:
        return (
            ". It looks like a line of qrels with a stratum, as for xinfAP. Write all lines of the file so, or none: "
            "?columns=trec-stratum"
        )
    if missing := cause_by_level(row):
        return missing
    if len(row) == 3 and integer(row[2]) is not None:
        return ". Is the second column missing, which is 0 in most files?"
    return cause_by_intent(row)


def lacks_level(row: Sequence[bytes]) -> bool:
    """Return whether a line of qrels ends after the document id, as in a template whose levels are to be filled in."""
    if len(row) != 3 or (integer(row[1]) is None and row[1].upper() != b"Q0"):
        return False
    return decimal(row[2]) is None or row[1].upper() in (b"0", b"Q0")


def cause_by_level(row: Sequence[bytes]) -> str:
    """Return a sentence if a line of qrels lacks its level, with a space before it; empty for other lines."""
    missing = ". The level is missing at the end of the line: write it, as in `51 0 doc-17 1`"
    return missing if lacks_level(row) else ""


def cause_of_level(token: bytes) -> str:
    """Return a sentence on a number or a sign in place of a level, with a space before it; empty for other tokens."""
    if not any(map(str.isalnum, token.decode(errors="replace"))):
        return ". The level is missing: write it in this place, as in `51 0 doc-17 1`"
    value = decimal(token)
    if value is None or integer(token) is not None:
        return ""
    is_whole = value.is_integer() and abs(value) < 128  # levels fit into a byte
    return f". Write it as {value:.0f}" if is_whole else ". A level is a whole number: round or rescale it"


def cause_by_intent(row: Sequence[bytes]) -> str:
    """Return a sentence if a line of qrels looks like the probability of an intent, with a space before it.

    1.0 is no such line: levels of BEIR's files are written so.
    """
    has_intent = len(row) == 3 and (intent := integer(row[1])) is not None and 0 <= intent <= MOST_INTENTS
    probability = decimal(row[2]) if has_intent else None
    if probability is None or not 0 < probability < 1:
        return ""
    return f". It looks like the probability of an intent. To read qrels by intent, {BY_INTENT}"


def _other_separator(row: Sequence[bytes]) -> str:
    if any(_NO_BREAK_SPACE in column for column in row):
        return ". It has a no-break space (U+00A0), which separates nothing: replace it by a space"
    for separator, name in _SEPARATORS.items():
        if len(row) < 3 and sum(column.count(separator) for column in row) >= 2:
            return f". Separate the columns by spaces or tabs, not by {name}"
    return ""
