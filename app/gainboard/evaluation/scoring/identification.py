"""Which metric, order of ties, rule for topics and rounding give a number, and which tool computes it so.

Every name of `metrics/tools.py` is a metric, computed for each order of the run's documents. Rules for topics and
roundings are arithmetic on its scores by topic. A variant departs from a tool as often as its option, order, rule or
rounding is not the tool's.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput
from gainboard.evaluation.runs.join import QrelsIndex, judge
from gainboard.metrics import BoundMetric, JudgedRun, JudgedRuns, Judgments, Scale, mean_all, score_all
from gainboard.metrics.tools import TOOLS, DocumentOrder, Name, TopicRule, every_name, meanings
from gainboard.trec import Ranking, RunReader
from gainboard.trec.findings import Faults
from gainboard.trec.runs import TieOrder, make_ranking
from gainboard.vocabulary import DECIMALS, OrderBy

Floats = NDArray[np.float64]
ORDERS: Final[Mapping[DocumentOrder, tuple[OrderBy, TieOrder, str]]] = {
    "descending ids": ("score", "descending", "ties by descending ids"),
    "single precision": ("score32", "descending", "ties by descending ids, of scores in single precision"),
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
ROUNDINGS: Final = ("rounded", "cut off", "percent, rounded", "percent, cut off")
MOST_NUMBERS: Final = 20
_NEAREST, _SHOWN, _SLACK = 3, 20, 10.0**-DECIMALS
_APART: Final = 100
"""What a variant costs more if its tool does not give the other numbers: more than any departures."""
_NUMBER: Final = re.compile(r"([+-]?(?:[0-9]{1,15}(?:[.,]([0-9]{0,17}))?|[.,]([0-9]{1,17})))\s*%?")


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
    # A file whose ranks repeat or are no integers has no order of ranks.
    joined = {order: judge(some, index).run for order, some in ordered.items() if len(some) == judged}
    return OrderedRun(joined, rankings.topics - judged)


class Numbers(NamedTuple):
    """Numbers that one variant shall give, one or none for each run, and the name of their metric if it is known.

    `values` and `units`, the last decimal place of each, are float64 [runs]: NaN for an empty text.
    """

    texts: Sequence[str]
    metric: str
    values: Floats
    units: Floats

    @classmethod
    def of(cls, texts: Sequence[str], metric: str = "") -> Numbers:
        """Read numbers as they were printed. Raise BadInput."""
        matches = [_NUMBER.fullmatch(text.strip() or "0") for text in texts]
        bad = [text for text, match in zip(texts, matches, strict=True) if match is None]
        if bad or not any(text.strip() for text in texts):
            name = f" of {metric}" if metric else ""
            raise BadInput(f"{(bad or [''])[0][:40]!r} is not a number{name}. Write it as printed, such as 0.3842.")
        values, units = np.full((2, len(texts)), np.nan)
        for place, match in enumerate(matches):
            if match and texts[place].strip():
                values[place] = float(match[1].replace(",", "."))
                units[place] = 10.0 ** -len(match[2] or match[3] or "")
        return cls(texts, metric, values, units)


@dataclass(frozen=True)
class Match:
    """Variants that give the same numbers: their `means` by run, in percent if the numbers are.

    `departures` tell what they do otherwise than `tools`, which are pairs of a tool and its name for the metric. All
    `orders` give the numbers with the first of `topics`, and all `topics` with the first of `orders`. `jointly` tells
    that the tool gives the other numbers with this order, rule and rounding, too. `difference` is how far the furthest
    mean is from its number.
    """

    expressions: Sequence[str]
    tools: Sequence[tuple[str, str]]
    departures: Sequence[str]
    jointly: bool
    orders: Sequence[DocumentOrder]
    topics: Sequence[TopicRule]
    rounding: str
    means: Sequence[float | None]
    difference: float


class Identified(NamedTuple):
    """The variants that give some numbers, the most plausible ones first. If none does, these are the nearest ones.

    `total` is the number of metrics among those that give them.
    """

    numbers: Numbers
    variants: int
    total: int
    matches: Sequence[Match]

    def sentences(self) -> Iterator[str]:
        """Yield in words what was found."""
        given = [text.strip() for text in self.numbers.texts if text.strip()]
        what = given[0] if len(given) == 1 else f"{self.numbers.metric or 'a column'} of {len(given)} runs"
        if not self.total:
            yield f"{what}: none of {self.variants:,} variants gives {'it' if len(given) == 1 else 'them'}."
        for match in self.matches:
            tools = ", ".join(f"{tool} ({name})" for tool, name in match.tools)
            parts = [
                f"{count} departure{'s' * (count > 1)} from {tools}" if (count := len(match.departures)) else tools
            ]
            parts += match.departures
            if not match.jointly:
                parts.append("the other numbers are not given in this way")
            expressions = " or ".join(match.expressions)
            if self.total:
                yield f"{what} is {expressions}: {'; '.join(parts)}."
            else:
                yield f"The nearest is {expressions}, {match.difference:.2g} away: {'; '.join(parts)}."
        if (more := self.total - sum(len(match.expressions) for match in self.matches)) > 0:
            yield f"{what} is also given by {more} metrics that are less plausible."


def identify(
    asked: Sequence[Numbers], runs: Sequence[OrderedRun], judgments: Judgments, scale: Scale, gains: str = "linear"
) -> list[Identified]:
    """Return what gives the numbers of runs. Raise BadExpression for the name of a metric that no tool has."""
    meant = {numbers.metric: meanings(numbers.metric, scale, gains) for numbers in asked if numbers.metric}
    cutoffs = {name.cutoff for names in meant.values() for name in names}
    # Without a name or a cut-off, all usual ones are tried.
    are_known = cutoffs and "" not in cutoffs and len(meant) == len({numbers.metric for numbers in asked})
    names = chain(*meant.values(), every_name(scale, gains, sorted(cutoffs) if are_known else ()))
    return Variants.of(names, runs, judgments).explain(asked, meant)


@dataclass(frozen=True)
class Variants:
    """All variants of some runs.

    - `means` float64 [metrics, runs, orders, rules].
    - `departures` float16 [metrics, tools, orders, rules]: infinity if the tool has no name for the metric.
    - `names`: what a tool calls a metric, by the places of both.
    """

    metrics: Sequence[BoundMetric]
    orders: Sequence[DocumentOrder]
    means: Floats
    departures: NDArray[np.float16]
    names: Mapping[tuple[int, int], Name]

    @classmethod
    def of(cls, names: Iterable[Name], runs: Sequence[OrderedRun], judgments: Judgments) -> Variants:
        """Compute the variants of runs that are joined with these judgments, for metrics of these names."""
        metrics, rows, best = list[BoundMetric](), dict[str, int](), dict[tuple[int, int], Name]()
        for name in names:
            if (row := rows.setdefault(name.metric.label, len(rows))) == len(metrics):
                metrics.append(name.metric)
            place = (row, TOOLS.index(name.tool))
            best[place] = min(best.get(place, name), name, key=lambda known: known.options)
        options = np.full((len(metrics), len(TOOLS), 1, 1), np.inf, np.float16)
        for place, name in best.items():
            options[place] = name.options
        orders = [order for order in ORDERS if all(order in run.joined for run in runs)]
        means = dict[tuple[bytes, ...], Floats]()
        by_order = []
        for order in orders:
            joined = [run.joined[order] for run in runs]
            # Few runs have ties that matter. Without them, all orders have the same scores.
            key = tuple(
                np.array(part).tobytes() for run in joined for part in (run.starts, run.rank, run.level, run.document)
            )
            if key not in means:
                unjudged = np.array([run.unjudged for run in runs])
                means[key] = _means(metrics, JudgedRuns.of(joined, judgments), unjudged)
            by_order.append(means[key])
        others = [
            [[(order != tool.order) + (rule != tool.topics) for rule in RULES] for order in orders] for tool in TOOLS
        ]
        return cls(metrics, orders, np.stack(by_order, axis=2), options + np.array(others, np.float16), best)

    def explain(self, asked: Sequence[Numbers], meant: Mapping[str, Sequence[Name]]) -> list[Identified]:
        """Return what gives each of several numbers, first by the tools that give all of them in one way.

        `meant` are the meanings of the numbers' metrics: only these metrics are tried for them.
        """
        tries = [self._try(numbers, meant.get(numbers.metric, ())) for numbers in asked]
        together = np.zeros((len(ROUNDINGS), *self.departures.shape[1:]))
        for tried in tries:
            together += self._costs(tried.hits).min(axis=1) if tried.are_given else 0
        apart = np.where(np.isfinite(together), 0, _APART)[:, np.newaxis]
        return [
            self._identify(numbers, tried, self._costs(tried.hits) + apart)
            for numbers, tried in zip(asked, tries, strict=True)
        ]

    def _costs(self, hits: NDArray[np.bool_]) -> Floats:
        """Return the number of departures of the variants that hit: [roundings, metrics, tools, orders, rules]."""
        departures = np.stack([self.departures, self.departures + 1] * 2)  # a number that is cut off departs once more
        return np.where(hits[:, :, np.newaxis], departures, np.inf)

    def _try(self, numbers: Numbers, meant: Sequence[Name]) -> _Tried:
        given = ~np.isnan(numbers.values)
        value, unit = (column[given][:, np.newaxis, np.newaxis] for column in (numbers.values, numbers.units))
        families = {name.metric.metric.name for name in meant}
        cutoffs = {name.cutoff for name in meant} - {""}
        wanted = np.array([
            not meant or (metric.metric.name in families and (not cutoffs or str(metric.cutoff) in cutoffs))
            for metric in self.metrics
        ])  # fmt: skip
        means = np.where(wanted[:, np.newaxis, np.newaxis, np.newaxis], self.means[:, given], np.nan)
        # Only numbers above 1 are percent: a score of 0.004 is rarer than one of 0.4.
        scales = (1.0, 100.0 if np.any(value > 1) else np.nan)
        errors = [means * scale - value for scale in scales]
        close = [
            test.all(axis=1)
            for error in errors
            for test in (abs(error) <= unit / 2 + _SLACK, (error >= -_SLACK) & (error < unit))
        ]
        hits = np.stack(close)
        away = np.repeat([np.nan_to_num(abs(error).max(axis=1), nan=np.inf) for error in errors], 2, axis=0)
        if not (are_given := bool(hits.any())):
            nearest = away.min(axis=(0, 2, 3))
            few = np.argsort(nearest, kind="stable")[:_NEAREST]
            hits[::2, few] = away[::2, few] <= nearest[few, np.newaxis, np.newaxis] + _SLACK
        return _Tried(hits, away, are_given, int(wanted.sum()) * self.means[0, 0].size)

    def _identify(self, numbers: Numbers, tried: _Tried, costs: Floats) -> Identified:
        best = costs.min(axis=(0, 2, 3, 4))
        rows = [row for row in np.argsort(best, kind="stable").tolist() if np.isfinite(best[row])]
        groups = dict[tuple[object, ...], Match]()
        for row in rows[:_SHOWN]:
            match = self._match(row, tried, costs[:, row])
            key = (
                *match.departures,
                match.jointly,
                *match.orders,
                *match.topics,
                np.round(match.means, DECIMALS).tobytes(),
            )
            if (same := groups.get(key)) is not None:
                match = replace(
                    same, expressions=[*same.expressions, *match.expressions], tools=[*same.tools, *match.tools]
                )
            groups[key] = match
        matches = sorted(groups.values(), key=lambda match: 0 if tried.are_given else match.difference)
        return Identified(numbers, tried.variants, len(rows) if tried.are_given else 0, matches)

    def _match(self, row: int, tried: _Tried, costs: Floats) -> Match:
        """Return the variants of a metric with the fewest departures."""
        ways = dict[int, tuple[int, int, int]]()
        for rounding, place, order, rule in np.argwhere(costs == costs.min()).tolist():
            ways.setdefault(place, (rounding, order, rule))
        told = {place: self._describe(self.names[row, place], *way) for place, way in ways.items()}
        first = next(iter(ways))
        rounding, order, rule = ways[first]
        orders = [self.orders[place] for place in np.flatnonzero(tried.hits[rounding, row, :, rule])]
        rules = [list(RULES)[place] for place in np.flatnonzero(tried.hits[rounding, row, order])]
        means = self.means[row, :, order, rule] * (100 if rounding >= 2 else 1)
        return Match(
            [self.metrics[row].label],
            [(TOOLS[place].name, self.names[row, place].name) for place in told if told[place] == told[first]],
            told[first],
            bool(costs.min() < _APART),
            orders,
            rules,
            ROUNDINGS[rounding],
            means.tolist(),
            float(tried.away[rounding, row, order, rule]),
        )

    def _describe(self, name: Name, rounding: int, order: int, rule: int) -> list[str]:
        """Return how a variant departs from the tool."""
        departures = ["an option"] if name.options else []
        if (by := self.orders[order]) != name.tool.order:
            departures.append(ORDERS[by][2])
        if (over := list(RULES)[rule]) != name.tool.topics:
            departures.append(RULES[over])
        return [*departures, *(["cut off, not rounded"] if rounding % 2 else [])]


class _Tried(NamedTuple):
    """Which variants give some numbers, or are nearest if none does: bool [roundings, metrics, orders, rules].

    `away` is how far they are from the furthest number.
    """

    hits: NDArray[np.bool_]
    away: Floats
    are_given: bool
    variants: int


def _means(metrics: Sequence[BoundMetric], runs: JudgedRuns, unjudged: NDArray[np.int64]) -> Floats:
    """Return the means of runs by each rule, float64 [metrics, runs, rules]."""
    scores = score_all(metrics, runs)
    zeros = np.where(np.isnan(scores), 0.0, scores)
    both = np.where(runs.missing, np.nan, zeros)
    nothing = np.where(np.arange(unjudged.max()) < unjudged[:, np.newaxis], 0.0, np.nan)
    beyond = np.broadcast_to(nothing, (len(metrics), *nothing.shape))
    by_rule: Mapping[TopicRule, Floats] = {
        "relevant": scores,
        "both": both,
        "qrels": zeros,
        "both relevant": np.where(runs.missing, np.nan, scores),
        "run": np.concatenate((both, beyond), axis=-1),
    }
    return np.stack([mean_all(metrics, by_rule[rule]) for rule in RULES], axis=-1)
