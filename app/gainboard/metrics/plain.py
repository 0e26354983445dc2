"""Computation of programs by NumPy, one operation on whole arrays after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.columns import Rankings
from gainboard.metrics.plain_operations import ARITHMETIC, OTHERS, Deepest, IdealCutoffs, Work
from gainboard.metrics.program import MOST_PROGRAMS, BoundSetting, Program, Step
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Space

MOST_ROWS: Final = 1 << 15
"""Most rows computed at once, unless one run has more. Each value of that many rows takes a quarter of a megabyte."""


def work_out(
    program: Program,
    settings: Sequence[BoundSetting],
    runs: JudgedRuns,
    chosen: NDArray[np.intp],
    table: Scores,
    columns: Callable[[JudgedRuns, NDArray[np.intp]], Rankings] = Rankings,
) -> None:
    """Fill `table` float64 [metrics, chosen, n] with the scores of the `chosen` runs, intp [chosen].

    `columns` makes the columns of some of them.
    """
    # Undefined scores are computed like all others, and divide by 0. `settle` makes them NaN in the end.
    with np.errstate(all="ignore"):
        prepared = _prepare(program)
        values, classes = [setting.value for setting in settings], runs.judgments.classes
        work = Work(values, classes, prepared.deepest, prepared.ideal_cutoffs)
        # The work must not hold the registers, which hold it: they are to be freed when nothing else does.
        registers = [work, *prepared.registers[1:]]
        _take(prepared.first, registers)
        for begin, end in _pieces(runs, chosen):
            rankings, part = columns(runs, chosen[begin:end]), table[:, begin:end]
            # Scores are written through this view. A copy would be lost, so NumPy must refuse to make one.
            scores = part.reshape(len(part), part.shape[1] * part.shape[2], copy=False)
            work.rankings = rankings
            prepared.fill(registers, rankings, scores)
            _take(prepared.rest, registers)
            prepared.settle(registers, rankings, scores)


def _pieces(runs: JudgedRuns, chosen: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Yield the begin and end of groups of successive chosen runs, each with at most MOST_ROWS rows or one run."""
    first = runs.first.take(chosen, axis=0)
    rows = (first[:, -1] - first[:, 0]).cumsum()
    begin, before = 0, 0
    while begin < len(rows):
        end = max(begin + 1, int(rows.searchsorted(before + MOST_ROWS, side="right")))
        yield begin, end
        begin, before = end, int(rows[end - 1])


def _take(steps: Sequence[_PreparedStep], registers: list[Any]) -> None:
    """Do the steps, one after the other."""
    for operation, read, target in steps:
        registers[target] = operation(*read(registers))


_PreparedStep = tuple[Callable[..., Any], Callable[[list[Any]], Iterable[Any]], int]
"""A step, prepared: its function, what reads the arguments from the registers, and the register that it writes."""


class _Prepared(NamedTuple):
    """A program, prepared.

    - `first` and `rest`: the steps.
    - `registers`: what the registers hold in the beginning. The first one is for the work, and the next ones are for
      the scores of each metric.
    - `spread`: the registers by topic whose values are needed by ranking, each with the register for these.
    - `deepest` and `ideal_cutoffs`: the cut-offs that the work needs to know.
    - `worths`: the registers that are not 0 where scores are defined, each with its metrics, intp [metrics, 1].
    - `of_missing`: the metrics whose score of a missing ranking is not 0, with this score.
    """

    first: Sequence[_PreparedStep]
    rest: Sequence[_PreparedStep]
    registers: Sequence[Step | None]
    spread: Sequence[tuple[int, int]]
    deepest: Deepest
    ideal_cutoffs: IdealCutoffs
    worths: Sequence[tuple[int, NDArray[np.intp]]]
    of_missing: Sequence[tuple[int, int]]

    def fill(self, registers: list[Any], rankings: Rankings, scores: Scores) -> None:
        """Put the places of the scores, float64 [metrics, rankings], and what is spread to rankings into registers."""
        registers[1 : len(scores) + 1] = scores
        if self.spread:
            by_topic = np.array([registers[register] for register, _ in self.spread])
            for (_, target), values in zip(self.spread, by_topic.take(rankings.ranking_class, axis=1), strict=True):
                registers[target] = values

    def settle(self, registers: Sequence[Any], rankings: Rankings, scores: Scores) -> None:
        """Set the scores of missing rankings, and undefined scores to NaN."""
        if len(missing := rankings.missing):
            scores[:, missing] = 0.0
            for metric, number in self.of_missing:
                scores[metric, missing] = number
        for register, metrics in self.worths:
            worth = registers[register]
            # One number for all topics means that the score is defined everywhere.
            if worth.ndim and np.count_nonzero(worth) < len(worth):
                nothing = np.flatnonzero(worth.take(rankings.ranking_class) == 0.0)
                scores[metrics, nothing] = np.nan


