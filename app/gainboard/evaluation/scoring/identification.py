"""Which metric, order of ties, rule for topics and rounding give a number, and which tool computes it so.

Every name of `metrics/tools.py` is a metric, computed for each order of the run's documents. Rules for topics are means
of its scores by topic. A variant departs from a tool as often as its option, order, rule or rounding is another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadExpression, BadInput
from gainboard.evaluation.runs.join import QrelsIndex, judge
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Judgments, Scale, mean_all, resolve, score_all
from gainboard.metrics.names import name_here
from gainboard.metrics.tools import TOOLS, DocumentOrder, Name, TopicRule, every_name
from gainboard.trec import Ranking, RunReader
from gainboard.trec.findings import Faults
from gainboard.trec.runs import TieOrder, make_ranking
from gainboard.vocabulary import DECIMALS, OrderBy

Floats = NDArray[np.float64]
ORDERS: Final[Mapping[DocumentOrder, tuple[OrderBy, TieOrder, str]]] = {
    "descending ids": ("score", "descending", "ties by descending ids"),
    "single precision": ("score32", "descending", "scores in single precision, ties by descending ids"),
    "ascending ids": ("score", "ascending", "ties by ascending ids"),
    "order of the file": ("score", "file", "ties in the order of the file"),
    "rank column": ("rank", "descending", "documents in the order of the rank column"),
}
RULES: Final[Mapping[TopicRule, str]] = {
    "relevant": "the mean over the topics of the qrels that have relevant documents",
    "both": "the mean over the topics that qrels and run have",
    "qrels": "the mean over all topics of the qrels",
    "both relevant": "the mean over the topics of the run that have relevant documents",
    "run": "the mean over all topics of the run, judged or not",
}
_NEAREST, _SHOWN, _SLACK = 3, 20, 10.0**-DECIMALS
_NUMBER: Final = re.compile(r"-?[0-9]{0,15}(?:[.,]([0-9]{1,17}))? ?%?(?<=[0-9%])")
_CUTOFF: Final = re.compile("[@_]([0-9]+)$")


class OrderedRun(NamedTuple):
    """A run joined with judgments in each order that it can have, and the number of its topics without judgments."""

    joined: Mapping[DocumentOrder, JudgedRun]
    unjudged: int


def judge_in_orders(
    rankings: Iterable[Ranking], index: QrelsIndex, depth: int, *, ignore_identical_ids: bool
) -> OrderedRun:
    """Join a run in each order of its documents. The `rankings` must be a `RunReader`, which has their lines."""
    assert isinstance(rankings, RunReader)
    ordered, judged = defaultdict[DocumentOrder, list[Ranking]](list), 0
    for ranking in rankings:
        lines = rankings.lines
        if lines is None or ranking.topic not in index.rows:
            continue
        judged += 1
        for order, (order_by, ties, _) in ORDERS.items():
            faults = Faults(len(lines.documents) + 1)
            if made := make_ranking(lines, order_by, depth, faults, ignore_identical_ids, ties):
                ordered[order].append(made[0])
    # A file whose ranks repeat, or are no integers, has no order of ranks.
    joined = {order: judge(some, index).run for order, some in ordered.items() if len(some) == judged}
    return OrderedRun(joined, rankings.topics - judged)


@dataclass(frozen=True)
class Numbers:
    """Numbers as they were printed, one for each run or an empty text, and the name of their metric if it is known."""

    texts: Sequence[str]
    metric: str = ""

    def read(self) -> tuple[Floats, Floats]:
        """Return the numbers, and the last decimal place of each: NaN for an empty text. Raise BadInput."""
        values, units = np.full((2, len(self.texts)), np.nan)
        for place, text in enumerate(self.texts):
            if match := _NUMBER.fullmatch(text.strip()):
                values[place], units[place] = (
                    float(match[0].strip("% ").replace(",", ".")),
                    10.0 ** -len(match[1] or ""),
                )
            elif text.strip():
                raise BadInput(f"{text[:40]!r} is not a number. Write it as it was printed, such as 0.3842.")
        if np.isnan(values).all():
            raise BadInput(f"There is no number{self.metric and f' of {self.metric}'}. Give one, such as 0.3842.")
        return values, units


class Variant(NamedTuple):
    """A metric as a tool prints it but for `departures`, which gives a number of the request.

    `difference` is how far the mean is from the number, of several runs the furthest. If `is_given` is false, no
    variant gives the number, and this is one of the nearest. `jointly` tells that the same tool, order, topics and
    rounding give all other numbers, too.
    """

    number: str
    expression: str
    tool: str
    name: str
    departures: Sequence[str]
    order: DocumentOrder
    topics: TopicRule
    rounding: str
    difference: float
    is_given: bool
    jointly: bool = True

    @property
    def way(self) -> tuple[str, ...]:
        """What numbers of one table have in common."""
        return self.tool, self.order, self.topics, self.rounding


def in_words(variants: Iterable[Variant]) -> list[str]:
    """Return a sentence for each metric, with the tools that print the number."""
    groups = defaultdict[tuple[str, ...], list[str]](list)
    for variant in variants:
        what = f"{variant.number} is {variant.expression}"
        if not variant.is_given:
            what = f"Nothing gives {variant.number}. {variant.expression} is {variant.difference:.2g} away"
        apart = [] if variant.jointly else ["not together with the other numbers"]
        groups[what, *variant.departures, *apart].append(f"{variant.name} of {variant.tool}")
    return [
        f"{what}: {', '.join(names)}{', but with ' if but else ''}{'; '.join(but)}."
        for (what, *but), names in groups.items()
    ]


def identify(
    asked: Sequence[Numbers], runs: Sequence[OrderedRun], judgments: Judgments, scale: Scale, gains: str = "linear"
) -> list[Variant]:
    """Return what gives each of several numbers, the most plausible first: one tool for all of them, few departures.

    Raise BadInput for what is no number, and BadExpression for a metric without a meaning here.
    """
    meant = [_meanings(numbers.metric, scale) for numbers in asked]
    cutoffs = [set(_CUTOFF.findall(numbers.metric)) for numbers in asked]
    named = (Name(TOOLS[0], metric.label, metric) for metrics in meant for metric in metrics)
    names = defaultdict[str, dict[str, Name]](dict)
    for name in (*named, *every_name(scale, gains, [*set().union(*cutoffs)] if all(cutoffs) else ())):
        of_label = names[name.metric.label]
        if of_label.setdefault(name.tool.name, name).option and not name.option:
            of_label[name.tool.name] = name
    metrics = [next(iter(of_label.values())).metric for of_label in names.values()]
    orders = [order for order in ORDERS if all(order in run.joined for run in runs)]
    means, found = _means(metrics, runs, orders, judgments), []
    for numbers, wanted, ends in zip(asked, meant, cutoffs, strict=True):
        families = {metric.metric for metric in wanted} or {metric.metric for metric in metrics}
        are_meant = [metric.metric in families and (not ends or str(metric.cutoff) in ends) for metric in metrics]
        means_here = np.where(np.array(are_meant)[:, np.newaxis, np.newaxis, np.newaxis], means, np.nan)
        found.append(_find(numbers, [*names.values()], orders, means_here))
    ways = [{variant.way for variant in some} for some in found if some[0].is_given]
    jointly = set.intersection(*ways) if ways else set()
    shown = []
    for some in found:
        least = dict[str, tuple[float, bool, int]]()
        costs = [
            (v.difference * (not v.is_given), v.way not in jointly and len(found) > 1, len(v.departures)) for v in some
        ]
        for place in sorted(range(len(some)), key=costs.__getitem__):
            if least.setdefault(some[place].expression, costs[place]) == costs[place] and len(least) <= _SHOWN:
                shown.append(some[place]._replace(jointly=not costs[place][1]))
    return shown


def _find(
    numbers: Numbers, names: Sequence[Mapping[str, Name]], orders: Sequence[DocumentOrder], means: Floats
) -> list[Variant]:
    """Return all variants that give the numbers, or those of the nearest metrics."""
    values, units = numbers.read()
    given = ~np.isnan(values)
    value, unit = (column[given][:, np.newaxis, np.newaxis] for column in (values, units))
    in_percent = [(value > 1).any() and next(iter(of.values())).metric.is_bounded for of in names]
    error = means[:, given] * np.where(in_percent, 100, 1)[:, np.newaxis, np.newaxis, np.newaxis] - value
    hits = np.stack([(abs(error) <= unit / 2 + _SLACK).all(1), ((error >= -_SLACK) & (error < unit)).all(1)])
    away = np.nan_to_num(abs(error).max(axis=1), nan=np.inf)
    if not (is_given := bool(hits.any())):
        nearest = away.min(axis=(1, 2))
        few = np.argsort(nearest, kind="stable")[:_NEAREST]
        hits[0, few] = away[few] <= nearest[few, np.newaxis, np.newaxis] + _SLACK
    text = next(text for text in numbers.texts if text.strip())
    what = f"{numbers.metric or 'a column'} of {given.sum()} runs" if given.sum() > 1 else text.strip()
    variants = []
    for cut, row, place, rule in np.argwhere(hits).tolist():
        order, topics = orders[place], [*RULES][rule]
        for label, tool, name in ((name.metric.label, name.tool, name) for name in names[row].values()):
            departures = [name.option] if name.option else []
            departures += [ORDERS[order][2]] if order != tool.order else []
            departures += [RULES[topics]] if topics != tool.topics else []
            departures += ["decimals that are cut off"] if cut else []
            way = (departures, order, topics, ("rounded", "cut off")[cut], float(away[row, place, rule]), is_given)
            variants.append(Variant(what, label, tool.name, name.name, *way))
    return variants


def _meanings(name: str, scale: Scale) -> list[BoundMetric]:
    """Return the metrics that tools and papers call by a name; none for an empty one. Raise BadExpression."""
    found = []
    for ours in (name, *name_here(name)) if name else ():
        with suppress(BadExpression):
            found.append(resolve(ours, scale))
    return found or ([resolve(name, scale)] if name else [])


def _means(
    metrics: Sequence[BoundMetric], runs: Sequence[OrderedRun], orders: Sequence[DocumentOrder], judgments: Judgments
) -> Floats:
    """Return the means of runs, float64 [metrics, runs, orders, rules]."""
    kept, by_order = dict[bytes, Floats](), []
    unjudged = np.array([run.unjudged for run in runs])[:, np.newaxis]
    for order in orders:
        joined = JudgedRuns.of([run.joined[order] for run in runs], judgments)
        # Few runs have ties that matter. Without them, all orders have the same scores.
        same = joined.first.tobytes() + joined.rank.tobytes() + joined.level.tobytes()
        if same not in kept:
            scores = score_all(metrics, joined)
            zeros = np.where(np.isnan(scores), 0.0, scores)
            both = np.where(joined.missing, np.nan, zeros)
            nothing = np.where(np.arange(unjudged.max()) < unjudged, 0.0, np.nan)
            beyond = np.broadcast_to(nothing, (len(metrics), *nothing.shape))
            by_rule: Mapping[TopicRule, Floats] = {
                "relevant": scores,
                "both": both,
                "qrels": zeros,
                "both relevant": np.where(joined.missing, np.nan, scores),
                "run": np.concatenate((both, beyond), axis=-1),
            }
            kept[same] = np.stack([mean_all(metrics, by_rule[rule]) for rule in RULES], axis=-1)
        by_order.append(kept[same])
    return np.stack(by_order, axis=2)
