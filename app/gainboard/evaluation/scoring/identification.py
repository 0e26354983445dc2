"""Which metric, order of ties, rule for topics and rounding give a number, and which tool computes it so.

Every name of `metrics/tools.py` is a metric, computed for each order of the run's documents. Rules for topics are means
of its scores by topic. A variant departs from a tool as often as its option, order, rule or rounding is another one.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput
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
_NUMBER: Final = re.compile(r"(-?[0-9]{0,15}(?:[.,]([0-9]{1,17}))?)(?<=[0-9]) ?%?")
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
    if not judged:
        raise BadInput("No topic of the run is judged. Check the topics' names.")
    # A file whose ranks repeat, or are no integers, has no order of ranks.
    joined = {order: judge(some, index).run for order, some in ordered.items() if len(some) == judged}
    return OrderedRun(joined, rankings.topics - judged)


class Numbers(NamedTuple):
    """Numbers as they were printed, one for each run or an empty text, and the name of their metric if it is known."""

    texts: Sequence[str]
    metric: str = ""

    def read(self) -> tuple[Floats, Floats]:
        """Return the numbers, and the last decimal place of each: NaN for an empty text. Raise BadInput."""
        values, units = np.full((2, len(self.texts)), np.nan)
        for place, text in enumerate(self.texts):
            if match := _NUMBER.fullmatch(text.strip()):
                values[place], units[place] = float(match[1].replace(",", ".")), 10.0 ** -len(match[2] or "")
            elif text.strip() or not any(map(str.strip, self.texts)):
                raise BadInput(f"{text[:40]!r} is not a number. Write it as it was printed, such as 0.3842.")
        return values, units


def pair_with_metrics(numbers: Sequence[str], metrics: Sequence[str]) -> list[Numbers]:
    """Return numbers of one run, each with its metric, or all with the one that is named. Raise BadInput."""
    if len(metrics) not in (0, 1, len(numbers)):
        raise BadInput(f"{len(numbers)} numbers and {len(metrics)} metrics. Name one metric, or one for each number.")
    names = [*metrics] * (len(numbers) if len(metrics) == 1 else 1) or [""] * len(numbers)
    return [Numbers([number], name) for number, name in zip(numbers, names, strict=True)]


class Variant(NamedTuple):
    """A metric as a tool prints it but for `departures`, which gives a number of the request.

    `difference` is how far the mean is from the number, of several runs the furthest. Unless `is_given`, no variant
    gives the number, and this is one of the nearest. `jointly` tells that the same tool, order, topics and rounding
    give all other numbers, too.
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
        """What the numbers of one table have in common."""
        return self.tool, self.order, self.topics, self.rounding


def in_words(variants: Iterable[Variant]) -> list[str]:
    """Return a sentence for each number and metric, with the tools that print it."""
    groups = defaultdict[str, defaultdict[str, list[str]]](lambda: defaultdict(list))
    for variant in variants:
        what = f"{variant.number} is {variant.expression}"
        if not variant.is_given:
            what = f"Nothing gives {variant.number}. {variant.expression} is {variant.difference:.2g} away"
        but = [*variant.departures, *([] if variant.jointly else ["not together with the other numbers"])]
        groups[what][f" but with {', '.join(but)}" if but else ""].append(f"{variant.name} of {variant.tool}")
    return [
        f"{what}: {'; '.join(', '.join(names) + but for but, names in some.items())}." for what, some in groups.items()
    ]


def identify(
    asked: Sequence[Numbers], runs: Sequence[OrderedRun], judgments: Judgments, scale: Scale, gains: str = "linear"
) -> list[Variant]:
    """Return what gives each of several numbers, the most plausible first: one tool for all of them, few departures.

    Raise BadInput for what is no number, and BadExpression for a metric without a meaning here.
    """
    called = dict.fromkeys(numbers.metric for numbers in asked)
    meant = {name: [resolve(ours, scale) for ours in name and (name_here(name) or [name])] for name in called}
    cutoffs = {name: _CUTOFF.findall(name) for name in meant}
    names = {
        (metric.label, TOOLS[0]): Name(TOOLS[0], metric.label, metric) for some in meant.values() for metric in some
    }
    for name in every_name(scale, gains, [*chain(*cutoffs.values())] if all(cutoffs.values()) else ()):
        if names.setdefault(place := (name.metric.label, name.tool), name).option and not name.option:
            names[place] = name
    metrics = {name.metric.label: name.metric for name in names.values()}
    orders = [order for order in ORDERS if all(order in run.joined for run in runs)]
    means = dict(zip(metrics, _means([*metrics.values()], runs, orders, judgments), strict=True))
    found = []
    for numbers in asked:
        families, ends = {metric.metric for metric in meant[numbers.metric]}, cutoffs[numbers.metric]
        wanted = [
            name
            for name in names.values()
            if not families or (name.metric.metric in families and (not ends or str(name.metric.cutoff) in ends))
        ]
        found.append(_find(numbers, wanted, orders, np.stack([means[name.metric.label] for name in wanted])))
    ways = [{variant.way for variant in some} for some in found if some[0].is_given]
    jointly = set.intersection(*ways) if ways else set()
    return [variant for some in found for variant in _most_plausible(some, jointly)]


