"""The lines of a run or qrels file: where they end, which of them are skipped, and their columns.

Lines end in LF or CRLF. Spaces and tabs separate columns. No other character is white space. `Text.rows` defines the
format, line by line. `Text.table` is faster: it reads a block of ordinary lines at once, with the same result. It may
refuse a block that `rows` can read, and it refuses every block that `rows` cannot read. `Text.tables` reads any block.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import compress, groupby
from operator import contains
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import TooLarge
from gainboard.trec.bodies import LOOKED_AT, note_other_format
from gainboard.trec.findings import Faults, FileLimits, FileWarning, names_of_columns, quoted

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SKIPPED = (b"#", b"<SYSDESC>")  # NTCIR's runs begin with a description of the system
_OF_BEIR = ([b"queryid", b"qid"], [b"corpusid"], [b"score"])
"""The names of columns in BEIR's files, without signs. A header of them is skipped."""
EVERY_LINE = range(1, sys.maxsize)  # a range, because its slices take no memory
BLOCK = 1 << 15  # the tokens of a block should fit in the processor's cache, even if other programs use it too

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_VALUE = re.compile(rb"L?[+-]?[0-9]*\.?[0-9]+\.?(?:[eE][+-]?[0-9]+)?")
_FEW_LINES = 32  # so few lines are read one by one, at the cost of a table
_LINE_END = b" \x00 "  # becomes a separate token, which no valid line contains


class LineTable(NamedTuple):
    """Lines of equal width, column by column, with their line numbers (int64 [lines])."""

    numbers: NDArray[np.int64]
    columns: list[list[bytes]]

    def lines(self, kept: NDArray[np.bool_]) -> LineTable:
        """Return the lines for which `kept`, bool [lines], is true."""
        return LineTable(self.numbers[kept], [list(compress(column, kept)) for column in self.columns])


