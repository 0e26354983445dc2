"""swap-rate: how often a difference between two runs reverses on other topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gainboard.analyses.analysis import Analysis, Arrays
from gainboard.analyses.common import (
    MOST_KEPT,
    PAIRS,
    blocks_of_pairs,
    require_at_most,
    subsets,
    topics_for_halves,
)
from gainboard.analyses.job_kinds import JobKind, enter
from gainboard.analyses.params import DrawCount, MetricsParams, Seed, Seeds
from gainboard.analyses.result_models import Number, ResultModel, TopicsResult
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.statistics.draws import Draws, Indices, successive_seeds
from gainboard.statistics.pairs import pair_count
from gainboard.statistics.stability import BIN_EDGES, LEAST_COMPARISONS, RULES, SURE_RATE, Rule, SwapCounts, swap_counts

SECONDS_A_COMPARISON = 1.2e-8
PURPOSE = "swap subsets"


class SwapRateParams(MetricsParams):
    """Swap rate of each metric by the size of the difference between two runs (Voorhees and Buckley, SIGIR 2002): each
    trial compares all pairs on two disjoint random sets of topics. The result also has the difference that is required
    for a swap rate of at most 5 %, and the share of comparisons that reach it. Bins with fewer than 100 comparisons
    decide nothing.

    `rule` says how the difference is read off. `first` takes the first bin at or below 5 %, as the papers read their
    curves. `pooled` takes the first bin from which on at most 5 % of all comparisons are swaps. `isotonic` takes the
    first bin at or below 5 % after the rates are made non-increasing. `all-higher`, the rule of earlier versions, takes
    the first bin from which on no bin exceeds 5 %, however few comparisons a bin has. `by_rule` has the numbers of all
    four. `exceptions` are the bins above the difference that exceed 5 %, and `no_difference_because` says why a metric
    has no difference. With several `seeds`, `by_seed` has the columns under each of them; all else is of the first.
    """

    trials: DrawCount = Field(1000, description="Number of pairs of topic sets")
    subset_size: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of topics in each set; by default half of the topics"
    )
    replacement: bool = Field(
        False, description="Whether each set is drawn with replacement, independently of the other"
    )
    strict: bool = Field(True, description="Whether a difference that becomes 0 counts as a swap, as in Sakai's form")
    rule: Rule = Field("first", description="How the difference required is read off the swap rates")
    seed: Seed = 0
    seeds: Seeds = 1


class SwapBin(ResultModel):
    """The comparisons whose difference on the first topics is in this bin."""

    from_: float = Field(alias="from", description="Its lower edge, which belongs to it")
    to: float | None = Field(description="Its end, which does not; null for the last bin")
    comparisons: int
    swaps: int = Field(description="Comparisons that the other topics contradict")
    swap_rate: Number = Field(description="Null without comparisons")


class SwapsByRule(ResultModel):
    """The difference that is required by one of the rules; null if no bin decides."""

    absolute_difference_required: Number
    relative_difference_required: Number = Field(description="The absolute one by the maximum performance")
    discrimination_power: Number = Field(description="Share of comparisons with at least that difference")
    no_difference_because: str | None = Field(description="Why no bin decides; null if one does")
    exceptions: list[SwapBin] = Field(description="Higher bins whose swap rate exceeds 5 %")
    comparisons_in_exceptions: int


class SwapsBySeed(ResultModel):
    """The difference that is required under one of the seeds: columns (i) to (iv) of the papers' tables."""

    absolute_difference_required: Number
    maximum_performance: Number = Field(description="The largest mean of any run on any of the topic sets")
    relative_difference_required: Number
    discrimination_power: Number


class SwapRateOfMetric(ResultModel):
    """The swap rates of a metric, and the difference that is required by the job's rule, under the first seed."""

    metric: str
    bins: list[SwapBin]
    absolute_difference_required: Number = Field(description="The difference with a swap rate of at most 5 %")
    maximum_performance: Number = Field(description="The largest mean of any run on any of the topic sets")
    relative_difference_required: Number = Field(description="The absolute one by the maximum performance")
    discrimination_power: Number = Field(description="Share of comparisons with at least that difference")
    no_difference_because: str | None = Field(description="Why no bin decides; null if one does")
    exceptions: list[SwapBin] = Field(description="Higher bins whose swap rate exceeds 5 %")
    comparisons_in_exceptions: int
    by_rule: dict[str, SwapsByRule] = Field(description="By each of the rules")
    by_seed: list[SwapsBySeed] = Field(description="Under each of the seeds, by the job's rule")


class SwapRateOfMetrics(ResultModel):
    """The swap rates of all metrics."""

    seeds: int
    replacement: bool
    strict: bool
    rule: Rule
    metrics: list[SwapRateOfMetric]


class SwapRateResult(TopicsResult):
    """The share of differences between two runs that other topics reverse, by their size."""

    kind: Literal["swap-rate"]
    seed: int
    seeds: int
    trials: int
    subset_size: int = Field(description="Topics of each of the two sets of a trial")
    replacement: bool
    strict: bool
    rule: Rule
    metrics: list[SwapRateOfMetric]


