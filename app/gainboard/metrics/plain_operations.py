"""The operations of plain scoring: each is a function of whole arrays, by NumPy.

This module defines the operations. `kernels` computes the same bits. A sum over the documents of a ranking has the
order of `np.add.reduceat`: the first number, plus NumPy's pairwise sum of the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics.columns import BY_RANKING, Rankings, Rows
from gainboard.metrics.ideal import LevelGains, ReciprocalSums, TopicClasses
from gainboard.metrics.program import Step
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
        sums = np.cumsum(stops * above / np.arange(1.0, table.width + 1), axis=1)
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
    "ideal_stopping": _ideal_stopping,
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
