"""Attribute sets behind the judgments of a qrels file: how documents belong to groups, and the target of each set.

    51 0 doc-17 1
    @attributes gender nominal 0.5 0.5
    51 doc-17 1 0
    51 doc-18 0.25 0.75

A line that begins with `@attributes` opens a set: its name, `ordinal` or `nominal`, and its target. The lines behind it
are its memberships: topic, document id, and a number for each group. A document need not be judged.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gainboard.trec.findings import Faults, quoted
from gainboard.trec.lines import Block, Text
from gainboard.trec.numbers import decimal

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
    """An attribute set: the share that each group should have, and the vectors of documents by topic and id."""

    name: str
    is_ordinal: bool
    target: Vector
    vectors: dict[str, dict[bytes, Vector]] = field(default_factory=dict)


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
            _add_membership(sets[-1], number, row, first, faults)
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


def _add_membership(
    into: Memberships, number: int, row: Sequence[bytes], first: dict[tuple[bytes, bytes], int], faults: Faults
) -> None:
    if not (groups := len(into.target)):
        return  # the set is at fault, so its groups are not known
    if len(row) != groups + 2:
        problem = f"the line has {len(row)} columns, but {into.name!r} has {groups} groups"
        faults.add("bad-columns", f"{problem}: topic, document id and {groups} numbers", number)
        return
    topic, document = row[:2]
    vector, problem = _read_vector(row[2:])
    if problem:
        problem = f"the memberships of document {quoted(document)}: {problem}"
        faults.add("bad-membership", problem, number, topic=topic)
    elif (before := first.setdefault((topic, document), number)) != number:
        problem = (
            f"document {quoted(document)} has memberships in {into.name!r} on line {before}. Keep one of the lines"
        )
        faults.add("repeated-membership", problem, before, number, topic=topic)
    else:
        into.vectors.setdefault(topic.decode(), {})[document] = vector


def _read_vector(tokens: Sequence[bytes]) -> tuple[Vector, str]:
    """Return numbers that add up to 1, and what is wrong with them, or an empty text."""
    values = [decimal(token) for token in tokens]
    vector = tuple(value for value in values if value is not None and 0 <= value <= 1)
    for token, value in zip(tokens, values, strict=True):
        if value is None or not 0 <= value <= 1:
            return vector, f"{quoted(token)} is not a number from 0 to 1"
    wrong = abs((total := sum(vector)) - 1) > _ROUNDING + 1e-9
    return vector, f"the numbers add up to {total:g}, and not to 1" if wrong else ""
