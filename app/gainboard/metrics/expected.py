"""Expected scores over all orders of tied documents, which are equally likely.

An expectation is exact where it follows from the metric's own formula: a sum over documents of terms in which count(r)
and cg(r) are linear, or a value at the first relevant document. Each group of ties becomes one row for each of its
ranks and levels, with the probability of that level at that rank as its weight. In such a row, count(r) and cg(r) are
expectations, too, given that the row's document is there. So the formula is computed as it is, on other rows.

For a group of m documents after rank s, of which k have at least some level, with c such documents above the group: a
document of this level at rank s+j has c + 1 + (k-1)(j-1)/(m-1) such documents at its rank or above, on average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property, lru_cache
from itertools import permutations, product
from math import factorial, prod
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics import plain
from gainboard.metrics.columns import Rankings, values_by_ranking
from gainboard.metrics.expressions import BoundMetric
from gainboard.metrics.judgments import UNJUDGED, Judgments
from gainboard.metrics.parameters import CONDENSED
from gainboard.metrics.program import Formula, bound_setting, program_of
from gainboard.metrics.rankings import JudgedRun, JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.values import Space, Value, spread, value
from gainboard.metrics.views import AnyDiscount

Integers = NDArray[np.int64]
LARGEST_ENUMERATED: Final = 6
"""The most documents of a group of which all orders are tried."""
MOST_ORDERS: Final = 20_000
"""The most orders of a topic that are tried."""


@dataclass(frozen=True, eq=False)
class TiedRun:
    """A judged run with the tie group of each row, that is, of each judged document retrieved.

    - `first` int64 [rows]: the first rank of the group. A document without a tie is a group of its own.
    - `size` int64 [rows]: the number of documents of the group, which also counts unjudged ones.
    """

    run: JudgedRun
    first: Integers
    size: Integers

    @cached_property
    def topic(self) -> Integers:
        """The number of each row's topic, int64 [rows]."""
        return np.repeat(np.arange(len(self.run.retrieved)), np.diff(self.run.starts))

    @cached_property
    def group(self) -> Integers:
        """The number of each row's group, int64 [rows], counted over all topics."""
        changes = (np.diff(self.topic, prepend=-1) != 0) | (np.diff(self.first, prepend=-1) != 0)
        return np.cumsum(changes) - 1

    @cached_property
    def begin(self) -> Integers:
        """The first row of each group, int64 [groups]."""
        return np.flatnonzero(np.diff(self.group, prepend=-1))

    @cached_property
    def judged(self) -> Integers:
        """The number of rows of each group, int64 [groups]."""
        return np.diff(np.append(self.begin, len(self.group)))

    @cached_property
    def is_mixed(self) -> NDArray[np.bool_]:
        """True where the order of a group matters, bool [groups]: a document is relevant, and not all are alike."""
        if not len(self.begin):
            return np.zeros(0, np.bool_)
        lowest, highest = (extreme.reduceat(self.run.level, self.begin) for extreme in (np.minimum, np.maximum))
        alike = (lowest == highest) & (self.judged == self.size[self.begin])
        mixed: NDArray[np.bool_] = (highest > 0) & ~alike
        return mixed

    def order_ties(self, *, best_first: bool) -> JudgedRun:
        """Return the run with each group in descending order of level, unjudged documents last; or reversed.

        A gain never decreases with the level, so this is also the order of gains, for every gain setting.
        """
        level = self.run.level.astype(np.int64)
        order = np.lexsort((-level if best_first else level, self.group))
        within = np.arange(len(order)) - self.begin.take(self.group)
        skipped = 0 if best_first else self.size - self.judged.take(self.group)
        scores = self.run.retrieval_scores
        return replace(
            self.run,
            rank=(self.first + skipped + within).astype(self.run.rank.dtype),
            level=self.run.level.take(order),
            retrieval_scores=scores and replace(scores, judged=scores.judged.take(order)),
        )

    def mixed_groups(self, topic: int) -> list[slice]:
        """Return the rows of each group of the topic whose order matters."""
        groups = np.unique(self.group[self.run.starts[topic] : self.run.starts[topic + 1]])
        mixed = groups[self.is_mixed[groups]]
        return [slice(int(self.begin[group]), int(self.begin[group] + self.judged[group])) for group in mixed]

    @cached_property
    def mixed_topics(self) -> list[int]:
        """The topics with a group whose order matters."""
        return np.unique(self.topic[self.begin[self.is_mixed]]).tolist()  # type: ignore[no-any-return]

    def count_orders(self, topic: int) -> int | None:
        """Return the number of orders of a topic that differ in levels. Return None where `every_order` does."""
        groups = self.mixed_groups(topic)
        if any(self.size[rows.start] > LARGEST_ENUMERATED for rows in groups):
            return None
        orders = 1
        for rows in groups:
            codes = self._codes(rows)
            orders *= factorial(len(codes)) // prod(factorial(codes.count(code)) for code in set(codes))
        return orders if orders <= MOST_ORDERS else None

    def every_order(self, topic: int, judgments: Judgments) -> JudgedRuns | None:
        """Return all orders of a topic that differ in levels, as runs on this topic alone.

        Return None if a mixed group has more than LARGEST_ENUMERATED documents, or if there would be more than
        MOST_ORDERS orders.
        """
        groups = self.mixed_groups(topic)
        if self.count_orders(topic) is None:
            return None
        every = list(product(*(self._arrangements(rows) for rows in groups)))
        rank, level = self._repeat_topic(topic, len(every))
        base = int(self.run.starts[topic])
        for number, rows in enumerate(groups):
            columns = slice(rows.start - base, rows.stop - base)
            rank[:, columns] = [order[number][0] for order in every]
            level[:, columns] = [order[number][1] for order in every]
        return self.on_topic(topic, judgments, rank, level)

    def arrange_topic(self, topic: int, judgments: Judgments, slots: Iterator[Integers], orders: int) -> JudgedRuns:
        """Return orders of a topic as runs on this topic alone.

        `slots` yields for each mixed group of the topic the positions of its judged documents, counted from 0: int64
        [orders, judged], distinct in each row.
        """
        rank, level = self._repeat_topic(topic, orders)
        base = int(self.run.starts[topic])
        for rows, positions in zip(self.mixed_groups(topic), slots, strict=True):
            rank[:, rows.start - base : rows.stop - base] = self.first[rows.start] + positions
        order = np.argsort(rank, axis=1)
        return self.on_topic(
            topic, judgments, np.take_along_axis(rank, order, axis=1), np.take_along_axis(level, order, axis=1)
        )

    def on_topic(self, topic: int, judgments: Judgments, rank: Integers, level: NDArray[np.int8]) -> JudgedRuns:
        """Return rankings of one topic, [orders, rows] each in the order of ranks, as runs on this topic alone."""
        orders, rows = rank.shape
        is_relevant = level > 0
        first = np.zeros((orders, 2), np.int64)
        first[:, 1] = np.cumsum(is_relevant.sum(axis=1))
        first[1:, 0] = first[:-1, 1]
        among_judged = np.broadcast_to(np.arange(1, rows + 1), rank.shape)
        kinds = np.stack([rank, among_judged, among_judged - np.cumsum(level < 0, axis=1)])
        rows_of_topic = slice(topic, topic + 1)
        alone = Judgments(judgments.level_counts[rows_of_topic], judgments.negative_counts[rows_of_topic])
        # Compiled code scores ranks of two bytes.
        is_narrow = self.run.rank.dtype == np.uint16
        ranks = kinds[:, is_relevant]
        narrow = ranks.astype(np.uint16) if is_narrow else ranks.astype(np.uint32)
        return JudgedRuns(alone, first, narrow, level[is_relevant], np.zeros((orders, 1), np.bool_))

    def _repeat_topic(self, topic: int, orders: int) -> tuple[Integers, NDArray[np.int8]]:
        """Return the ranks and levels of a topic, [orders, rows], the same in each order."""
        rows = slice(*self.run.starts[topic : topic + 2])
        rank, level = self.run.rank[rows].astype(np.int64), self.run.level[rows]
        return np.tile(rank, (orders, 1)), np.tile(level, (orders, 1))

    def _arrangements(self, rows: slice) -> list[tuple[list[int], list[int]]]:
        """Return the ranks and the levels of the judged documents, for each order of a group that differs in levels."""
        first = int(self.first[rows.start])
        arrangements: list[tuple[list[int], list[int]]] = []
        # Documents of one level are alike, so orders that only exchange them are one: 6 documents have 720 orders, but
        # of two levels at most 20.
        for order in sorted(set(permutations(self._codes(rows)))):
            indexes = [index for index, code in enumerate(order) if code != UNJUDGED]
            arrangements.append(([first + index for index in indexes], [order[index] for index in indexes]))
        return arrangements

    def _codes(self, rows: slice) -> list[int]:
        levels: list[Any] = self.run.level[rows].tolist()
        return levels + [UNJUDGED] * (int(self.size[rows.start]) - len(levels))


