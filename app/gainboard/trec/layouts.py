"""The layouts of qrels files: the order of their columns, and how they write relevance levels."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gainboard.trec.numbers import integer

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

    def numeric(self, token: bytes) -> int | None:
        """Read a level in TREC's notation: an integer from -127 to the highest level. Return None for another token.

        Levels below 0 mean judged, but not on the scale of relevance.
        """
        level = integer(token)
        return level if level is not None and LOWEST_LEVEL <= level <= self.highest else None

    def named(self, token: bytes) -> int | None:
        """Read a level in NTCIR's notation. Return None for an unknown token."""
        return self.tokens.get(token)


@dataclass(frozen=True)
class Layout:
    """A layout of qrels lines: the columns of the document id and of the level, and the level's notation."""

    columns: str
    widths: tuple[int, ...]
    document: int
    level: int
    read: Callable[[LevelNotation, bytes], int | None]
    fits: Callable[[LevelNotation, Row], bool]
    """Tells whether a line is evidence for this layout. A line of four columns fits at most one layout."""

    def misshapen(self, row: Row) -> bool:
        """Return whether the row lacks the columns of this layout. Its level is not checked."""
        return len(row) not in self.widths or (3 in self.widths and not _flag_at_most(row))

    def count_faulty(self, scale: LevelNotation, rows: Sequence[Row]) -> int:
        """Count the rows that are faults in this layout, whatever other rows say."""
        if set(map(len, rows)) == {self.widths[0]}:
            # Such rows have few distinct levels. Almost always all of them can be read.
            levels = Counter([row[self.level] for row in rows])
            return sum(count for level, count in levels.items() if self.read(scale, level) is None)
        return sum(self.misshapen(row) or self.read(scale, row[self.level]) is None for row in rows)


def _flag_at_most(row: Row) -> bool:
    return row[3:] in ([], [b"0"], [b"1"])


def _level_second(scale: LevelNotation, row: Row) -> bool:
    # An integer in the second of four columns is TREC's iteration, even if the levels have the names 0, 1, 2.
    named = len(row) > 2 and row[1] in scale.tokens
    return named and (len(row) == 3 or (_flag_at_most(row) and integer(row[1]) is None))


def _level_third(scale: LevelNotation, row: Row) -> bool:
    return len(row) == 3 and row[2] in scale.tokens


def _level_fourth(scale: LevelNotation, row: Row) -> bool:
    return len(row) == 4 and integer(row[3]) is not None and not _level_second(scale, row)


LAYOUTS = {
    "trec": Layout("topic, iteration, document id, level", (4,), 2, 3, LevelNotation.numeric, _level_fourth),
    "topic-document-level": Layout("topic, document id, level", (3,), 1, 2, LevelNotation.named, _level_third),
    "topic-level-document": Layout(
        "topic, level, document id, optionally 0 or 1", (3, 4), 2, 1, LevelNotation.named, _level_second
    ),
}


def _evidence(scale: LevelNotation, row: Row) -> tuple[bytes, ...]:
    """Return the row without its ids. It fits the same layouts, and most rows of a file are alike then."""
    if len(row) == 4:
        return b"", row[1], b"", row[3]
    if len(row) == 3:
        return b"", row[1] if row[1] in scale.tokens else b"", row[2] if row[2] in scale.tokens else b""
    return ()


def decide_layout(rows: Sequence[Row], scale: LevelNotation) -> str | None:
    """Return the layout that most lines fit, so that a few bad lines are reported as faults of these lines.

    Return None if two layouts fit the same number of lines. If no line fits a layout, return None when most lines have
    three columns, and else TREC's layout.
    """
    evidence = Counter([_evidence(scale, row) for row in rows])
    fitting = {
        name: sum(count for row, count in evidence.items() if layout.fits(scale, list(row)))
        for name, layout in LAYOUTS.items()
    }
    best, *others = sorted(fitting, key=fitting.__getitem__, reverse=True)
    if not fitting[best]:
        return None if 2 * sum(len(row) == 3 for row in rows) > len(rows) else "trec"
    return None if fitting[best] == fitting[others[0]] else best
