"""Computation of programs by NumPy, one operation on whole arrays after the other.

An operation is a function of whole arrays, and `kernels` computes the same bits. A sum over the documents of a ranking
has the order of `np.add.reduceat`: the first number, plus NumPy's pairwise sum of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.columns import BY_RANKING, Rankings, Rows
from gainboard.metrics.gains import LevelGains, ReciprocalSums, TopicClasses
from gainboard.metrics.program import MOST_PROGRAMS, BoundSetting, Program, Step
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Space

Deepest = Mapping[tuple[int, ...], int]
"""The deepest cut-offs of sums of reciprocals, by their settings."""
IdealCutoffs = Mapping[int, Mapping[int, NDArray[np.int64]]]
"""The cut-offs of ideal gains, int64 [cut-offs, 1, 1], by their discounts, by their gains."""


class Work:
    """The rankings that are scored now, the values of the settings, and what several steps read."""

    rankings: Rankings

    def __init__(
        self, settings: Sequence[Any], classes: TopicClasses, deepest: Deepest, ideal_cutoffs: IdealCutoffs
    ) -> None:
        self.settings, self.classes = settings, classes
        self._deepest, self._ideal_cutoffs = deepest, ideal_cutoffs
        self._tables: dict[tuple[int, ...], ReciprocalSums] = {}
        self._ideal_gains: dict[int, Mapping[tuple[int, int], Scores]] = {}
        self._gains: dict[int, LevelGains] = {}

    def gains(self, step: Step) -> LevelGains:
        """Return the gains for the step's first setting."""
        number = step.settings[0]
        if (level_gains := self._gains.get(number)) is None:
            level_gains = self._gains[number] = LevelGains.of(self.settings[number], self.classes)
        return level_gains

    def reciprocals(self, step: Step) -> ReciprocalSums:
        """Return the sums of reciprocals up to the deepest cut-off of all steps with the same settings."""
        if (sums := self._tables.get(step.settings)) is None:
            discount = self.settings[step.settings[1]]
            upto = min(self._deepest[step.settings], self.classes.deepest)
            sums = self._tables[step.settings] = ReciprocalSums.of(self.gains(step), self.classes, discount, upto)
        return sums

    def ideal_gain(self, step: Step) -> Scores:
        """Return the ideal gain for the step's discount and cut-off. Those with the same gains are computed at once."""
        gains, discount = step.settings
        if (by_discount := self._ideal_gains.get(gains)) is None:
            cutoffs, classes = self._ideal_cutoffs[gains], self.classes
            weights = [
                self.settings[weighting].sums(classes.deepest).take(np.minimum(classes.last, upto))
                for weighting, upto in cutoffs.items()
            ]
            worths = iter(self.gains(step).worth(np.concatenate(weights)))
            by_discount = {
                (weighting, number): next(worths)
                for weighting, upto in cutoffs.items()
                for number in upto.ravel().tolist()
            }
            self._ideal_gains[gains] = by_discount
        return by_discount[discount, step.fixed[0]]


def _number(work: Work, step: Step) -> Any:
    return np.float64(work.settings[step.settings[0]])


def _levels(work: Work, step: Step) -> Any:
    return np.array([[0.0, *work.settings[step.settings[0]]]])


def _spread_by_row(work: Work, step: Step, values: Any) -> Any:
    if step.operand_spaces[0] is Space.TOPIC:
        values = values.take(work.rankings.ranking_class)
    return values.repeat(work.rankings.size)


def _gains(work: Work, step: Step) -> Any:
    return work.gains(step).gain


def _relevant_count(work: Work, step: Step) -> Any:
    return work.classes.last[:, step.fixed[0]].astype(np.float64)


def _at_highest_level(work: Work, step: Step, values: Any) -> Any:
    best = work.classes.best_level
    return values[0].take(best) if len(values) == 1 else values[np.arange(len(best)), best]


def _ideal_total(work: Work, step: Step) -> Any:
    return work.gains(step).worth(work.classes.last)


def _ideal_precisions(work: Work, step: Step) -> Any:
    return work.gains(step).ideal_precisions(work.classes)


def _ideal_gain(work: Work, step: Step) -> Any:
    return work.ideal_gain(step)


def _ideal_falls(work: Work, step: Step) -> Any:
    return work.gains(step).falls(work.classes).sum(axis=1).astype(np.float64)


def _ideal_stopping(work: Work, step: Step, values: Any) -> Any:
    classes = work.classes
    stop, ranks = np.broadcast_to(values, classes.counts.shape), classes.ranks(min(step.fixed[0], classes.deepest))
    by_class = np.zeros(len(classes.last))
    for table in ranks.tables:
        stops = stop[table.classes[:, np.newaxis], table.level]
        above = np.ones_like(stops)
        # The first rank is reached by everybody, so the products begin one rank later.
        np.cumprod(1.0 - stops[:, :-1], axis=1, out=above[:, 1:])
        # A running sum, because the kernel adds rank by rank: `np.sum` adds pairwise, which rounds in another way.
        if step.operation == "ideal_stopping":
            worth = stops * above / np.arange(1.0, table.width + 1)
        else:
            worth = stops * above * work.settings[step.settings[0]].weights(table.width)[1:]
        sums = np.cumsum(worth, axis=1)
        by_class[table.classes] = sums.take(table.last)
    return by_class


