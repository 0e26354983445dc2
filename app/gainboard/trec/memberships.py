"""Reading attribute sets behind the judgments of a qrels file: targets, and memberships of documents in groups.

    51 0 doc-17 1
    @attributes gender nominal 0.5 0.5
    51 doc-17 1 0
    51 doc-18 0.5 0.5

A line that begins with `@attributes` opens a set: its name, `ordinal` or `nominal`, and its target. The lines behind it
are its memberships: topic, document id, and a number for each group. A document need not be judged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from gainboard.trec.findings import Faults, FileLimits, quoted
from gainboard.trec.lines import Text
from gainboard.trec.numbers import decimal

MARK: Final = b"@attributes"
_OPENING: Final = b"\n" + MARK
_NAME: Final = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KINDS: Final = {b"nominal": False, b"ordinal": True}
_MOST_GROUPS: Final = 100
_MOST_SETS: Final = 50
_ROUNDING: Final = 0.001
"""The largest difference of a sum from 1, because files round: three groups of 0.333 are 0.999."""
Vector = tuple[float, ...]


@dataclass
class Memberships:
    """An attribute set: the groups of documents by topic and id, and the share that each group should have."""

    name: str
    is_ordinal: bool
    target: Vector
    vectors: dict[str, dict[bytes, Vector]] = field(default_factory=dict)


class JudgmentsThenSets:
    """A file that is read once, in two parts: `judgments`, to their end, and then `sets`."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._opening = b""
        self.lines = 0
        """The number of lines of the judgments that were read."""

    def judgments(self) -> Iterator[bytes]:
        """Yield the part before the first set."""
        # A line feed stands before the first line, and the last bytes are held back: a mark may go on behind them.
        held, shown = b"\n", 1
        for chunk in self._chunks:
            held += chunk
            at = held.find(_OPENING)
            end = at + 1 if at >= 0 else len(held) - len(_OPENING)
            if end > shown:
                self.lines += held.count(b"\n", shown, end)
                yield held[shown:end]
                held, shown = held[end:], 0
            if at >= 0:
                self._opening = held
                return
        yield held[shown:]

    def sets(self) -> Iterator[bytes]:
        """Yield the rest. It is empty without sets."""
        yield self._opening
        yield from self._chunks


def read_memberships(parts: JudgmentsThenSets, limits: FileLimits, faults: Faults) -> list[Memberships]:
    """Return the attribute sets of a file whose judgments were read before. Note its faults.

    Raises FaultyFile for too many faults, and TooLarge.
    """
    text = Text(parts.sets(), limits, range(parts.lines + 1, sys.maxsize), faults)
    sets: list[Memberships] = []
    names: dict[str, int] = {}
    firsts: dict[tuple[bytes, bytes], int] = {}
    for number, row in (line for block in text.blocks() for line in text.rows(block)):
        if row[0] == MARK:
            sets.append(_open_set(number, row, faults))
            firsts.clear()
            if (first := names.setdefault(sets[-1].name, number)) != number:
                problem = f"the attribute set {sets[-1].name!r} is opened again. Give each set a name of its own"
                faults.add("repeated-attributes", problem, first, number)
            if len(sets) > _MOST_SETS:
                faults.add("too-many-attributes", f"a file has at most {_MOST_SETS} attribute sets", number)
        elif sets[-1].target:  # the groups of a set that is at fault are not known
            _add_membership(number, row, sets[-1], firsts, faults)
    return sets


def _open_set(number: int, row: Sequence[bytes], faults: Faults) -> Memberships:
    _, name, kind, *target = (*row, b"", b"") if len(row) < 3 else row
    example = "write it as in `@attributes gender nominal 0.5 0.5`"
    if not _NAME.fullmatch(name) or name == b"all" or kind not in _KINDS:
        problem = "a set has a name of letters, digits and `._-`, other than all; then `nominal` or `ordinal`; then"
        faults.add("bad-attributes", f"{problem} its target: {example}", number)
        return Memberships(name.decode(), False, ())
    if not 2 <= len(target) <= _MOST_GROUPS:
        problem = f"the target of {quoted(name)} has {len(target)} numbers. A set has 2 to {_MOST_GROUPS} groups"
        faults.add("bad-target", f"{problem}: {example}", number)
        return Memberships(name.decode(), False, ())
    shares, problem = _read_vector(target)
    if problem:
        faults.add("bad-target", f"the shares of the target of {quoted(name)} {problem}", number)
    return Memberships(name.decode(), _KINDS[kind], shares)


def _add_membership(
    number: int, row: Sequence[bytes], into: Memberships, firsts: dict[tuple[bytes, bytes], int], faults: Faults
) -> None:
    groups = len(into.target)
    if len(row) != groups + 2:
        problem = f"the line has {len(row)} column{'s' * (len(row) > 1)}, but {into.name!r} has {groups} groups"
        faults.add("bad-columns", f"{problem}: topic, document id and {groups} numbers", number)
        return
    topic, document = row[:2]
    vector, problem = _read_vector(row[2:])
    if problem:
        named = f"the memberships of {quoted(document)} in the groups of {into.name!r}"
        faults.add("bad-membership", f"{named} {problem}", number, topic=topic)
    elif (first := firsts.setdefault((topic, document), number)) != number:
        problem = f"document {quoted(document)} has memberships in {into.name!r} twice, first on line {first}. Keep one"
        faults.add("repeated-membership", problem, first, number, topic=topic)
    else:
        into.vectors.setdefault(topic.decode(), {})[document] = vector


def _read_vector(tokens: Sequence[bytes]) -> tuple[Vector, str]:
    """Return the numbers of a vector that adds up to 1, and what is wrong with it, or an empty text."""
    values = [decimal(token) for token in tokens]
    vector = tuple(value for value in values if value is not None and 0 <= value <= 1)
    if len(vector) < len(values):
        at = next(at for at, value in enumerate(values) if value is None or not 0 <= value <= 1)
        return (), f"have {quoted(tokens[at])}, which is not a number from 0 to 1"
    if abs((total := sum(vector)) - 1) > _ROUNDING + 1e-9:
        return (), f"add up to {total:g}, and not to 1"
    return vector, ""