_BY_PLACE: Final = frozenset(
    (
        *("rank", "weight", "reciprocals", "reciprocals_at_falls"),
        *("ideal_cumulative_gain", "ideal_discounted_gain", "ideal_cost"),
    )
)
"""The operations whose value for a row follows from its rank."""
_BY_ORDER: Final = frozenset(
    (
        *_BY_PLACE,
        *("count", "weight_at", "judged_rank", "judged_weight", "cumulative_gain", "running_sum", "product_above"),
        *("rows_upto", "largest", "at_first", "at_last", "at_preferred", "expected_utility"),
    )
)
"""The operations that depend on the order of documents."""
_FIXED: Final = frozenset((*_BY_PLACE, "by_level", "all_rows", "retrieved"))
"""The operations whose value for a row follows from its rank and its level, or for a ranking from its length."""


class _Kind(IntEnum):
    """The ways in which a value may depend on the order of tied documents."""

    FIXED = 0
    """Not at all, given the rank and the level."""
    LINEAR = 1
    """Linearly in numbers whose expectations are known."""
    OTHER = 2
    """Otherwise, so that its expectation is not known."""


class ExpectedForm(NamedTuple):
    """A formula for weighted rows. `first` is the lowest relevant level of values at the first relevant document.

    Without such values, `first` is None.
    """

    formula: Formula
    first: int | None