def _rank(work: Work, step: Step) -> Any:
    return work.rankings.float_ranks[step.fixed[0]]


def _count(work: Work, step: Step) -> Any:
    return work.rankings.counts[step.fixed[0]]


def _by_level(work: Work, step: Step, values: Any) -> Any:
    if len(values) == 1:
        return values[0].take(work.rankings.level_index)
    return values[work.rankings.row_class, work.rankings.level]


def _cumulative_gain(work: Work, step: Step) -> Any:
    gains = work.gains(step)
    return _sum_gains(work, gains, work.rankings.counts[gains.rel :])


def _ideal_cumulative_gain(work: Work, step: Step) -> Any:
    gains, rank = work.gains(step), work.rankings.float_ranks[step.fixed[0]]
    return _sum_gains(work, gains, np.minimum(rank, work.rankings.ideal_ends[gains.rel - 1 :]))


def _ideal_cost(work: Work, step: Step) -> Any:
    gains, rank = work.gains(step).above(1.0), work.rankings.float_ranks[step.fixed[0]]
    return rank + _sum_gains(work, gains, np.minimum(rank, work.rankings.ideal_ends[gains.rel - 1 :]))


def _ideal_discounted_gain(work: Work, step: Step) -> Any:
    gains, sums = work.gains(step), work.settings[step.settings[1]].sums(work.classes.deepest)
    last = work.classes.last.T[gains.rel :].take(work.rankings.row_class, axis=1)
    return _sum_gains(work, gains, sums.take(np.minimum(work.rankings.ranks[step.fixed[0]], last)))


def _sum_gains(work: Work, gains: LevelGains, counts: Any) -> Any:
    """Return the total gain of documents by row.

    `counts` are the numbers of documents of each relevant level or a higher one, lowest level first.
    """
    # Whole counts times steps, in this order, so that `kernels` rounds in the same way. To add the gains of documents
    # one by one would round at each document.
    steps = gains.step.T[gains.rel :]
    if len(gains.step) > 1:
        steps = steps.take(work.rankings.row_class, axis=1)
    total = steps[0] * counts[0]
    for step, count in zip(steps[1:], counts[1:], strict=True):
        total += step * count
    return total


def _product_above(work: Work, step: Step, values: Any) -> Any:
    rankings, rel, highest = work.rankings, step.fixed[0], work.classes.highest_level
    # Powers as products, one after the other: NumPy's own differ between processors.
    powers = np.ones((*np.shape(values), int(rankings.size.max(initial=0)) + 1))
    np.cumprod(
        np.broadcast_to(np.asarray(values)[..., np.newaxis], (*np.shape(values), powers.shape[2] - 1)),
        axis=2,
        out=powers[..., 1:],
    )
    row_class = rankings.row_class if len(values) > 1 else 0
    product = np.ones(len(rankings.level))
    for level in range(rel, highest + 1):
        above = rankings.counts[level] - (rankings.counts[level + 1] if level < highest else 0.0)
        product = product * powers[row_class, level, (above - (rankings.level == level)).astype(np.intp)]
    return product


def _weight(work: Work, step: Step) -> Any:
    return work.settings[step.settings[0]].at(work.rankings.ranks[step.fixed[0]], work.rankings.deepest)


def _weight_at(work: Work, step: Step, ranks: Any) -> Any:
    return work.settings[step.settings[0]].at(ranks.astype(np.intp), work.rankings.deepest)


def _reciprocals(work: Work, step: Step) -> Any:
    sums, (condensed, upto) = work.reciprocals(step), step.fixed
    # Rows at deeper ranks are in no sum.
    rows, ranks = work.rankings.upto(upto, condensed), work.rankings.ranks[condensed]
    return rows.put_back(rows.by_row(sums.at(upto)) - sums.at(rows.select(ranks) - 1, rows.by_row))


def _reciprocals_at_falls(work: Work, step: Step) -> Any:
    table = work.gains(step).reciprocals_at_falls(work.classes, work.settings[step.settings[1]])
    classes, rank = work.rankings.row_class, work.rankings.ranks[step.fixed[0]]
    sums = np.zeros(len(rank))
    for level in range(work.classes.highest_level, 0, -1):
        sums += np.where(rank <= work.classes.last[:, level].take(classes), table[:, level].take(classes), 0.0)
    return sums


def _running_sum(work: Work, step: Step, values: Any) -> Any:
    # Place by place for all rankings, so that each ranking is added up by itself, from its first document.
    sums, start, size = np.array(values, np.float64), work.rankings.start, work.rankings.size
    longest = np.argsort(-size, kind="stable")
    start, reaching = start[longest], np.searchsorted(-size[longest], -np.arange(1, size.max(initial=1)))
    for offset, rankings in enumerate(reaching.tolist(), 1):
        sums[start[:rankings] + offset] += sums[start[:rankings] + offset - 1]
    return sums


