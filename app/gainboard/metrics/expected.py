"""Expected scores over all orders of tied documents, which are equally likely.

An expectation is exact where it follows from the metric's own formula: a sum over documents of terms in which count(r)
and cg(r) are linear, or a value at the first relevant document. Each group of ties becomes one row for each of its
ranks and levels, with the probability of that level at that rank as its weight. In such a row, count(r) and cg(r) are
expectations, too, given that the row's document is there. So the formula is computed as it is, on other rows.

For a group of m documents after rank s, of which k have at least some level, with c such documents above the group: a
document of this level at rank s+j has c + 1 + (k-1)(j-1)/(m-1) such documents at its rank or above, on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from gainboard.metrics import plain
from gainboard.metrics.bound import BoundMetric
from gainboard.metrics.columns import Rankings, values_by_ranking
from gainboard.metrics.judgments import Judgments
from gainboard.metrics.parameters import CONDENSED
from gainboard.metrics.program import Formula, bound_setting, program_of
from gainboard.metrics.rankings import JudgedRuns
from gainboard.metrics.retrieval import Scores
from gainboard.metrics.ties import Integers, TiedRun
from gainboard.metrics.values import Space, Value, spread, value
from gainboard.metrics.views import AnyDiscount

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
        *("rows_upto", "largest", "at_first", "at_last", "at_preferred"),
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