def is_without_order(metric: BoundMetric) -> bool:
    """Return whether the order of documents does not matter to the metric."""
    return not (metric.formula.operations & _BY_ORDER)


@lru_cache(maxsize=1024)
def expected_form(formula: Formula) -> ExpectedForm | None:
    """Return the formula for weighted rows, or None if the expectation does not follow from the formula."""
    firsts: set[int | None] = set()
    score = _rewrite(formula.score, firsts)
    if _kind(formula.score) is _Kind.OTHER or len(firsts) != 1:
        return None
    return ExpectedForm(Formula.of(score, formula.worth, formula.missing), firsts.pop())


def _rewrite(term: Value, firsts: set[int | None]) -> Value:
    """Return the value with every reduction as a sum over weighted rows. Note the kinds of reductions in `firsts`."""
    if term.operation in ("sum", "at_last", "at_first"):
        by_row, rows = term.operands
        firsts.add(term.fixed[0] if term.operation == "at_first" else None)
        if term.operation == "at_last":
            one = spread(1.0, Space.ROW)
            by_row = value("relevant_only", Space.ROW, one, fixed=by_row.fixed)
        return value("sum", Space.RANKING, by_row, rows)
    if term.operation == "judged_weight":
        firsts.add(None)
    operands = [_rewrite(operand, firsts) for operand in term.operands]
    return value(term.operation, term.space, *operands, fixed=term.fixed, open=term.open)


def _kind(term: Value) -> _Kind:
    kinds = [_kind(operand) for operand in term.operands]
    most = max(kinds, default=_Kind.FIXED)
    name = term.operation
    if term.space < Space.RANKING or name in _FIXED:
        return most
    if name in ("count", "cumulative_gain", "judged_weight"):
        return _Kind.LINEAR
    if name in ("add", "subtract", "relevant_only"):
        return most
    # A fixed number times a linear one is linear. Two linear ones of a ranking are not independent, so the expectation
    # of their product is another than the product of their expectations.
    if name == "multiply":
        return _Kind(min(sum(kinds), _Kind.OTHER))
    # The expectation of 1/x does not follow from that of x.
    if name == "divide":
        return kinds[0] if kinds[1] is _Kind.FIXED else _Kind.OTHER
    if name in ("sum", "at_first") or (name == "at_last" and term.operands[0].operation == "count"):
        is_known = kinds[0] is not _Kind.OTHER and kinds[1] is _Kind.FIXED
        return _Kind.LINEAR if is_known else _Kind.OTHER
    if name in ("spread", "rows_upto", "minimum", "maximum", "floor", "absolute"):
        # A random number of a ranking is not independent of the rows of the same ranking.
        return _Kind.FIXED if most is _Kind.FIXED else _Kind.OTHER
    return _Kind.OTHER