@dataclass(frozen=True, slots=True)
class Block:
    """Complete lines of a file: their bytes, and their line numbers. All lines end in LF."""

    data: bytes
    numbers: Sequence[int]

    @property
    def count(self) -> int:
        return len(self.numbers)

    def halves(self) -> tuple[Block, Block]:
        """Return the block in two parts of about equal size. The block must have two lines or more."""
        # The last line feed (-1) is no place to cut: the second part would be empty.
        middle = self.data.find(b"\n", len(self.data) // 2, -1) + 1 or self.data.rindex(b"\n", 0, -1) + 1
        count = _count(self.data[:middle], b"\n")
        return Block(self.data[:middle], self.numbers[:count]), Block(self.data[middle:], self.numbers[count:])


class Text:
    """A file as blocks of lines, read once. Faults and warnings about its form are noted while reading.

    `numbers` are the line numbers, if the chunks are some lines of a file. `faults` are those found in other lines.
    """

    def __init__(
        self,
        chunks: Iterable[bytes],
        limits: FileLimits,
        numbers: Sequence[int] = EVERY_LINE,
        faults: Faults | None = None,
    ) -> None:
        self._chunks = chunks
        self._limits = limits
        self._numbers = numbers
        self._byte_order_mark = self._no_final_newline = self._tabs = self._spaces = self.has_beir_header = False
        self._crlf = self._blank = 0
        self._header_line = 0
        """The number of the line that is a header; 0 if there is none."""
        self._excess = 0  # of skipped lines over lines of data
        self._commented: dict[int, tuple[str, int]] = {}
        """The first comment that looks like data, and the number of such comments, by number of columns."""
        self.faults = Faults(limits.faults) if faults is None else faults

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks of the file in order. Raises TooLarge for too many lines or a line that is too long."""
        lines = 0
        for data, count in self._split_whole_lines():
            before, lines = lines, lines + count
            if lines > self._limits.lines:
                raise self._limits.exceeded("lines", "The file has more lines than")
            # Jump ahead by at most the limit to the last line feed in reach. A line is too long if none is in reach.
            stop = 0
            while stop < len(data):
                start = stop
                stop = data.rfind(b"\n", start, start + self._limits.line_bytes + 1) + 1
                if not stop:
                    raise self._too_long(before + _count(data[:start], b"\n"))
            yield Block(data, self._numbers[before:lines])

    def rows(self, block: Block) -> Iterator[tuple[int, list[bytes]]]:
        """Yield the number and the columns of each line with data. Unreadable lines become faults.

        Raises TooLarge if too many lines were skipped.
        """
        # Not `splitlines`, which also ends a line at a lone carriage return.
        lines = block.data[:-1].split(b"\n")
        if ordinary := self._split_ordinary_rows(block, lines):
            yield from zip(block.numbers, ordinary, strict=True)
            return
        for number, line in zip(block.numbers, lines, strict=True):
            if columns := self._read_columns(number, line):
                yield number, columns

    def _split_ordinary_rows(self, block: Block, lines: list[bytes]) -> list[list[bytes]] | None:
        """Return the columns of all lines; None if a line must be looked at by itself. This takes a third of the time.

        A file with one fault among a million lines is read line by line, and should cost little more than a valid file.
        """
        if self._has_header(block) or not _is_ordinary(block.data, block.count):
            return None
        rows = [line.split() for line in lines]
        if not all(rows):
            return None
        self._excess -= block.count
        self._note_separators(block.data)
        return rows

    def table(self, block: Block, width: int) -> list[bytes] | None:
        """Return the tokens of all lines, `width + 1` for each line; None unless every line has `width` columns.

        The last token of a line marks its end. Column `c` is therefore the slice `[c :: width + 1]`.
        """
        data = block.data
        if self._has_header(block):
            return None
        if crlf := data.count(b"\r\n") if b"\r" in data else 0:
            data = data.replace(b"\r\n", b"\n")
        if not _is_ordinary(data, block.count):
            return None
        tokens = data.replace(b"\n", _LINE_END).split()
        ends = tokens[width :: width + 1]
        if len(tokens) != (width + 1) * block.count or ends.count(b"\x00") != block.count:
            return None
        self._crlf += crlf
        self._excess -= block.count
        self._note_separators(data)
        return tokens

    def tables(self, block: Block) -> Iterator[LineTable]:
        """Yield all lines with data of a block. Unreadable lines become faults.

        Raises TooLarge if too many lines were skipped.
        """
        width = len(block.data[: block.data.index(b"\n")].split())
        if tokens := self.table(block, width) if width else None:
            lines = block.numbers
            numbers = np.arange(lines.start, lines.stop) if isinstance(lines, range) else np.array(lines, np.int64)
            yield LineTable(numbers, [tokens[column :: width + 1] for column in range(width)])
        elif block.count > _FEW_LINES:
            # Few blocks have odd lines, and these have few of them. The rest of such a block is read fast, too.
            for half in block.halves():
                yield from self.tables(half)
        else:
            for _, alike in groupby(self.rows(block), key=lambda line: len(line[1])):
                line_numbers, rows = zip(*alike, strict=True)
                yield LineTable(np.array(line_numbers, np.int64), list(map(list, zip(*rows, strict=True))))

    def warnings(self, widths: Collection[int]) -> list[FileWarning]:
        """Return the warnings about the form of a file whose data have so many columns. Call this after reading it."""
        commented = [self._commented[width] for width in sorted(widths) if width in self._commented]
        example = f", first on {commented[0][0]}" if commented else ""
        remarks = {
            "byte-order-mark": (self._byte_order_mark, "The file begins with a byte order mark"),
            "crlf": (self._crlf, "Lines end in CRLF"),
            "no-final-newline": (self._no_final_newline, "The last line does not end in a line feed"),
            "mixed-whitespace": (self._tabs and self._spaces, "Columns are separated by tabs and by spaces"),
            "blank-lines": (self._blank, "Blank lines were skipped"),
            "header": (self.has_beir_header, "The first line has the names of BEIR's columns, and was skipped"),
            "commented-data": (
                sum(count for _, count in commented),
                "Lines that begin with # or <SYSDESC> are comments and were skipped, but some have the columns of "
                f"data{example}. If their topics should count, give them other names in all files",
            ),
        }
        return [
            FileWarning(code, message, None if seen is True else seen)
            for code, (seen, message) in remarks.items()
            if seen
        ]

    def _read_columns(self, number: int, line: bytes) -> list[bytes]:
        if line.endswith(b"\r"):
            self._crlf += 1
            line = line[:-1]
        if line.startswith(SKIPPED):
            self._note_skipped()
            columns = line.split()
            # A mark by itself begins prose, unless the column that is the same in almost every file follows.
            is_prose = columns[0] in SKIPPED and columns[1:2] not in ([b"Q0"], [b"0"])
            value = columns[4] if len(columns) == 6 else columns[-1]  # a run's score, or a level
            # Without the mark this would be a line of data, which the file may miss.
            if not is_prose and len(columns) > 2 and _VALUE.fullmatch(value) and unreadable(line) is None:
                example, count = self._commented.get(len(columns), (f"line {number}: {quoted(line)}", 0))
                self._commented[len(columns)] = example, count + 1
            return []
        if problem := unreadable(line):
            self._excess -= 1
            self.faults.add("bad-encoding", problem, number)
            return []
        columns = line.split()
        if number == self._header_line:
            names = names_of_columns(line)
            self.has_beir_header = len(columns) == len(names) == 3 and all(map(contains, _OF_BEIR, names))
            if not self.has_beir_header:
                shown = " and ".join(map(quoted, columns[:2]))
                problem = f"line {number} is a header: remove it. {shown} are names of columns, and no data"
                self.faults.add("bad-header", problem, number)
            return []
        if columns:
            self._excess -= 1
            self._note_separators(line)
        else:
            self._blank += 1
            self._note_skipped()
        return columns

    def _has_header(self, block: Block) -> bool:
        return self._header_line > 0 and self._header_line in block.numbers

    def _note_skipped(self) -> None:
        self._excess += 1
        # A skipped line says nothing and compresses to almost nothing, but reading it costs as much as any other.
        if self._excess > (most := self._limits.skipped_lines):
            raise TooLarge(
                f"The file has more than {most:,} blank lines and comments beyond its lines of data", limit=most
            )

    def _note_separators(self, data: bytes) -> None:
        self._tabs = self._tabs or b"\t" in data
        self._spaces = self._spaces or b" " in data

    def _split_whole_lines(self) -> Iterator[tuple[bytes, int]]:
        """Yield the file in pieces that end in a line feed, and the number of lines of each."""
        rest, lines = b"", 0
        for piece in self._strip_mark():
            end = piece.rfind(b"\n") + 1
            if end:
                whole = rest + piece[:end]
                count = _count(whole, b"\n")
                lines += count
                yield whole, count
                rest = b""
            rest += piece[end:]
            # Checked before the line feed comes: a file without any must not fill the memory.
            if len(rest) > self._limits.line_bytes:
                raise self._too_long(lines)
        if rest:
            self._no_final_newline = True
            yield rest + b"\n", 1

    def _strip_mark(self) -> Iterator[bytes]:
        pieces = (chunk[at : at + BLOCK] for chunk in self._chunks for at in range(0, len(chunk), BLOCK))
        head = b""
        for piece in pieces:
            head += piece
            if len(head) >= LOOKED_AT:
                break
        self._byte_order_mark = head.startswith(BYTE_ORDER_MARK)
        head = head.removeprefix(BYTE_ORDER_MARK)
        if self._numbers is EVERY_LINE:  # else it is a piece of a file
            note_other_format(head, self.faults)
            self._header_line = header_line(head)
        yield head
        yield from pieces

    def _too_long(self, before: int) -> Exception:
        """Return the error for the line after so many."""
        return self._limits.exceeded("line_bytes", f"Line {self._numbers[before]} has more bytes than")


def header_line(head: bytes) -> int:
    """Return the number of the first line with data at the beginning of a file if it is a header, else 0."""
    for number, line in enumerate(BytesIO(head), start=1):
        if line.strip() and not line.startswith(SKIPPED):
            return number if names_of_columns(line) else 0
    return 0


def unreadable(line: bytes) -> str | None:
    """Return why the line is not valid text, or None if it is."""
    if control := _CONTROL.search(line):
        hint = ". Is the file UTF-16? Save it as UTF-8" if control.group() == b"\0" else ""
        code, position = control.group()[0], control.start() + 1
        return f"control character U+{code:04X} at byte {position} of the line: tab is the only one allowed{hint}"
    if (at := _undecodable(line)) is not None:
        return f"byte 0x{line[at]:02X} at byte {at + 1} of the line is not valid UTF-8. Save the file as UTF-8"
    return None


def _undecodable(data: bytes) -> int | None:
    """Return the offset of the first byte that is not valid UTF-8, or None."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _is_ordinary(data: bytes, lines: int) -> bool:
    """Return whether all of so many lines are valid text and none is skipped, as `rows` checks for each line.

    Lines must end in LF, not in CRLF.
    """
    tabs = _count(data, b"\t") if b"\t" in data else 0  # most files have none, which is found seven times as fast
    if np.count_nonzero(np.frombuffer(data, np.uint8) < 0x20) != lines + tabs or b"\x7f" in data:
        return False
    # A byte is found ten times as fast as several.
    if any(mark[:1] in data and b"\n" + mark in b"\n" + data for mark in SKIPPED):
        return False
    return data.isascii() or _undecodable(data) is None


def _count(data: bytes, character: bytes) -> int:
    # `bytes.count` of one character takes a tenth of the time of reading; this takes a hundredth.
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(character)))
