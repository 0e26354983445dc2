"""Values: the parts of a metric's formula.

A metric's function is called once, with values that stand for numbers that are not known yet. It returns the formula of
its score. Formulas are computed in one of two ways, which give the same bits: operation by operation on whole arrays
(`plain`), or by one compiled loop that reads the same operations (`kernels`). So each formula is written only once.

A value belongs to a `Space`, which defines how many numbers the value stands for. Arithmetic makes new values. If two
values belong to different spaces, the coarser value is spread over the finer space.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, TypeAlias


class Space(IntEnum):
    """The spaces of values, from coarse to fine. A value has one number for each member of its space."""

    NUMBER = 0
    """One number: a parameter or a constant."""
    LEVEL = 1
    """A number for each relevance level, in each class of topics with equal ideal rankings."""
    TOPIC = 2
    """A number for each class of topics with equal ideal rankings."""
    RANKING = 3
    """A number for each ranking, that is, for each topic of each run."""
    ROW = 4
    """A number for each relevant document retrieved."""


Setting: TypeAlias = tuple[Any, ...]
"""A setting that is open until a metric is bound: ("beta",), ("gains", rel) or ("discount", base, shift)."""


class Value:
    """A number for each member of a space, as an operation on other values.

    `fixed` are integers that are part of the operation, such as a cut-off. `open` are settings, whose values are in the
    bound metric. Equal values are one object, so that metrics share the values that they have in common.
    """

    __slots__ = ("fixed", "open", "operands", "operation", "space")

    def __init__(
        self,
        operation: str,
        space: Space,
        operands: tuple[Value, ...],
        fixed: tuple[int, ...],
        open: tuple[Setting, ...],
    ) -> None:
        self.operation = operation
        self.space = space
        self.operands = operands
        self.fixed = fixed
        self.open = open

    def __repr__(self) -> str:
        arguments = ", ".join(map(str, (*self.operands, *self.fixed, *self.open)))
        return f"{self.operation}({arguments})"

    def __add__(self, other: Number) -> Value:
        return _combine("add", self, other)

    def __radd__(self, other: Number) -> Value:
        return _combine("add", other, self)

    def __sub__(self, other: Number) -> Value:
        return _combine("subtract", self, other)

    def __rsub__(self, other: Number) -> Value:
        return _combine("subtract", other, self)

    def __mul__(self, other: Number) -> Value:
        return _combine("multiply", self, other)

    def __rmul__(self, other: Number) -> Value:
        return _combine("multiply", other, self)

    def __truediv__(self, other: Number) -> Value:
        return _combine("divide", self, other)

    def __rtruediv__(self, other: Number) -> Value:
        return _combine("divide", other, self)

    def __abs__(self) -> Value:
        return value("absolute", self.space, self)


Number: TypeAlias = Value | float


def minimum(one: Number, other: Number) -> Value:
    """Return the smaller of two values, number by number."""
    return _combine("minimum", one, other)


def maximum(one: Number, other: Number) -> Value:
    """Return the larger of two values, number by number."""
    return _combine("maximum", one, other)


def floor(number: Value) -> Value:
    """Return the largest whole number that is not above the value, number by number."""
    return value("floor", number.space, number)


def ceiling(number: Value) -> Value:
    """Return the smallest whole number that is not below the value, number by number."""
    # Of operations that there are, so that no further one needs a compiled twin.
    return 0.0 - floor(0.0 - number)


def logarithm(number: Value) -> Value:
    """Return the logarithm to base 2, number by number. The numbers must be > 0."""
    return value("logarithm", number.space, number)


_MOST_VALUES: Final = 1 << 14
"""The number of values kept in memory, so that equal values are one object."""


@lru_cache(maxsize=_MOST_VALUES)
def value(
    operation: str, space: Space, *operands: Value, fixed: tuple[int, ...] = (), open: tuple[Setting, ...] = ()
) -> Value:
    """Return the value of this operation, the same object for equal arguments."""
    return Value(operation, space, operands, fixed, open)


def parameter(name: str, space: Space = Space.NUMBER) -> Value:
    """Return the value of a parameter of this name: one number, or one for each level."""
    return value("levels" if space is Space.LEVEL else "number", space, open=((name,),))


def spread(number: Number, space: Space) -> Value:
    """Return the value in a finer space. Each member has the number of the coarser member that it belongs to.

    Raises TypeError if the space is coarser, or if a value by level would be spread.
    """
    coarse = number if isinstance(number, Value) else value("number", Space.NUMBER, open=(("constant", float(number)),))
    if coarse.space is space:
        return coarse
    if coarse.space > space or coarse.space is Space.LEVEL:
        raise TypeError(f"a value by {coarse.space.name.lower()} cannot be spread by {space.name.lower()}")
    return value("spread", space, coarse)


def _combine(operation: str, one: Number, other: Number) -> Value:
    space = max(operand.space for operand in (one, other) if isinstance(operand, Value))
    return value(operation, space, spread(one, space), spread(other, space))
