"""The lines of a run or qrels file: where they end, which are skipped, and how they fall into columns.

Lines end in LF or CRLF, columns are separated by spaces and tabs, and nothing else counts as white space.
`Text.rows` defines that, line by line. `Text.table` reads a block of ordinary lines in one go and hands back
everything else: it may refuse a block that `rows` would read, never the reverse, and never read it differently.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from gainboard.trec.findings import Faults, FileWarning, Limits

BYTE_ORDER_MARK = b"\xef\xbb\xbf"
SKIPPED = (b"#", b"<SYSDESC>")
BLOCK = 1 << 15  # the tokens of a block should fit in the processor's cache, also where others use it

_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_LINE_END = b" \x00 "  # becomes a token of its own, which no line can hold


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines of a file: their bytes, the last one ending in LF too, and the number of the first."""

    data: bytes
    first: int
    count: int

    @property
    def numbers(self) -> range:
        return range(self.first, self.first + self.count)


class Text:
    """A file as blocks of lines, read once, with all that is odd about its form noted on the way."""

    def __init__(self, chunks: Iterable[bytes], limits: Limits) -> None:
        self._chunks = chunks
        self._limits = limits
        self._byte_order_mark = self._no_final_newline = self._tabs = self._spaces = False
        self._crlf = self._blank = 0
        self.faults = Faults()

    def blocks(self) -> Iterator[Block]:
        """The file from beginning to end. Raises TooLarge for too many lines, or one that is too long."""
        first = 1
        for data in self._whole_lines():
            block = Block(data, first, _count(data, b"\n"))
            first += block.count
            if first > self._limits.lines + 1:
                raise self._limits.exceeded("lines", "The file has more lines than")
            self._check_lengths(data)
            yield block

    def rows(self, block: Block) -> Iterator[tuple[int, list[bytes]]]:
        """Each line that holds data: its number and its columns. Unreadable lines become faults."""
        lines = block.data[:-1].split(b"\n")
        for number, line in zip(block.numbers, lines, strict=True):
            if columns := self._columns(number, line):
                yield number, columns

    def table(self, block: Block, width: int) -> list[bytes] | None:
        """All columns of all lines, `width + 1` tokens a line, if every line has just so many; else None.

        The last token of a line marks its end. Column `c` is thus the slice `[c :: width + 1]`.
        """
        data = block.data
        if crlf := data.count(b"\r\n") if b"\r" in data else 0:
            data = data.replace(b"\r\n", b"\n")
        if not _is_ordinary(data):
            return None
        tokens = data.replace(b"\n", _LINE_END).split()
        ends = tokens[width :: width + 1]
        if len(tokens) != (width + 1) * block.count or ends.count(b"\x00") != block.count:
            return None
        self._crlf += crlf
        self._note_separators(data)
        return tokens

    def warnings(self) -> list[FileWarning]:
        """What was odd about the form of the file, once all of it was read."""
        found = {
            "byte-order-mark": (self._byte_order_mark, "The file begins with a byte order mark"),
            "crlf": (self._crlf, "Lines end in CRLF"),
            "no-final-newline": (self._no_final_newline, "The last line does not end in a line feed"),
            "mixed-whitespace": (self._tabs and self._spaces, "Columns are separated by tabs and by spaces"),
            "blank-lines": (self._blank, "Blank lines were skipped"),
        }
        return [
            FileWarning(code, message, None if seen is True else seen)
            for code, (seen, message) in found.items()
            if seen
        ]

    def _columns(self, number: int, line: bytes) -> list[bytes]:
        if line.endswith(b"\r"):
            self._crlf += 1
            line = line[:-1]
        if line.startswith(SKIPPED):
            return []
        if problem := _unreadable(line):
            self.faults.add("bad-encoding", problem, number)
            return []
        columns = line.split()
        if columns:
            self._note_separators(line)
        else:
            self._blank += 1
        return columns

    def _note_separators(self, data: bytes) -> None:
        self._tabs = self._tabs or b"\t" in data
        self._spaces = self._spaces or b" " in data

    def _whole_lines(self) -> Iterator[bytes]:
        rest = b""
        for piece in self._without_mark():
            end = piece.rfind(b"\n") + 1
            if end:
                yield rest + piece[:end]
                rest = b""
            rest += piece[end:]
            if len(rest) > self._limits.line_bytes:
                raise self._too_long()
        if rest:
            self._no_final_newline = True
            yield rest + b"\n"

    def _without_mark(self) -> Iterator[bytes]:
        pieces = (chunk[at : at + BLOCK] for chunk in self._chunks for at in range(0, len(chunk), BLOCK))
        head = b""
        for piece in pieces:
            head += piece
            if len(head) >= len(BYTE_ORDER_MARK):
                break
        self._byte_order_mark = head.startswith(BYTE_ORDER_MARK)
        yield head.removeprefix(BYTE_ORDER_MARK)
        yield from pieces

    def _check_lengths(self, data: bytes) -> None:
        # From line to line in steps of the limit: a line is too long if no line feed lies within a step.
        start = 0
        while start < len(data):
            start = data.rfind(b"\n", start, start + self._limits.line_bytes + 1) + 1
            if not start:
                raise self._too_long()

    def _too_long(self) -> Exception:
        return self._limits.exceeded("line_bytes", "A line has more bytes than")


def _unreadable(line: bytes) -> str | None:
    """Why the line is no text, if it is none."""
    if found := _CONTROL.search(line):
        hint = " (is the file UTF-16? It must be UTF-8)" if found.group() == b"\0" else ""
        return f"control character U+{found.group()[0]:04X} at byte {found.start() + 1}; only tabs are allowed{hint}"
    if (at := _undecodable(line)) is not None:
        return f"byte 0x{line[at]:02X} at byte {at + 1} is not UTF-8"
    return None


def _undecodable(data: bytes) -> int | None:
    """Where the data ceases to be UTF-8, if it does."""
    try:
        data.decode()
    except UnicodeDecodeError as error:
        return error.start
    return None


def _is_ordinary(data: bytes) -> bool:
    """Whether every line is text (LF alone ends lines) and none is skipped: what `rows` asks of each line."""
    below_space = np.count_nonzero(np.frombuffer(data, np.uint8) < 0x20)
    if below_space != _count(data, b"\n") + _count(data, b"\t") or b"\x7f" in data:
        return False
    if any(mark in data and b"\n" + mark in b"\n" + data for mark in SKIPPED):
        return False
    return data.isascii() or _undecodable(data) is None


def _count(data: bytes, character: bytes) -> int:
    # `bytes.count` of one character costs a tenth of the whole reading; this a hundredth
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(character)))
