"""Programs as arrays of integers, which compiled code reads.

Only `gainboard.metrics.scoring` imports this module, because it imports the kernels for the codes of operations.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.columns import BY_RANKING
from gainboard.metrics.kernels import CODES, COUNTS
from gainboard.metrics.program import MOST_PROGRAMS, Program, Step
from gainboard.metrics.values import Space

COMPILED: Final = frozenset(
    {*CODES} - {"by_ranking", "weighted_sum"} | {*BY_RANKING, "spread", "rank", "judged_rank", "count"}
)
"""The operations with a compiled form. `plain` computes the metrics that need another operation."""
_WIDTH: Final = 9
Computed: TypeAlias = tuple[str, tuple[int, ...], tuple[int, ...]]
"""An operation by ranking that NumPy computes: its name, fixed numbers, and the numbers of its settings."""


@dataclass(frozen=True, slots=True, eq=False)
class Instructions:
    """A program for compiled code.

    - `first` and `rest` int64 [steps, fields]: the steps.
    - `registers` int64 [spaces + 2]: the number of registers in each space; then the number of kinds of ranks, of which
      the last is read; then the highest level whose counts are read, plus one.
    - `recipes` int64 [sums, 2]: the sums of reciprocals that are looked up, as the numbers of their settings for gains
      and discount. `depths` are their deepest ranks.
    - `scales`: the scales of the runs' own scores, each as (raw, condensed).
    - `by_ranking`: the operations by ranking that NumPy computes, each with its fixed numbers and settings.
    """

    first: NDArray[np.int64]
    rest: NDArray[np.int64]
    registers: NDArray[np.int64]
    recipes: NDArray[np.int64]
    depths: tuple[int, ...]
    scales: Sequence[tuple[bool, bool]]
    by_ranking: Sequence[Computed]


@lru_cache(maxsize=MOST_PROGRAMS)
def instructions_of(program: Program) -> Instructions:
    """Return the program in the form for compiled code."""
    steps = (*program.first, *program.rest)
    deepest: dict[tuple[int, ...], int] = {}
    for step in steps:
        if step.operation == "reciprocals":
            deepest[step.settings] = max(deepest.get(step.settings, 0), step.fixed[1])
    recipes = np.array(list(deepest), np.int64).reshape(len(deepest), 2)
    scales = sorted({(bool(step.fixed[0]), bool(step.fixed[1])) for step in steps if step.operation == "system_score"})
    by_ranking = list(dict.fromkeys(_as_computed(step) for step in steps if step.operation in BY_RANKING))

    def write_step(step: Step, operands: Sequence[int]) -> list[int]:
        operation, settings, fixed = step.operation, step.settings, step.fixed
        if operation == "spread":
            operation = f"spread {step.operand_spaces[0].name.lower()}"
        elif operation == "reciprocals":
            settings = (list(deepest).index(settings),)
        elif operation == "system_score":
            settings = (scales.index((bool(fixed[0]), bool(fixed[1]))),)
        elif operation in BY_RANKING:
            operation, settings, fixed = "by_ranking", (by_ranking.index(_as_computed(step)),), ()
        padded = ((*part, 0, 0)[:2] for part in (operands, settings, fixed))
        return [CODES[operation], step.space, step.target, *(number for part in padded for number in part)]

    def table(part: Sequence[tuple[Step, Sequence[int]]]) -> NDArray[np.int64]:
        return np.array([write_step(step, operands) for step, operands in part], np.int64).reshape(len(part), _WIDTH)

    first = [(step, step.operands) for step in program.first]
    rest = list(_drop_copies(program.registers[Space.ROW], _merge_weighted_sums(program.rest)))
    kinds = max((step.fixed[0] + 1 for step in program.rest if step.operation in _AT_RANKS), default=1)
    if any(step.operation == "cumulative_gain" for step in program.rest):
        levels = sys.maxsize  # all of them: only the judgments tell how many there are
    else:
        levels = max((step.fixed[0] + 1 for step in program.rest if step.operation == "count"), default=0)
    registers = np.array([*program.registers, kinds, levels], np.int64)
    return Instructions(table(first), table(rest), registers, recipes, tuple(deepest.values()), scales, by_ranking)


def _merge_weighted_sums(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield the steps, but one step for a sum of numbers by weight of rank: only the sum's rows are then weighted."""
    # A cumulative gain at rank 10 needs a tenth of the rows. Numbers that are used twice are weighted once, for all.
    # By step: the steps that have made its operands by row, and the steps that use what it makes.
    sources: list[dict[int, int]] = []
    uses: dict[int, list[int]] = {}
    writers: dict[int, int] = {}
    for number, step in enumerate(steps):
        spaces = zip(step.operands, step.operand_spaces, strict=True)
        sources.append({register: writers[register] for register, space in spaces if space is Space.ROW})
        for source in sources[-1].values():
            uses[source].append(number)
        if step.space is Space.ROW:
            writers[step.target], uses[number] = number, []
    written: dict[int, Step] = {}
    left_out: set[int] = set()
    for number, step in enumerate(steps):
        if step.operation != "sum":
            continue
        product = sources[number][step.operands[0]]
        weighted = steps[product]
        if weighted.operation != "multiply" or uses[product] != [number]:
            continue
        # A product is written either way, and the kernel multiplies the values by the weight: the bits are the same.
        for weight, values in permutations(weighted.operands):
            by = steps[source := sources[product][weight]]
            # The sum is done after the product. By then, another step may have used the register of the values.
            is_over = any(later.space is Space.ROW and later.target == values for later in steps[product + 1 : number])
            if by.operation == "weight" and uses[source] == [product] and weight != values and not is_over:
                fixed = (by.fixed[0], weighted.target)
                written[number] = step._replace(
                    operation="weighted_sum", operands=(values, step.operands[1]), settings=by.settings, fixed=fixed
                )
                left_out |= {product, source}
                break
    yield from (written.get(number, step) for number, step in enumerate(steps) if number not in left_out)


def _drop_copies(behind: int, steps: Iterable[Step]) -> Iterator[tuple[Step, Sequence[int]]]:
    """Yield the steps by ranking and row, except ranks and counts, with the registers that each step reads.

    Ranks and counts have registers of their own, `behind` the others, so the steps read them there.
    """
    standing: dict[int, int] = {}
    for step in steps:
        if step.operation in ("rank", "judged_rank", "count"):
            standing[step.target] = behind + step.fixed[0] + (COUNTS if step.operation == "count" else 0)
            continue
        sources = zip(step.operands, step.operand_spaces, strict=True)
        yield (
            step,
            [standing.get(register, register) if space is Space.ROW else register for register, space in sources],
        )
        # From here on, the register holds the values of this step.
        if step.space is Space.ROW:
            standing.pop(step.target, None)


def _as_computed(step: Step) -> Computed:
    return step.operation, step.fixed, step.settings


_AT_RANKS: Final = frozenset(("rank", "judged_rank", "weight", "ideal_cumulative_gain", "reciprocals", "rows_upto"))
"""The operations whose first fixed number is a kind of rank: 0, or 1 for condensed ranks, or 2."""