def expected_scores(metrics: Sequence[BoundMetric], tied: TiedRun, judgments: Judgments) -> Scores:
    """Return the exact expectation of each metric's score on each topic: float64 [metrics, n].

    The scores of a topic that the run lacks are 0, and undefined scores are NaN. Raise ValueError for a metric without
    an `expected_form`.
    """
    table = np.empty((len(metrics), 1, judgments.topics))
    groups: dict[tuple[bool, int | None], list[int]] = {}
    forms: list[ExpectedForm] = []
    for number, metric in enumerate(metrics):
        if (form := expected_form(metric.formula)) is None:
            raise ValueError(f"the expectation of {metric.label} is not known: see `expected_form`")
        forms.append(form)
        groups.setdefault((metric.parameters[CONDENSED.name], form.first), []).append(number)
    for (condensed, first), members in groups.items():
        rows = _Expanded.of(tied, judgments, condensed)
        formulas, bound = [forms[number].formula for number in members], []
        for number, formula in zip(members, formulas, strict=True):
            # The formula for weighted rows may have a constant more than that of the metric.
            value_of = dict(zip(metrics[number].formula.settings, metrics[number].settings, strict=True))
            bound.append([value_of.get(name) or bound_setting("number", name[1]) for name in formula.settings])
        program, settings = program_of(formulas, bound)
        part = np.empty((len(members), 1, judgments.topics))
        weighted = _first_rows(rows, first) if first is not None else rows
        plain.work_out(program, settings, weighted.runs, np.arange(1), part, weighted.columns)
        table[members] = part
    return table[:, 0]


class _Expanded(NamedTuple):
    """The rows of all groups: one for each rank of a group and each of its levels above 0.

    - `weight` float64 [rows]: the probability that a document of the level is at the rank.
    - `counts` float64 [h+1, rows]: the expected count(r) of documents of each level or a higher one.
    - `group` and `step` int64 [rows]: the number of the group, and the place in it, from 0.
    """

    tied: TiedRun
    runs: JudgedRuns
    weight: Scores
    counts: Scores
    group: Integers
    step: Integers
    groups: _Groups

    @classmethod
    def of(cls, tied: TiedRun, judgments: Judgments, condensed: bool) -> _Expanded:
        groups = _Groups.of(tied, judgments, condensed)
        group, level = np.nonzero(groups.number[:, 1:])
        level += 1
        repeats = groups.size[group]
        step = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        group, level = np.repeat(group, repeats), np.repeat(level, repeats)
        order = np.lexsort((level, step, group))
        group, level, step = group[order], level[order], step[order]
        share = step / np.maximum(groups.size[group] - 1, 1)
        is_own = (level >= np.arange(groups.number.shape[1])[:, np.newaxis]).astype(np.float64)
        inside, above = groups.at_least[group].T, groups.above[group].T
        counts = above + is_own + share * (inside - is_own)
        # As in `Rankings.counts`: all rows are of level 1 or higher.
        counts[0] = counts[1]
        rank = groups.first[group] + step
        first = np.searchsorted(groups.topic[group], np.arange(judgments.topics + 1))
        missing = (tied.run.retrieved == 0)[np.newaxis]
        # The groups have ranks of the wanted kind, so both kinds are these.
        ranks = np.stack([rank, rank]).astype(np.uint32)
        runs = JudgedRuns(judgments, first[np.newaxis].astype(np.int64), ranks, level.astype(np.int8), missing)
        return cls(tied, runs, groups.number[group, level] / groups.size[group], counts, group, step, groups)

    def columns(self, runs: JudgedRuns, chosen: NDArray[np.intp]) -> Rankings:
        return _WeightedRankings(runs, chosen, self)


