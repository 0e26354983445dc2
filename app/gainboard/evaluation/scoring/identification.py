"""This finds which metric, order of ties, topics and rounding give a number, and which tool prints it.

Every name of `metrics/tools.py` is a metric, computed for each order of the run's documents. Means over other topics
follow from its scores by topic. A variant departs from a tool in an option, the order, the topics or the rounding.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from itertools import chain
from operator import attrgetter, itemgetter
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression, BadInput
from gainboard.evaluation.runs.join import QrelsIndex, judge
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Judgments, Scale, mean_all, resolve, score_all
from gainboard.metrics.names import name_here
from gainboard.metrics.tools import ASCENDING, BOTH, FILE, IDS, QRELS, RANKS, RELEVANT, SINGLE, Name, every_name
from gainboard.trec import Ranking, RunReader
from gainboard.trec.findings import Faults
from gainboard.trec.runs import TieOrder, make_ranking
from gainboard.vocabulary import DECIMALS, OrderBy, RunOrder, Variant

Floats = NDArray[np.float64]
OrderedRun = Mapping[str, JudgedRun]
"""A run joined with judgments, by each order that its documents can have."""
_ORDERS: Final[Mapping[str, tuple[OrderBy, TieOrder]]] = {
    IDS: ("score", "descending"),
    SINGLE: ("score32", "descending"),
    ASCENDING: ("score", "ascending"),
    FILE: ("score", "file"),
    RANKS: ("rank", "descending"),
}
_TOPICS: Final = (RELEVANT, BOTH, QRELS, "topics of the run with relevant documents")
_NEAREST, _SHOWN, _SLACK = 3, 20, 10.0**-DECIMALS
_WAY: Final = attrgetter("tool", "order", "topics", "rounding")


def judge_in_orders(rankings: Iterable[Ranking], index: QrelsIndex, depth: int, order: RunOrder) -> OrderedRun:
    """Join a run in each order of its documents. The `rankings` must be a `RunReader`, which has their lines."""
    assert isinstance(rankings, RunReader)
    ordered, judged = defaultdict[str, list[Ranking]](list), 0
    for ranking in rankings:
        lines = rankings.lines
        if lines is None or ranking.topic not in index.rows:
            continue
        judged += 1
        for name, (order_by, ties) in _ORDERS.items():
            faults = Faults(len(lines.documents) + 1)
            if made := make_ranking(lines, order_by, depth, faults, order.ignore_identical_ids, ties):
                ordered[name].append(made[0])
    if not judged:
        raise BadInput("No topic of the run is judged. Check the topics' names.")
    # A file whose ranks repeat, or are no integers, has no order of ranks.
    return {name: judge(some, index).run for name, some in ordered.items() if len(some) == judged}


class Numbers(NamedTuple):
    """Numbers as they were printed, one for each run or an empty text, and the name of their metric if it is known."""

    texts: Sequence[str]
    metric: str = ""
    is_heading: bool = False
    """True if `metric` heads a column of a table. Such a text need not be the name of a metric."""

    def meant(self, scale: Scale) -> list[BoundMetric]:
        """Return our metrics of this name, or none if any may be meant. Raise BadExpression for an unknown name."""
        with suppress(BadExpression) if self.is_heading else nullcontext():
            called = name_here(self.metric) or [self.metric]
            return [resolve(ours, scale) for ours in called] if self.metric else []
        return []

    def read(self) -> tuple[Floats, Floats]:
        """Return the numbers, and the last decimal place of each: NaN for an empty text. Raise BadInput."""
        values, units = np.full((2, len(self.texts)), np.nan)
        for place, text in enumerate(self.texts):
            if match := re.fullmatch(r"(-?[0-9]{0,15}(?:[.,]([0-9]{1,17}))?)(?<=[0-9]) ?%?", text.strip()):
                values[place], units[place] = float(match[1].replace(",", ".")), 10.0 ** -len(match[2] or "")
            elif text.strip() or not any(map(str.strip, self.texts)):
                where, choice = (f" (run {place + 1}, {self.metric})", ", or nothing") if self.is_heading else ("", "")
                raise BadInput(f"{text[:40]!r}{where} is not a number. Write it as printed, such as 0.3842{choice}.")
        return values, units


def in_words(variants: Iterable[Variant]) -> list[str]:
    """Return a sentence for each number and metric, with the tools that print it."""
    sentences = defaultdict[str, defaultdict[str, list[str]]](lambda: defaultdict(list))
    for variant in variants:
        what = f"{variant.number} is {variant.expression}"
        if not variant.is_given:
            what = f"Nothing gives {variant.number}. {variant.expression} is {variant.difference:.2g} away"
        but = f", but with {' and '.join(variant.departures)}" if variant.departures else ""
        but += "" if variant.jointly else ", not together with the other numbers"
        sentences[what][but].append(f"{variant.name} of {variant.tool}")
    parts = {what: [", ".join(names) + but for but, names in some.items()] for what, some in sentences.items()}
    return [f"{what}: {'; '.join(some)}." for what, some in parts.items()]


def identify(
    asked: Sequence[Numbers], runs: Sequence[OrderedRun], judgments: Judgments, scale: Scale, gains: str = "linear"
) -> list[Variant]:
    """Return what gives each of several numbers, the most plausible first: one tool for all of them, few departures.

    Raise BadInput for what is no number, and BadExpression for a metric without a meaning here.
    """
    # NTCIREVAL prints @0010.
    cutoffs = [re.findall("[@_]0*([0-9]+)$", numbers.metric) for numbers in asked]
    meant = [numbers.meant(scale) for numbers in asked]
    names = every_name(scale, gains, [*chain(*cutoffs)] if all(cutoffs) else (), chain(*meant))
    metrics = {name.metric.label: name.metric for name in names}
    orders = [order for order in _ORDERS if all(order in run for run in runs)]
    means = dict(zip(metrics, _means([*metrics.values()], runs, orders, judgments), strict=True))
    found = []
    for numbers, some, ends in zip(asked, meant, cutoffs, strict=True):
        meaning = [*some, *(name.metric for name in names if name.name == numbers.metric)]
        families = {metric.metric for metric in meaning or metrics.values()}
        wanted = [name for name in names if name.metric.metric in families]
        wanted = [name for name in wanted if str(name.metric.cutoff) in ends] or wanted
        found.append(_find(numbers, wanted, orders, np.stack([means[name.metric.label] for name in wanted])))
    ways = [set(map(_WAY, variants)) for variants in found if variants[0].is_given]
    jointly, shown = set.intersection(*ways) if ways else set(), list[Variant]()
    for variants in found:
        least = dict[str, tuple[float, int]]()
        apart = [_WAY(each) not in jointly if each.is_given else each.difference for each in variants]
        costs = [(round(cost, DECIMALS), len(each.departures)) for cost, each in zip(apart, variants, strict=True)]
        for cost, variant in sorted(zip(costs, variants, strict=True), key=itemgetter(0)):
            is_shown = variant.expression in least or len(least) < _SHOWN
            if is_shown and least.setdefault(variant.expression, cost) == cost:
                shown.append(replace(variant, jointly=not variant.is_given or not cost[0]))
    return shown


def _find(numbers: Numbers, names: Sequence[Name], orders: Sequence[str], means: Floats) -> list[Variant]:
    """Return the variants that give the numbers, or the nearest. `means` are float64 [names, runs, orders, topics]."""
    values, units = numbers.read()
    given = ~np.isnan(values)
    value, unit = (column[given][:, np.newaxis, np.newaxis] for column in (values, units))
    percent = [100.0 if (value > 1).any() and name.metric.is_bounded else 1.0 for name in names]
    error = means[:, given] * np.array(percent)[:, np.newaxis, np.newaxis, np.newaxis] - value
    hits = np.stack([(abs(error) <= unit / 2 + _SLACK).all(1), ((error >= -_SLACK) & (error < unit)).all(1)])
    away = np.nan_to_num(abs(error).max(axis=1), nan=np.inf)
    if not (is_given := bool(hits.any())):
        hits[0] = away <= np.unique(away.round(DECIMALS))[:_NEAREST][-1] + _SLACK
    texts = [text.strip() for text in numbers.texts if text.strip()]
    what = texts[0] if len(texts) == 1 else f"{numbers.metric or 'a column'} of {len(texts)} runs"
    variants = []
    for cut, place, *at in np.argwhere(hits).tolist():
        (tool, called, metric, option), order, topics = names[place], orders[at[0]], _TOPICS[at[1]]
        departs = (option, order != tool.order and order, topics != tool.topics and topics, cut and "decimals cut off")
        way = (order, topics, ("rounded", "cut off")[cut], float(away[place, *at]), is_given)
        variants.append(Variant(what, metric.label, tool.name, called, [each for each in departs if each], *way))
    return variants


def _means(
    metrics: Sequence[BoundMetric], runs: Sequence[OrderedRun], orders: Sequence[str], judgments: Judgments
) -> Floats:
    """Return the means of runs, float64 [metrics, runs, orders, topics]."""
    kept, by_order = dict[tuple[bytes, ...], Floats](), []
    for joined in ([run[order] for run in runs] for order in orders):
        # Few runs have ties that matter. Without them, all orders have the same scores.
        same = tuple(np.array(part).tobytes() for run in joined for part in (run.rank, run.level, run.document))
        if same not in kept:
            ranked = JudgedRuns.of(joined, judgments)
            scores = score_all(metrics, ranked)
            zeros = np.where(np.isnan(scores), 0.0, scores)
            tables = (scores, np.where(ranked.missing, np.nan, zeros), zeros, np.where(ranked.missing, np.nan, scores))
            kept[same] = np.stack([mean_all(metrics, table) for table in tables], axis=-1)
        by_order.append(kept[same])
    return np.stack(by_order, axis=2)
