"""swap-rate: how often a difference between two runs reverses on other topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from gainboard.analyses.common import MOST_KEPT, PAIRS, PairsOverHalves, require_at_most, subsets
from gainboard.analyses.job_kinds import Arrays, enter
from gainboard.analyses.params import DrawCount, MetricsParams, Seed, Seeds
from gainboard.analyses.result_models import (
    METRIC,
    METRIC_SECTION,
    Number,
    ResultModel,
    Shown,
    TopicsResult,
    fields,
    table,
)
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.notation.texts import listed, said
from gainboard.statistics.draws import Draws, successive_seeds
from gainboard.statistics.means import pair_count
from gainboard.statistics.stability import BIN_EDGES, LEAST_COMPARISONS, RULES, SURE_RATE, Rule, SwapCounts, swap_counts

SECONDS_A_COMPARISON = 1.2e-8
PURPOSE = "swap subsets"
Absolute = Annotated[Number, Shown("absolute difference required", digits=2)]
Maximum = Annotated[Number, Shown("maximum performance", digits=4)]
Relative = Annotated[Number, Shown("relative difference required", digits=1, percent=True)]
Power = Annotated[Number, Shown("discrimination power", digits=1, percent=True)]
"""The columns (i) to (iv) of the papers' tables."""


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

    from_: Annotated[float, Shown("from", digits=2)] = Field(
        alias="from", description="Its lower edge, which belongs to it"
    )
    to: Annotated[float | None, Shown(digits=2)] = Field(description="Its end, which does not; null for the last bin")
    comparisons: Annotated[int, Shown()]
    swaps: Annotated[int, Shown()] = Field(description="Comparisons that the other topics contradict")
    swap_rate: Annotated[Number, Shown(digits=4)] = Field(description="Null without comparisons")


class SwapsByRule(ResultModel):
    """The difference that is required by one of the rules; null if no bin decides."""

    absolute_difference_required: Absolute
    relative_difference_required: Relative = Field(description="The absolute one by the maximum performance")
    discrimination_power: Power = Field(description="Share of comparisons with at least that difference")
    no_difference_because: str | None = Field(description="Why no bin decides; null if one does")
    exceptions: Annotated[list[SwapBin], Shown("bins", group="higher, above 5 %", by=len)] = Field(
        description="Higher bins whose swap rate exceeds 5 %"
    )
    comparisons_in_exceptions: Annotated[int, Shown("comparisons", group="higher, above 5 %")]


class SwapsBySeed(ResultModel):
    """The difference that is required under one of the seeds: columns (i) to (iv) of the papers' tables."""

    absolute_difference_required: Absolute
    maximum_performance: Maximum = Field(description="The largest mean of any run on any of the topic sets")
    relative_difference_required: Relative
    discrimination_power: Power


class SwapRateOfMetric(ResultModel):
    """The swap rates of a metric, and the difference that is required by the job's rule, under the first seed."""

    metric: str
    bins: list[SwapBin]
    absolute_difference_required: Absolute = Field(description="The difference with a swap rate of at most 5 %")
    maximum_performance: Maximum = Field(description="The largest mean of any run on any of the topic sets")
    relative_difference_required: Relative = Field(description="The absolute one by the maximum performance")
    discrimination_power: Power = Field(description="Share of comparisons with at least that difference")
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

    def verdict(self) -> str:
        needed = (f"{said(of.absolute_difference_required, 2)} under {of.metric}" for of in self.metrics)
        return f"Other topics reverse at most 5 % of differences of means from this size on: {listed(needed)}."

    def tables(self) -> Sequence[Table]:
        """Return the four columns of the papers' tables, the rates by bin, and the difference by each rule."""
        columns = (
            *(METRIC_SECTION, Column("rule")),
            fields(SwapsByRule, "absolute_difference_required"),
            fields(SwapRateOfMetric, "maximum_performance"),
            fields(SwapsByRule, "relative_difference_required", "discrimination_power"),
            fields(SwapsByRule, "exceptions", "comparisons_in_exceptions"),
        )
        rules = [
            (metric.metric, rule, difference, metric, difference, difference)
            for metric in self.metrics
            for rule, difference in metric.by_rule.items()
        ]
        about_bins = f"Swap rate by the size of the difference, {self.trials} trials."
        about_rules = "Difference required for a swap rate of at most 5 %, by each rule."
        return (
            required(self),
            table(SwapBin, "bins", about_bins, self.metrics, each="bins"),
            table(columns, "rules", about_rules, rules),
        )

    def figures(self) -> Sequence[Figure]:
        """Return the swap-rate curves of all metrics."""
        series = [
            Series(metric.metric, [swaps.from_ for swaps in metric.bins], [swaps.swap_rate for swaps in metric.bins])
            for metric in self.metrics
        ]
        panel = Panel(
            Axis("performance difference", unit="lower edge of the bin"),
            Axis("swap rate", limits=(0, None)),
            series,
            (Reference(0.05, "5 %"),),
        )
        return (Figure("curves", "Swap rate by the size of the difference between two runs.", (panel,)),)