def _find(numbers: Numbers, names: Sequence[Name], orders: Sequence[DocumentOrder], means: Floats) -> list[Variant]:
    """Return the variants that give the numbers, or the nearest ones. `means` are float64 [names, runs, orders, rules]."""
    values, units = numbers.read()
    given = ~np.isnan(values)
    value, unit = (column[given][:, np.newaxis, np.newaxis] for column in (values, units))
    percent = np.where([name.metric.is_bounded and (value > 1).any() for name in names], 100, 1)
    error = means[:, given] * percent[:, np.newaxis, np.newaxis, np.newaxis] - value
    hits = np.stack([(abs(error) <= unit / 2 + _SLACK).all(1), ((error >= -_SLACK) & (error < unit)).all(1)])
    away = np.nan_to_num(abs(error).max(axis=1), nan=np.inf)
    if not (is_given := bool(hits.any())):
        hits[0] = away <= np.unique(away.round(DECIMALS))[:_NEAREST][-1] + _SLACK
    texts = [text.strip() for text in numbers.texts if text.strip()]
    what = texts[0] if len(texts) == 1 else f"{numbers.metric or 'a column'} of {len(texts)} runs"
    variants = []
    for cut, place, order_place, rule in np.argwhere(hits).tolist():
        (tool, called, metric, option), order, topics = names[place], orders[order_place], [*RULES][rule]
        departures = [
            *([option] if option else []),
            *([ORDERS[order][2]] if order != tool.order else []),
            *([RULES[topics]] if topics != tool.topics else []),
            *(["decimals that are cut off"] if cut else []),
        ]
        way = (departures, order, topics, ("rounded", "cut off")[cut], float(away[place, order_place, rule]), is_given)
        variants.append(Variant(what, metric.label, tool.name, called, *way))
    return variants


def _most_plausible(variants: Sequence[Variant], jointly: Set[tuple[str, ...]]) -> Iterator[Variant]:
    """Yield the variants of each metric with the fewest departures, those that go with the other numbers first."""
    least = dict[str, tuple[float, bool, int]]()

    def cost(variant: Variant) -> tuple[float, bool, int]:
        return 0.0 if variant.is_given else variant.difference, variant.way not in jointly, len(variant.departures)

    for variant in sorted(variants, key=cost):
        if least.setdefault(variant.expression, cost(variant)) == cost(variant) and len(least) <= _SHOWN:
            yield variant._replace(jointly=variant.way in jointly or not variant.is_given)


def _means(
    metrics: Sequence[BoundMetric], runs: Sequence[OrderedRun], orders: Sequence[DocumentOrder], judgments: Judgments
) -> Floats:
    """Return the means of runs, float64 [metrics, runs, orders, rules]."""
    kept, by_order = dict[tuple[bytes, ...], Floats](), []
    unjudged = np.array([run.unjudged for run in runs])[:, np.newaxis]
    for order in orders:
        joined = [run.joined[order] for run in runs]
        # Few runs have ties that matter. Without them, all orders have the same scores.
        same = tuple(np.array(part).tobytes() for run in joined for part in (run.rank, run.level, run.document))
        if same not in kept:
            ranked = JudgedRuns.of(joined, judgments)
            scores = score_all(metrics, ranked)
            zeros = np.where(np.isnan(scores), 0.0, scores)
            both = np.where(ranked.missing, np.nan, zeros)
            beyond = np.where(np.arange(unjudged.max()) < unjudged, 0.0, np.nan)
            every = np.concatenate((both, np.broadcast_to(beyond, (len(metrics), *beyond.shape))), axis=-1)
            by_rule = (scores, both, zeros, np.where(ranked.missing, np.nan, scores), every)
            kept[same] = np.stack([mean_all(metrics, table) for table in by_rule], axis=-1)
        by_order.append(kept[same])
    return np.stack(by_order, axis=2)
