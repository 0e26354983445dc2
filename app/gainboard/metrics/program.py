"""Programs: metrics that are scored together, as a list of steps. Each value that they share is computed once.

A program depends only on the formulas. Gains, beta and base are its settings, which may differ between requests. So
programs are kept, and a request with other values of these parameters uses the same program.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from typing import Any, Final, NamedTuple

from gainboard.metrics.values import Setting, Space, Value

MOST_PROGRAMS: Final = 64
"""The number of programs kept in memory. A program of 200 metrics takes about one megabyte."""


@dataclass(frozen=True, slots=True, eq=False)
class BoundSetting:
    """A setting with its value. Equal settings are one object, so that comparing them is fast.

    The type of `value` depends on `kind`:

    - "number": a float.
    - "levels": one number for each level, 1 to h.
    - "gains": a GainSetting and the lowest relevant level.
    - "discount": a Discount.
    - "user_model": a UserModel, which only NumPy reads.
    """

    kind: str
    value: Any


@lru_cache(maxsize=1024)
def bound_setting(kind: str, value: Hashable) -> BoundSetting:
    """Return the setting of this kind and value, the same object for equal arguments."""
    return BoundSetting(kind, value)


@dataclass(frozen=True, slots=True, eq=False)
class Formula:
    """The formula of a metric: its `score` by ranking, and a value by topic, `worth`.

    A score is defined where the topic's `worth` is not 0. It is `missing` where the run lacks the topic. `settings` are
    all open settings of both values, in the order of their first use. `operations` are the names of all their
    operations.
    """

    score: Value
    worth: Value
    missing: int
    settings: tuple[Setting, ...]
    operations: frozenset[str]

    @classmethod
    def of(cls, score: Value, worth: Value, missing: int = 0) -> Formula:
        """Return the formula of these values."""
        values = list(_values((score, worth)))
        settings = dict.fromkeys(setting for part in values for setting in part.open)
        return cls(score, worth, missing, tuple(settings), frozenset(part.operation for part in values))


class Step(NamedTuple):
    """One operation, with the registers that it reads and the one that it writes. Each space has its own registers."""

    operation: str
    space: Space
    target: int
    operands: tuple[int, ...] = ()
    operand_spaces: tuple[Space, ...] = ()
    settings: tuple[int, ...] = ()
    fixed: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A list of steps, in two parts.

    - `first`: the steps by level and by class of topics, which are done once.
    - `rest`: the steps by ranking and by row, which may be done for one group of rankings after the other.
    - `registers`: the number of registers that each space needs.
    - `operations`: the names of the operations of all formulas.

    The last step of each metric is `score`, with the number of the metric and the score of a missing ranking.
    """

    first: tuple[Step, ...]
    rest: tuple[Step, ...]
    registers: tuple[int, ...]
    operations: frozenset[str]


def _values(roots: Sequence[Value]) -> Iterator[Value]:
    """Yield the roots and all their operands, each value once, operands before the values that use them."""
    seen: set[Value] = set()

    def visit(part: Value) -> Iterator[Value]:
        if part not in seen:
            seen.add(part)
            for operand in part.operands:
                yield from visit(operand)
            yield part

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
    """Return the program of the formulas, and the distinct settings, to which the program refers by number.

    `settings` are the bound settings of each formula.
    """
    # As numbers, by first use: the cache of `_assemble` then gives one program to requests that differ in the values of
    # their settings alone.
    in_turn = list(chain.from_iterable(settings))
    distinct = dict(zip(dict.fromkeys(in_turn), count()))
    return _assemble(tuple(formulas), tuple(map(distinct.__getitem__, in_turn))), tuple(distinct)


@lru_cache(maxsize=MOST_PROGRAMS)
def _assemble(formulas: tuple[Formula, ...], settings: tuple[int, ...]) -> Program:
    """Return the program of the formulas. `settings` are the numbers of their settings, formula after formula."""
    # Equal operations on equal values with equal settings become one step, even in different formulas: what
    # metrics share is computed once.
    numbers: dict[_Node, int] = {}
    setting_numbers = iter(settings)
    for metric, formula in enumerate(formulas):
        by_setting = {setting: next(setting_numbers) for setting in formula.settings}
        number_of: dict[Value, int] = {}
        for part in _values((formula.score, formula.worth)):
            operands = tuple(number_of[operand] for operand in part.operands)
            open_settings = tuple(by_setting[setting] for setting in part.open)
            node = _Node(part.operation, part.space, operands, open_settings, part.fixed)
            number_of[part] = numbers.setdefault(node, len(numbers))
        score = (number_of[formula.score], number_of[formula.worth])
        numbers[_Node("score", Space.RANKING, score, (), (metric, formula.missing))] = len(numbers)
    return _allocate(list(numbers), frozenset().union(*(formula.operations for formula in formulas)))


def _allocate(nodes: Sequence[_Node], operations: frozenset[str]) -> Program:
    """Return the program of these nodes, and assign registers to them."""
    # A register by ranking or by row is used again after its last use, so that the data stays in the processor's cache.
    last_use = {operand: number for number, node in enumerate(nodes) for operand in node.operands}
    free: list[list[int]] = [[] for _ in Space]
    used = [0] * len(Space)
    registers: list[int] = []
    first: list[Step] = []
    rest: list[Step] = []
    for number, node in enumerate(nodes):
        if node.operation == "score":
            target = -1  # a score is written to the table, not to a register
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
        # A set, because a register that is read twice is to be freed once.
        for operand in {*node.operands}:
            # Values by level and topic are all computed before the others read them, so their registers are not used
            # again.
            if last_use[operand] == number and nodes[operand].space >= Space.RANKING:
                free[nodes[operand].space].append(registers[operand])
    return Program(tuple(first), tuple(rest), tuple(used), operations)
