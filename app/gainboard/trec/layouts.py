"""The layouts of qrels files: the order of their columns, and how they write relevance levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from gainboard.trec.findings import cause_by_intent, lacks_level
from gainboard.trec.numbers import decimal, integer

LOWEST_LEVEL = -127
Row = list[bytes]


@dataclass(frozen=True)
class LevelNotation:
    """The notation of a collection's relevance levels: the highest level, and NTCIR's tokens for each level.

    NTCIR's tokens are `L0`, `L1`, ... and the names of the levels. C and D, which early NTCIR used for judged
    nonrelevant documents, are level 0 unless the collection has levels with these names.
    """

    highest: int
    tokens: Mapping[bytes, int]

    @classmethod
    def of(cls, levels: Sequence[str] | int) -> LevelNotation:
        """Return the notation for level names (of levels 1..h, lowest first) or for a highest level h."""
        names = [] if isinstance(levels, int) else levels
        highest = levels if isinstance(levels, int) else len(levels)
        numbered = {b"L%d" % level: level for level in range(highest + 1)}
        others = numbered | {b"C": 0, b"D": 0}
        named = {name.encode(): level for level, name in enumerate(names, start=1)}
        # The collection's own names come first, because messages list the tokens in this order.
        return cls(highest, named | {token: level for token, level in others.items() if token not in named})

    def read_numeric(self, token: bytes) -> int | None:
        """Read a level in TREC's notation: an integer from -127 to the highest level. Return None for another token.

        Levels below 0 mean judged, but not on the scale of relevance.
        """
        level = integer(token)
        return level if level is not None and LOWEST_LEVEL <= level <= self.highest else None

    def read_named(self, token: bytes) -> int | None:
        """Read a level in NTCIR's notation. Return None for an unknown token."""
        return self.tokens.get(token)

    def read_either(self, token: bytes) -> int | None:
        """Read a level in NTCIR's notation, or else in TREC's. Return None for another token.

        Where a level's name is an integer, an integer is a name.
        """
        level = self.read_named(token)
        return self.read_numeric(token) if level is None and self._has_no_integers else level

    @cached_property
    def _has_no_integers(self) -> bool:
        return all(integer(token) is None for token in self.tokens)


@dataclass(frozen=True)
class Layout:
    """A layout of qrels lines: the columns of the document id and of the level, and the level's notation.

    Without a column of levels, each document has level 1.
    """

    columns: str
    widths: tuple[int, ...]
    document: int
    level: int | None
    read: Callable[[LevelNotation, bytes], int | None]
    fits: Callable[[LevelNotation, Row], bool]
    """Tells whether a line is evidence for this layout. A line of four columns fits at most one layout."""
    stratum: int | None = None
    """The column of the stratum of a sampled pool, whose documents below level 0 were not sampled."""

    def is_misshapen(self, row: Row) -> bool:
        """Return whether the row lacks the columns of this layout. Its level is not checked."""
        return len(row) not in self.widths or (3 in self.widths and not _flag_at_most(row))

    def is_faulty(self, scale: LevelNotation, row: Row) -> bool:
        """Return whether the row is a fault in this layout, whatever other rows say."""
        return self.is_misshapen(row) or (self.level is not None and self.read(scale, row[self.level]) is None)


def _flag_at_most(row: Row) -> bool:
    return row[3:] in ([], [b"0"], [b"1"])


def _level_second(scale: LevelNotation, row: Row) -> bool:
    # An integer in the second of four columns is TREC's iteration, even if the levels have the names 0, 1, 2.
    named = len(row) > 2 and row[1] in scale.tokens
    return named and (len(row) == 3 or (_flag_at_most(row) and integer(row[1]) is None))


def _level_third(scale: LevelNotation, row: Row) -> bool:
    # BEIR's files have integers there. Beside a level in the second column, an integer is a document.
    is_numeric = len(row) == 3 and scale.read_either(row[2]) is not None and not _level_second(scale, row)
    return len(row) == 3 and (row[2] in scale.tokens or is_numeric)


def _no_level(scale: LevelNotation, row: Row) -> bool:
    return len(row) == 2


def _level_fourth(scale: LevelNotation, row: Row) -> bool:
    return len(row) == 4 and integer(row[3]) is not None and not _level_second(scale, row)