def _system_score(work: Work, step: Step) -> Any:
    return work.rankings.system_scores(*step.fixed)


def _by_ranking(work: Work, step: Step) -> Any:
    return work.rankings.by_ranking(step.operation, step.fixed, [work.settings[number] for number in step.settings])


def _relevant_only(work: Work, step: Step, values: Any) -> Any:
    # All bits of a relevant row, and none of the others. `np.where` branches at each row, which cannot be predicted.
    bits = -(work.rankings.level >= step.fixed[0]).astype(np.int64)
    return (values.view(np.int64) & bits).view(np.float64)


def _all_rows(work: Work, step: Step) -> Any:
    return work.rankings.all_rows


def _rows_upto(work: Work, step: Step, limit: Any) -> Any:
    return work.rankings.upto(limit, step.fixed[0])


def _sum(work: Work, step: Step, values: Any, rows: Rows) -> Any:
    return rows.reduce(np.add, values)


def _largest(work: Work, step: Step, values: Any, rows: Rows) -> Any:
    return rows.reduce(np.maximum, values)


def _at_last(work: Work, step: Step, values: Any, rows: Rows) -> Any:
    # Every row has level 1 or a higher one, so the count at the last row is the number of rows, and needs no look-up.
    if values is work.rankings.counts[1]:
        return rows.number.astype(np.float64)
    return rows.expand(values.take(rows.last))


def _at_first(work: Work, step: Step, values: Any, rows: Rows) -> Any:
    if not values.ndim:  # a constant is one number
        values = values.repeat(len(work.rankings.level))
    if step.fixed[0] == 1:
        return rows.expand(values.take(rows.first))
    relevant, start = work.rankings.relevant_rows(step.fixed[0]), work.rankings.start
    index = np.searchsorted(relevant, start)
    # The number of all rows stands for none: it is beyond the end of every ranking.
    first = np.append(relevant, len(values)).take(index)
    filled = (first < start + rows.number).nonzero()[0]
    return _scatter(values, first.take(filled), filled, len(start))


def _at_preferred(work: Work, step: Step, values: Any, rows: Rows) -> Any:
    row = rows.preferred
    if step.fixed[0] == 1:
        return rows.expand(values.take(row))
    relevant = work.rankings.level.take(row) >= step.fixed[0]
    return _scatter(values, row[relevant], rows.filled[relevant], len(rows.number))


def _scatter(values: Any, row: NDArray[np.intp], ranking: NDArray[np.intp], rankings: int) -> Scores:
    by_ranking = np.zeros(rankings)
    by_ranking[ranking] = values.take(row)
    return by_ranking


def _logarithm(work: Work, step: Step, values: Any) -> Any:
    # From `math`, because NumPy's logarithms differ between processors.
    return np.fromiter(map(math.log2, values.tolist()), np.float64, len(values))


ARITHMETIC: Final[Mapping[str, np.ufunc]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "minimum": np.minimum,
    "maximum": np.maximum,
    "floor": np.floor,
    "absolute": np.abs,
}
"""The functions of arithmetic operations, by name. Their arguments are only the operands."""
OTHERS: Final[Mapping[str, Callable[..., Any]]] = {
    "number": _number,
    "levels": _levels,
    "gains": _gains,
    "relevant_count": _relevant_count,
    "at_highest_level": _at_highest_level,
    "ideal_total": _ideal_total,
    "ideal_precisions": _ideal_precisions,
    "ideal_gain": _ideal_gain,
    "ideal_falls": _ideal_falls,
    **dict.fromkeys(("ideal_stopping", "ideal_stopping_weight"), _ideal_stopping),
    "rank": _rank,
    "judged_rank": _rank,
    "count": _count,
    "by_level": _by_level,
    "cumulative_gain": _cumulative_gain,
    "ideal_cumulative_gain": _ideal_cumulative_gain,
    "ideal_cost": _ideal_cost,
    "ideal_discounted_gain": _ideal_discounted_gain,
    "product_above": _product_above,
    "weight": _weight,
    "weight_at": _weight_at,
    "reciprocals": _reciprocals,
    "reciprocals_at_falls": _reciprocals_at_falls,
    "running_sum": _running_sum,
    "logarithm": _logarithm,
    "system_score": _system_score,
    **dict.fromkeys(BY_RANKING, _by_ranking),
    "relevant_only": _relevant_only,
    "all_rows": _all_rows,
    "rows_upto": _rows_upto,
    "sum": _sum,
    "largest": _largest,
    "at_last": _at_last,
    "at_first": _at_first,
    "at_preferred": _at_preferred,
    "spread": _spread_by_row,
}
"""The functions of all other operations, by name. Their arguments are the work, the step and the operands."""
OPERATIONS: Final = frozenset((*ARITHMETIC, *OTHERS, "score"))
"""The names of all operations."""


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