class SwapRate(Analysis[SwapRateParams]):
    """Each metric's swap rate by the size of the difference, and the difference at which it falls to 5 %."""

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: SwapRateParams) -> None:
        super().__init__(matrices, params)
        self.metrics, self.trials, self.rule = params.metrics, params.trials, params.rule
        self.seeds = successive_seeds(params.seed, params.seeds)
        self.topics = topics_for_halves(matrices, self.metrics)
        self.topics.require_drawable(self.trials, "trials")
        tested = pair_count(matrices.run_count) * len(self.metrics) * len(self.seeds)
        require_at_most(MOST_KEPT, tested, PAIRS, "runs")
        most = self.topics.count if params.replacement else self.topics.count // 2
        self.subset_size = self.topics.subset_size(params.subset_size, most)
        self._seconds_a_pair = self.trials * SECONDS_A_COMPARISON
        self.blocks = blocks_of_pairs(matrices.run_count, pair_count(matrices.run_count) * self._seconds_a_pair)

    def parts(self) -> list[float]:
        each = [(block.stop - block.start) * self._seconds_a_pair for block in self.blocks]
        return each * (len(self.seeds) * len(self.metrics))

    def work(self, part: int) -> Arrays:
        place, block = divmod(part, len(self.blocks))
        seed, metric = divmod(place, len(self.metrics))
        scores, halves = self.topics.scores(self.metrics[metric]), self._halves(self.seeds[seed])
        counts = swap_counts(scores, *halves, self.params.strict, self.blocks[block])
        return {
            "comparisons": counts.comparisons,
            "swaps": counts.swaps,
            "by_pair": counts.by_pair,
            "maximum": np.array(counts.maximum),
        }

    def _halves(self, seed: int) -> tuple[Indices, Indices]:
        size, topics = self.subset_size, self.topics.count
        if self.params.replacement:
            draws = Draws(seed, PURPOSE)
            return draws.resamples(self.trials, topics)[:, :size], draws.resamples(self.trials, topics)[:, :size]
        both = subsets(seed, PURPOSE, self.trials, topics, 2 * size)
        return both[:, :size], both[:, size:]

    def counts(self, found: Sequence[Arrays]) -> list[SwapCounts]:
        """Return the counts of all metrics under each seed in turn, from the findings of all parts."""
        each = len(self.blocks)
        return [_joined(found[first : first + each]) for first in range(0, len(found), each)]

    def result(self, found: Sequence[Arrays]) -> dict[str, Any]:
        counts = self.counts(found)
        return {
            **self.topics.described(),
            "seed": self.seeds[0],
            "seeds": len(self.seeds),
            "trials": self.trials,
            "subset_size": self.subset_size,
            "replacement": self.params.replacement,
            "strict": self.params.strict,
            "rule": self.rule,
            "metrics": [
                self._metric(label, counts[place :: len(self.metrics)]) for place, label in enumerate(self.metrics)
            ],
        }

    def _metric(self, label: str, under_each_seed: Sequence[SwapCounts]) -> dict[str, Any]:
        counts = under_each_seed[0]
        bins = _bins(counts)
        by_rule = {rule: _required(counts, rule, bins) for rule in RULES}
        by_seed = [each.sensitivity(self.rule)._asdict() for each in under_each_seed]
        chosen = by_seed[0] | by_rule[self.rule]
        return {"metric": label, "bins": bins, **chosen, "by_rule": by_rule, "by_seed": by_seed}


def _joined(blocks: Sequence[Arrays]) -> SwapCounts:
    comparisons, swaps = (np.sum([each[name] for each in blocks], axis=0) for name in ("comparisons", "swaps"))
    by_pair = np.concatenate([each["by_pair"] for each in blocks])
    return SwapCounts(comparisons, swaps, by_pair, max(float(each["maximum"]) for each in blocks))


def _bins(counts: SwapCounts) -> list[dict[str, Any]]:
    columns = (counts.comparisons.tolist(), counts.swaps.tolist(), counts.swap_rate.tolist())
    ends = (*BIN_EDGES[1:], None)
    return [
        {"from": start, "to": end, "comparisons": comparisons, "swaps": swaps, "swap_rate": rate}
        for start, end, comparisons, swaps, rate in zip(BIN_EDGES, ends, *columns, strict=True)
    ]