LAYOUTS = {
    "trec": Layout("topic, iteration, document id, level", (4,), 2, 3, LevelNotation.read_numeric, _level_fourth),
    "topic-document-level": Layout("topic, document id, level", (3,), 1, 2, LevelNotation.read_either, _level_third),
    "topic-level-document": Layout(
        "topic, level, document id, optionally 0 or 1", (3, 4), 2, 1, LevelNotation.read_named, _level_second
    ),
    "topic-document": Layout("topic, document id", (2,), 1, None, LevelNotation.read_numeric, _no_level),
    "trec-stratum": Layout(
        *("topic, iteration, document id, stratum, level", (5,), 2, 4, LevelNotation.read_numeric),
        fits=lambda scale, row: len(row) == 5 and integer(row[3]) is not None and integer(row[4]) is not None,
        stratum=3,
    ),
}


def layout_at_fault(row: Row) -> str | None:
    """Return the layout of a line of three columns that fits none, if it is clear what is wrong with the line.

    The level may be missing, or a number that is no level, such as 1.0.
    """
    if lacks_level(row):
        return "trec"
    is_decimal = decimal(row[2]) is not None and integer(row[2]) is None
    return "topic-document-level" if is_decimal and not cause_by_intent(row) else None


class Evidence:
    """The counts of a file's lines that fit each layout, and of those that would be faults in it."""

    def __init__(self, scale: LevelNotation) -> None:
        self.example: Row = []
        """The first line of three columns."""
        self._scale = scale
        self._lines = self._of_three_columns = 0
        self._fitting = Counter(dict.fromkeys(LAYOUTS, 0))
        self._faulty = Counter(dict.fromkeys(LAYOUTS, 0))

    def add(self, columns: list[list[bytes]]) -> None:
        """Count lines of equal width, given column by column."""
        self._lines += (lines := len(columns[0]))
        if len(columns) == 3:
            self._of_three_columns += lines
            self.example = self.example or [column[0] for column in columns]
        for row, count in self._kinds(columns):
            for name, layout in LAYOUTS.items():
                self._fitting[name] += count * layout.fits(self._scale, row)
                self._faulty[name] += count * layout.is_faulty(self._scale, row)

    def are_all_faulty(self, most: int) -> bool:
        """Return whether at least `most` lines would be faults in each layout."""
        return min(self._faulty.values()) >= most

    def decide(self, is_of_beir: bool) -> str | None:
        """Return the layout that most lines fit, so that a few bad lines are reported as faults of these lines.

        Return None if two layouts fit the same number of lines. If no line fits a layout, return None when most lines
        have three columns that say nothing, and else the layout whose faults tell what is wrong. `is_of_beir` tells
        that the file has BEIR's header.
        """
        best, other = self._fitting.most_common(2)
        if best[1]:
            return None if best[1] == other[1] else best[0]
        if is_of_beir:
            return "topic-document-level"
        return layout_at_fault(self.example) if 2 * self._of_three_columns > self._lines else "trec"

    def _kinds(self, columns: list[list[bytes]]) -> Iterator[tuple[Row, int]]:
        """Yield rows without their ids, and the number of lines like each. Most lines of a file are alike then."""
        width, lines = len(columns), len(columns[0])
        if width == 5:
            pairs = Counter(zip(*columns[3:], strict=True)).items()
            yield from (([b"", b"", b"", *pair], count) for pair, count in pairs)
            return
        if width not in (3, 4):
            yield [b""] * width, lines
            return
        between = [b""] * (width - 3)
        last = columns[3] if width == 4 else self._levels(columns[2])
        if self._scale.tokens.keys().isdisjoint(columns[1]):
            for token, count in Counter(last).items():  # counts tokens in a third of the time of pairs
                yield [b"", b"", *between, token], count
            return
        for (second, token), count in Counter(zip(self._levels(columns[1]), last, strict=True)).items():
            yield [b"", second, *between, token], count

    def _levels(self, column: list[bytes]) -> list[bytes]:
        """Return the column with an empty token in place of each one that is not a level."""
        levels = {token for token in set(column) if self._scale.read_either(token) is not None}
        return [token if token in levels else b"" for token in column]
