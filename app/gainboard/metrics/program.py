"""Metrics that are scored together, as a list of steps: each value that they are made of is worked out once.

A program depends on the formulas alone, not on gains, beta or base; what differs from request to request are its
`settings`. So programs are kept, and a request under new parameters needs none of this.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from typing import Any, Final, NamedTuple

from gainboard.metrics.values import Setting, Space, Value

MOST_PROGRAMS: Final = 64
"""Programs that are kept: one of 200 metrics is about a megabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundSetting:
    """A setting that is filled in. Equal ones are one object, so that they are quickly told apart.

    By `kind`, the value is: "number", a float; "levels", the numbers of levels 1 to h; "gains", a GainSetting and the
    relevance threshold; "discount", a Discount.
    """

    kind: str
    value: Any


@lru_cache(maxsize=1024)
def bound_setting(kind: str, value: Hashable) -> BoundSetting:
    """Return the setting of this kind and value, the same object for equal arguments."""
    return BoundSetting(kind, value)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """How one metric is computed: its score by ranking, and what is not 0 by topic where the score is defined.

    `settings` are all that the two leave open, in the order in which they first come up; `operations` are all that
    they are made of.
    """

    score: Value
    worth: Value
    settings: tuple[Setting, ...]
    operations: frozenset[str]

    @classmethod
    def of(cls, score: Value, worth: Value) -> Formula:
        """Return the formula of these values."""
        values = list(_values((score, worth)))
        settings = dict.fromkeys(setting for each in values for setting in each.open)
        return cls(score, worth, tuple(settings), frozenset(each.operation for each in values))


class Step(NamedTuple):
    """One operation: what it reads and where it writes. Places are numbers of registers; each space has its own."""

    operation: str
    space: Space
    target: int
    operands: tuple[int, ...] = ()
    operand_spaces: tuple[Space, ...] = ()
    settings: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """Steps in order. `first` are those by level and by class of topics, which are taken once; `rest` are those by
    ranking and by row, which may be taken for some of the rankings after the others. The last step of each metric is
    `score`, with the number of the metric. `registers` is how many each space needs. `operations` are those of all
    formulas."""

    first: tuple[Step, ...]
    rest: tuple[Step, ...]
    registers: tuple[int, ...]
    operations: frozenset[str]


def _values(roots: Sequence[Value]) -> Iterator[Value]:
    """Yield all values that the roots are made of, each once, operands before what is made of them."""
    seen: set[Value] = set()

    def visit(each: Value) -> Iterator[Value]:
        if each not in seen:
            seen.add(each)
            for operand in each.operands:
                yield from visit(operand)
            yield each

    for root in roots:
        yield from visit(root)


class _Node(NamedTuple):
    operation: str
    space: Space
    operands: tuple[int, ...]
    settings: tuple[int, ...]
    fixed: tuple[int, ...]


def program_of(
    formulas: Sequence[Formula], settings: Sequence[Sequence[BoundSetting]]
) -> tuple[Program, Sequence[BoundSetting]]:
    """Return the program of formulas, each with its settings as they are bound, and the distinct settings."""
    given = list(chain.from_iterable(settings))
    distinct = dict(zip(dict.fromkeys(given), count()))
    return _assembled(tuple(formulas), tuple(map(distinct.__getitem__, given))), tuple(distinct)


@lru_cache(maxsize=MOST_PROGRAMS)
def _assembled(formulas: tuple[Formula, ...], settings: tuple[int, ...]) -> Program:
    """Return the program of some formulas; `settings` are the numbers of all that they leave open, one after the other.

    Values of several formulas are one if they are the same operation on the same values under the same settings.
    """
    numbers: dict[_Node, int] = {}
    given = iter(settings)
    for metric, formula in enumerate(formulas):
        by_setting = {setting: next(given) for setting in formula.settings}
        places: dict[Value, int] = {}
        for each in _values((formula.score, formula.worth)):
            operands = tuple(places[operand] for operand in each.operands)
            own = tuple(by_setting[setting] for setting in each.open)
            node = _Node(each.operation, each.space, operands, own, each.fixed)
            places[each] = numbers.setdefault(node, len(numbers))
        score = (places[formula.score], places[formula.worth])
        numbers[_Node("score", Space.RANKING, score, (), (metric,))] = len(numbers)
    return _allocated(list(numbers), frozenset().union(*(formula.operations for formula in formulas)))


def _allocated(nodes: Sequence[_Node], operations: frozenset[str]) -> Program:
    """Return the steps of these nodes. A register by ranking or row is used again once nothing reads it any more, so
    that what is worked on stays in the processor's cache."""
    last_use = {operand: place for place, node in enumerate(nodes) for operand in node.operands}
    free: list[list[int]] = [[] for _ in Space]
    used = [0] * len(Space)
    registers: list[int] = []
    first: list[Step] = []
    rest: list[Step] = []
    for place, node in enumerate(nodes):
        if node.operation == "score":
            target = -1  # it goes into the table, not into a register
        elif free[node.space]:
            target = free[node.space].pop()
        else:
            target = used[node.space]
            used[node.space] += 1
        registers.append(target)
        operands = tuple(registers[operand] for operand in node.operands)
        spaces = tuple(nodes[operand].space for operand in node.operands)
        step = Step(node.operation, node.space, target, operands, spaces, node.settings, node.fixed)
        (first if node.space <= Space.TOPIC else rest).append(step)
        for operand in {*node.operands}:
            if last_use[operand] == place and nodes[operand].space >= Space.RANKING:
                free[nodes[operand].space].append(registers[operand])
    return Program(tuple(first), tuple(rest), tuple(used), operations)