@lru_cache(maxsize=MOST_PROGRAMS)
def _prepare(program: Program) -> _Prepared:
    """Return the program in the form that `work_out` reads."""
    metrics = sum(step.operation == "score" for step in program.rest)
    # All registers are in one list. Those of each space follow those of the space before, and then those added here.
    before = list(accumulate(program.registers, initial=1 + metrics))
    registers: list[Step | None] = [None] * before[-1]
    instead: dict[int, int] = {}  # where the value of a register is, if it is not there
    spread: dict[int, int] = {}
    deepest: dict[tuple[int, ...], int] = {}
    cutoffs: dict[int, dict[int, list[int]]] = {}
    worths: dict[int, list[int]] = {}
    of_missing: list[tuple[int, int]] = []

    def add_register(held: Step | None = None) -> int:
        registers.append(held)
        return len(registers) - 1

    def prepare(steps: Sequence[Step]) -> Sequence[_PreparedStep]:
        calls: list[tuple[Callable[..., Any], list[int], int]] = []
        for step in steps:
            sources = [before[space] + number for space, number in zip(step.operand_spaces, step.operands, strict=True)]
            operands = [instead.get(register, register) for register in sources]
            target = before[step.space] + step.target
            if step.operation == "score":
                metric, missing = step.fixed
                value, worth = operands
                worths.setdefault(worth, []).append(metric)
                if missing:
                    of_missing.append((metric, missing))
                # Arithmetic writes a score to its place, or else it is copied there.
                if not calls or calls[-1][2] != value or not _may_write_to_a_place(*calls[-1][:2]):
                    calls.append((np.positive, [value], add_register()))
                calls[-1][1].append(1 + metric)
                continue
            # Registers are used again: what stood elsewhere for an earlier value does not stand for this one.
            instead.pop(target, None)
            if step.operation == "spread" and step.operand_spaces[0] is Space.NUMBER:
                instead[target] = operands[0]  # NumPy broadcasts a single number
            elif step.operation == "spread" and step.space is Space.RANKING:
                if operands[0] not in spread:
                    spread[operands[0]] = add_register()
                instead[target] = spread[operands[0]]
            elif arithmetic := ARITHMETIC.get(step.operation):
                calls.append((arithmetic, operands, target))
            else:
                calls.append((OTHERS[step.operation], [0, add_register(step), *operands], target))
            if step.operation == "reciprocals":
                deepest[step.settings] = max(deepest.get(step.settings, 0), step.fixed[1])
            elif step.operation == "ideal_gain":
                gains, discount = step.settings
                cutoffs.setdefault(gains, {}).setdefault(discount, []).append(step.fixed[0])
        return [
            # Of one register, `itemgetter` would return the value without a sequence around it.
            (operation, itemgetter(*read) if len(read) > 1 else itemgetter(slice(read[0], read[0] + 1)), target)
            for operation, read, target in calls
        ]

    return _Prepared(
        prepare(program.first),
        prepare(program.rest),
        registers,
        list(spread.items()),
        deepest,
        {
            gains: {discount: np.array(upto)[:, np.newaxis, np.newaxis] for discount, upto in by_discount.items()}
            for gains, by_discount in cutoffs.items()
        },
        [(register, np.array(metric_numbers)[:, np.newaxis]) for register, metric_numbers in worths.items()],
        of_missing,
    )


def _may_write_to_a_place(operation: Callable[..., Any], operands: Sequence[int]) -> bool:
    """Return whether an operation takes one more argument, the array for what it computes."""
    if operation in (np.minimum, np.maximum):  # NumPy deprecates a third argument of these, which looks like a value
        return False
    return len(operands) == getattr(operation, "nin", None)