class _Groups(NamedTuple):
    """The groups with a document above level 0: topic, first rank, and size, int64 [groups] each.

    `number`, `at_least` and `above` are [groups, h+1], by level: the documents of the level, of it or a higher one, and
    the same in the groups above of the topic.
    """

    topic: Integers
    first: Integers
    size: Integers
    number: Integers
    at_least: Integers
    above: Integers

    @classmethod
    def of(cls, tied: TiedRun, judgments: Judgments, condensed: bool) -> _Groups:
        levels = judgments.level_counts.shape[1]
        begin, groups = tied.begin, len(tied.begin)
        relevant = tied.run.level > 0
        flat = tied.group[relevant] * levels + tied.run.level[relevant]
        number = np.bincount(flat, minlength=groups * levels).reshape(groups, levels)
        at_least = number[:, ::-1].cumsum(axis=1)[:, ::-1]
        before = at_least.cumsum(axis=0) - at_least
        topic = tied.topic[begin]
        # `before` counts over all topics. What stands before the first group of a topic belongs to others.
        above = before - before[np.searchsorted(topic, topic)]
        if condensed:
            first, size = begin - tied.run.starts[topic] + 1, tied.judged
        else:
            first, size = tied.first[begin], tied.size[begin]
        kept = at_least[:, 1] > 0
        return cls(*(column[kept] for column in (topic, first, size, number, at_least, above)))


def _first_rows(rows: _Expanded, rel: int) -> _Expanded:
    """Return the rows with the probability that their document is the first relevant one of the ranking as weight."""
    groups, level = rows.groups, rows.runs.level
    number = groups.at_least[:, rel]
    decides = (number > 0) & (groups.above[:, rel] == 0)
    chance = np.zeros(len(level))
    for group in np.flatnonzero(decides).tolist():
        members = slice(*np.searchsorted(rows.group, [group, group + 1]))
        chance[members] = _first_at(int(groups.size[group]), int(number[group]))[rows.step[members]]
    share = groups.number[rows.group, level] / np.maximum(number[rows.group], 1)
    counts = (level >= np.arange(len(rows.counts))[:, np.newaxis]).astype(np.float64)
    return rows._replace(weight=np.where(level >= rel, chance * share, 0.0), counts=counts)


def _first_at(size: int, relevant: int) -> Scores:
    """Return the probability that the first of `relevant` among `size` documents is at each place: float64 [size]."""
    left = np.linspace(size, 1, size)
    none_before = np.ones(size)
    np.cumprod(np.maximum(left - relevant, 0.0)[:-1] / left[:-1], out=none_before[1:])
    chances: Scores = none_before * np.minimum(relevant / left, 1.0)
    return chances


class _WeightedRankings(Rankings):
    """The columns of expanded rows. Sums are weighted."""

    def __init__(self, runs: JudgedRuns, chosen: NDArray[np.intp], rows: _Expanded) -> None:
        super().__init__(runs, chosen)
        self.weight = rows.weight
        self._tied = rows.tied
        # This takes the place of the cached property, which would count whole documents.
        self.counts = list(rows.counts)

    def by_ranking(self, operation: str, fixed: Sequence[int], settings: Sequence[Any]) -> Scores:
        tied = self._tied
        if operation != "judged_weight":
            whole = JudgedRuns.of([tied.run], self._runs.judgments)
            return values_by_ranking(operation, whole, self._chosen, fixed, settings).ravel()
        (condensed, upto), discount = fixed, cast(AnyDiscount, settings[0])
        topic, judged = tied.topic[tied.begin], tied.judged
        if condensed:  # every order has judged documents at the same ranks
            first, size = tied.begin - tied.run.starts[topic] + 1, judged
        else:
            first, size = tied.first[tied.begin], tied.size[tied.begin]
        ends = np.minimum(first + size - 1, upto)
        sums = discount.sums(int(ends.max(initial=0)))
        # The weights of a group's ranks, each with a judged document as often as its share of the group.
        weight = np.where(first <= upto, sums.take(ends) - sums.take(np.minimum(first - 1, ends)), 0.0)
        return np.bincount(topic, weight * judged / size, minlength=len(tied.run.retrieved)).astype(np.float64)