def _required(counts: SwapCounts, rule: Rule, bins: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the columns by a rule; either the higher bins that exceed 5 %, or why there is no difference."""
    columns = counts.sensitivity(rule)._asdict()
    del columns["maximum_performance"]  # the same by every rule
    place = counts.deciding_bin(rule)
    exceptions = [bins[each] for each in counts.exceptions(place)] if place is not None else []
    return {
        **columns,
        "no_difference_because": why_none(counts, rule) if place is None else None,
        "exceptions": exceptions,
        "comparisons_in_exceptions": sum(each["comparisons"] for each in exceptions),
    }


def why_none(counts: SwapCounts, rule: Rule) -> str:
    """Return why no bin decides by the rule."""
    # sparse bins decide by this rule alone
    decides = counts.comparisons > 0 if rule == "all-higher" else counts.decides
    low = counts.swap_rate <= SURE_RATE
    if not decides.any():
        return f"every bin has fewer than {LEAST_COMPARISONS} comparisons"
    if not low.any():
        return "no difference brings the swap rate to 5 %"
    if not (low & decides).any():
        return f"only bins with fewer than {LEAST_COMPARISONS} comparisons have a swap rate of at most 5 %"
    return "higher bins exceed 5 %"


_REQUIRED = (
    Column("absolute difference required", digits=2),
    Column("maximum performance", digits=4),
    Column("relative difference required", digits=1, percent=True),
    Column("discrimination power", digits=1, percent=True),
)


def tables(result: SwapRateResult) -> Sequence[Table]:
    """Return the four columns of the papers' tables, the rates by bin, and the difference by each rule."""
    bins = [
        (metric.metric, each.from_, each.to, each.comparisons, each.swaps, each.swap_rate)
        for metric in result.metrics
        for each in metric.bins
    ]
    return (
        Table(
            "required-differences",
            f"Difference required for a swap rate of at most 5 %, topic sets of {result.subset_size}.",
            (Column("metric"), *_REQUIRED),
            required(result),
            notes=exceptions(result.metrics),
        ),
        Table(
            "bins",
            f"Swap rate by the size of the difference, {result.trials} trials.",
            (
                Column("metric"),
                Column("from", digits=2),
                Column("to", digits=2),
                Column("comparisons"),
                Column("swaps"),
                Column("swap rate", digits=4),
            ),
            bins,
        ),
        _by_rule(result),
    )


def required(result: SwapRateResult, seed: int = 0) -> list[tuple[Any, ...]]:
    """Return a row of the four columns for each metric, under one of the seeds, counted from 0."""
    return [
        (metric.metric, *_columns(found, found.maximum_performance))
        for metric in result.metrics
        for found in (metric.by_seed[seed] if seed else metric,)
    ]


def _columns(found: SwapRateOfMetric | SwapsBySeed | SwapsByRule, maximum: Number) -> tuple[Number, ...]:
    return (
        found.absolute_difference_required,
        maximum,
        found.relative_difference_required,
        found.discrimination_power,
    )


def _by_rule(result: SwapRateResult) -> Table:
    rows = [
        (
            metric.metric,
            rule,
            *_columns(found, metric.maximum_performance),
            len(found.exceptions),
            found.comparisons_in_exceptions,
        )
        for metric in result.metrics
        for rule, found in metric.by_rule.items()
    ]
    columns = (
        Column("metric", section=True),
        Column("rule"),
        *_REQUIRED,
        Column("bins", group="higher, above 5 %"),
        Column("comparisons", group="higher, above 5 %"),
    )
    return Table("rules", "Difference required for a swap rate of at most 5 %, by each rule.", columns, rows)


def exceptions(metrics: Sequence[SwapRateOfMetric]) -> list[str]:
    """Return notes that name the metrics without a required difference and why, and the exceptions of the others."""
    why: dict[str, list[str]] = {}
    for metric in metrics:
        if reason := metric.no_difference_because:
            why.setdefault(reason, []).append(metric.metric)
    notes = [f"{reason[0].upper()}{reason[1:]}: {', '.join(names)}." for reason, names in why.items()]
    higher = [f"{metric.metric} {_excepted(metric)}" for metric in metrics if metric.exceptions]
    return notes + ([f"Bins above the difference that exceed 5 %: {'; '.join(higher)}."] if higher else [])


def _excepted(metric: SwapRateOfMetric) -> str:
    edges = ", ".join(f"{each.from_:.2f}" for each in metric.exceptions)
    count = metric.comparisons_in_exceptions
    return f"from {edges} ({count:,} {'comparison' if count == 1 else 'comparisons'})"


def figures(result: SwapRateResult) -> Sequence[Figure]:
    """Return the swap-rate curves of all metrics."""
    series = [
        Series(
            metric.metric,
            [each.from_ for each in metric.bins],
            [each.swap_rate for each in metric.bins],
        )
        for metric in result.metrics
    ]
    panel = Panel(
        Axis("performance difference", unit="lower edge of the bin"),
        Axis("swap rate", limits=(0, None)),
        series,
        (Reference(0.05, "5 %"),),
    )
    return (Figure("curves", "Swap rate by the size of the difference between two runs.", (panel,)),)


SWAP_RATE = enter(
    JobKind(
        name="swap-rate",
        title="Swap rate",
        question="which-metric",
        summary="How likely two runs swap places on other topics, by the size of their difference, and the "
        "difference that is enough.",
        # the first bin at or below 5 % decides, and bins with few comparisons do not; parts have blocks of pairs
        changes=2,
        params=SwapRateParams,
        result=SwapRateResult,
        analysis=SwapRate,
        tables=tables,
        figures=figures,
    )
)
