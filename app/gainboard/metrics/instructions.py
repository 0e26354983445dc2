"""Programs as arrays of whole numbers, which compiled code reads.

Imported by `gainboard.metrics.scoring` alone, with the kernels, whose numbers of operations it writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.kernels import CODES
from gainboard.metrics.program import MOST_PROGRAMS, Program, Step

COMPILED: Final = frozenset({*CODES, "spread"})
"""The operations that have a compiled form. A metric that is made of others as well is worked out plainly, alone."""
_WIDTH: Final = 9


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """A program for compiled code: int64 [steps, fields] `first` and `rest`, and int64 [spaces] `registers`.

    `recipes` are the sums of reciprocals that are looked up: the numbers of gains and discount, and the deepest rank.
    `scales` are those of the runs' own scores: raw or not, condensed or not.
    """

    first: NDArray[np.int64]
    rest: NDArray[np.int64]
    registers: NDArray[np.int64]
    recipes: Sequence[tuple[int, int, int]]
    scales: Sequence[tuple[bool, bool]]


@lru_cache(maxsize=MOST_PROGRAMS)
def instructions_of(program: Program) -> Instructions:
    """Return the program as compiled code reads it."""
    steps = (*program.first, *program.rest)
    deepest: dict[tuple[int, ...], int] = {}
    for step in steps:
        if step.operation == "reciprocals":
            deepest[step.settings] = max(deepest.get(step.settings, 0), step.fixed[1])
    recipes = [(gains, discount, upto) for (gains, discount), upto in deepest.items()]
    scales = sorted({_scale(step) for step in steps if step.operation in _SCALED})

    def written(step: Step) -> list[int]:
        operation, operands, settings = step.operation, step.operands, step.settings
        if operation == "spread":
            operation = f"spread {step.operand_spaces[0].name.lower()}"
        elif operation == "reciprocals":
            settings = (list(deepest).index(settings),)
        elif operation in _SCALED:
            settings = (scales.index(_scale(step)),)
        padded = ((*part, 0, 0)[:2] for part in (operands, settings, step.fixed))
        return [CODES[operation], step.space, step.target, *(number for part in padded for number in part)]

    def table(part: Sequence[Step]) -> NDArray[np.int64]:
        return np.array([written(step) for step in part], np.int64).reshape(len(part), _WIDTH)

    registers = np.array(program.registers, np.int64)
    return Instructions(table(program.first), table(program.rest), registers, recipes, scales)


_SCALED: Final = frozenset(("system_score", "system_distance", "documents"))


def _scale(step: Step) -> tuple[bool, bool]:
    # Documents are counted alike on either scale.
    return (True, bool(step.fixed[0])) if step.operation == "documents" else (bool(step.fixed[0]), bool(step.fixed[1]))
