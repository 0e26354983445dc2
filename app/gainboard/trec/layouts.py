"""The layouts of qrels files, how each writes a relevance level, and which layout a file has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from gainboard.trec.numbers import integer

LOWEST_LEVEL = -127
Row = list[bytes]


@dataclass(frozen=True)
class LevelNotation:
    """The relevance levels of a collection: the highest, and NTCIR's tokens for each (`L0`, `L1`, ..., names).

    C and D, early NTCIR's letters for judged nonrelevant, are level 0 unless the collection declares them.
    """

    highest: int
    tokens: Mapping[bytes, int]

    @classmethod
    def of(cls, levels: Sequence[str] | int) -> LevelNotation:
        """Return the notation of these level names, lowest first, or of this highest level."""
        names = [] if isinstance(levels, int) else levels
        highest = levels if isinstance(levels, int) else len(levels)
        numbered = {b"L%d" % level: level for level in range(highest + 1)}
        others = numbered | {b"C": 0, b"D": 0}
        named = {name.encode(): level for level, name in enumerate(names, start=1)}
        # The collection's own names come first, and so they do in messages.
        return cls(highest, named | {token: level for token, level in others.items() if token not in named})

    def numeric(self, token: bytes) -> int | None:
        """Read TREC's notation: an integer of the scale, or below 0 (judged, but as something else)."""
        level = integer(token)
        return level if level is not None and LOWEST_LEVEL <= level <= self.highest else None

    def named(self, token: bytes) -> int | None:
        """Read NTCIR's notation."""
        return self.tokens.get(token)


@dataclass(frozen=True)
class Layout:
    """Where a qrels line has its document id and its level, and how the level is written."""

    columns: str
    widths: tuple[int, ...]
    document: int
    level: int
    read: Callable[[LevelNotation, bytes], int | None]
    fits: Callable[[LevelNotation, Row], bool]
    """Whether a line is good evidence for this layout: no line is for two layouts of four columns."""

    def misshapen(self, row: Row) -> bool:
        """Whether the row has not the columns of this layout, whatever its level."""
        return len(row) not in self.widths or (3 in self.widths and not _flag_at_most(row))


def _flag_at_most(row: Row) -> bool:
    return row[3:] in ([], [b"0"], [b"1"])


def _level_second(scale: LevelNotation, row: Row) -> bool:
    # An integer in the second of four columns is TREC's iteration, even where levels are named 0, 1, 2.
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
        "topic, level, document id, perhaps 0 or 1", (3, 4), 2, 1, LevelNotation.named, _level_second
    ),
}


def decide_layout(rows: Sequence[Row], scale: LevelNotation) -> str | None:
    """Return the layout that most lines fit, so that a few bad lines are faults of those lines.

    If two layouts fit equally many, or no line fits any and most have three columns, nothing is decided.
    A file of which no line fits is otherwise held against TREC's layout.
    """
    fitting = {name: sum(map(partial(layout.fits, scale), rows)) for name, layout in LAYOUTS.items()}
    best, *others = sorted(fitting, key=fitting.__getitem__, reverse=True)
    if not fitting[best]:
        return None if 2 * sum(len(row) == 3 for row in rows) > len(rows) else "trec"
    return None if fitting[best] == fitting[others[0]] else best