@enter
class SwapRate(PairsOverHalves[SwapRateParams, SwapRateResult, SwapCounts]):
    """Each metric's swap rate by the size of the difference, and the difference at which it falls to 5 %.

    The counts are those of all metrics under each seed in turn.
    """

    name = "swap-rate"
    title = "Swap rate"
    question = "which-metric"
    summary = (
        "How likely two runs swap places on other topics, by the size of their difference, and the "
        "difference that is enough."
    )
    # the first bin at or below 5 % decides, and bins with few comparisons do not; parts have blocks of pairs
    changes = 2

    def __init__(self, matrices: Matrices, params: SwapRateParams) -> None:
        super().__init__(matrices, params, trials=params.trials, seconds_a_pair=params.trials * SECONDS_A_COMPARISON)
        self.rule, self.seeds = params.rule, successive_seeds(params.seed, params.seeds)
        tested = pair_count(matrices.run_count) * len(self.metrics) * len(self.seeds)
        require_at_most(MOST_KEPT, tested, PAIRS, "runs")
        # Two sets without a common topic must fit into the topics. With replacement, each may be as large as all.
        most = self.topics.count if params.replacement else self.topics.count // 2
        self.subset_size = self.topics.subset_size(params.subset_size, most)

    def parts(self) -> list[float]:
        of_metric = [(block.stop - block.start) * self.seconds_a_pair for block in self.blocks]
        return of_metric * (len(self.seeds) * len(self.metrics))

    def work(self, part: int) -> Arrays:
        number, block = divmod(part, len(self.blocks))
        seed, metric = divmod(number, len(self.metrics))
        size, topics, draws = self.subset_size, self.topics.count, Draws(self.seeds[seed], PURPOSE)
        if self.params.replacement:
            first, second = (draws.resamples(self.trials, topics)[:, :size] for _ in range(2))
        else:
            # One draw of twice the size, cut in two: the two sets of a trial then share no topic.
            both = subsets(self.seeds[seed], PURPOSE, self.trials, topics, 2 * size)
            first, second = both[:, :size], both[:, size:]
        scores = self.topics.scores(self.metrics[metric])
        counts = swap_counts(scores, first, second, self.params.strict, self.blocks[block])
        return {
            "comparisons": counts.comparisons,
            "swaps": counts.swaps,
            "by_pair": counts.by_pair,
            "maximum": np.array(counts.maximum),
        }

    def join(self, blocks: Sequence[Arrays]) -> SwapCounts:
        comparisons, swaps = (np.sum([counts[name] for counts in blocks], axis=0) for name in ("comparisons", "swaps"))
        by_pair = np.concatenate([counts["by_pair"] for counts in blocks])
        return SwapCounts(comparisons, swaps, by_pair, max(float(counts["maximum"]) for counts in blocks))

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        metrics, every = [], self.counts(findings)
        for row, label in enumerate(self.metrics):
            under_each_seed = every[row :: len(self.metrics)]
            counts = under_each_seed[0]
            columns = (counts.comparisons.tolist(), counts.swaps.tolist(), counts.swap_rate.tolist())
            bins = [
                SwapBin.model_validate(
                    {"from": start, "to": end, "comparisons": comparisons, "swaps": swaps, "swap_rate": rate}
                )
                for start, end, comparisons, swaps, rate in zip(
                    BIN_EDGES, (*BIN_EDGES[1:], None), *columns, strict=True
                )
            ]
            # Every rule, from the same counts: they may disagree. `first` is what one reads off the papers' curves, and
            # it is stable over seeds.
            by_rule: dict[str, SwapsByRule] = {rule: _required(counts, rule, bins) for rule in RULES}
            by_seed = [SwapsBySeed(**of_seed.sensitivity(self.rule)._asdict()) for of_seed in under_each_seed]
            chosen = dict(by_seed[0]) | dict(by_rule[self.rule])
            metrics.append(SwapRateOfMetric(metric=label, bins=bins, by_rule=by_rule, by_seed=by_seed, **chosen))
        return {
            **self.topics.described(),
            "seed": self.seeds[0],
            "seeds": len(self.seeds),
            "trials": self.trials,
            "subset_size": self.subset_size,
            "replacement": self.params.replacement,
            "strict": self.params.strict,
            "rule": self.rule,
            "metrics": metrics,
        }


def _required(counts: SwapCounts, rule: Rule, bins: Sequence[SwapBin]) -> SwapsByRule:
    """Return the columns by a rule; either the higher bins that exceed 5 %, or why there is no difference."""
    columns = counts.sensitivity(rule)._asdict()
    del columns["maximum_performance"]  # the same by every rule
    deciding = counts.deciding_bin(rule)
    exceptions = [bins[number] for number in counts.exceptions(deciding)] if deciding is not None else []
    return SwapsByRule(
        no_difference_because=why_none(counts, rule) if deciding is None else None,
        exceptions=exceptions,
        comparisons_in_exceptions=sum(swaps.comparisons for swaps in exceptions),
        **columns,
    )


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


def required(result: SwapRateResult, seed: int = 0) -> Table:
    """Return the four columns of the papers' tables, under one of the seeds, counted from 0."""
    caption = f"Difference required for a swap rate of at most 5 %, topic sets of {result.subset_size}."
    notes = exceptions(result.metrics)
    rows = [(metric.metric, metric.by_seed[seed]) for metric in result.metrics]
    return table((METRIC, SwapsBySeed), "required-differences", caption, rows, notes=notes)


def exceptions(metrics: Sequence[SwapRateOfMetric]) -> list[str]:
    """Return notes that name the metrics without a required difference and why, and the exceptions of the others."""
    why: dict[str, list[str]] = {}
    for metric in metrics:
        if reason := metric.no_difference_because:
            why.setdefault(reason, []).append(metric.metric)
    notes = [f"{reason[0].upper()}{reason[1:]}: {', '.join(names)}." for reason, names in why.items()]
    higher = []
    for metric in metrics:
        if metric.exceptions:
            edges = ", ".join(f"{swaps.from_:.2f}" for swaps in metric.exceptions)
            count = metric.comparisons_in_exceptions
            noun = "comparison" if count == 1 else "comparisons"
            higher.append(f"{metric.metric} from {edges} ({count:,} {noun})")
    return notes + ([f"Bins above the difference that exceed 5 %: {'; '.join(higher)}."] if higher else [])
