"""stability: how often topic subsets disagree about runs, and how often they tie them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses.common import (
    MOST_KEPT,
    MOST_PAIRS,
    PAIRS,
    PairsOverHalves,
    named_pairs,
    require_at_most,
    subsets,
)
from gainboard.analyses.job_kinds import Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import DrawCount, MetricsParams, Seed
from gainboard.analyses.result_models import Number, ResultModel, ResultRow, Shown, SubsetsResult, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Reference, Series
from gainboard.notation.texts import listed, said
from gainboard.statistics.means import pair_count
from gainboard.statistics.stability import StabilityCounts, shared_rate, stability_counts, ties_at

SECONDS_A_COMPARISON = 1.2e-9
PURPOSE = "stability subsets"
FUZZINESS = tuple(hundredths / 100 for hundredths in range(1, 11))
Fuzziness = Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=100)]


class StabilityParams(MetricsParams):
    """Minority rate and proportion of ties of each metric over random subsets of the topics (Buckley and Voorhees,
    SIGIR 2000). Two runs are tied on a subset if their means differ by less than the fuzziness times the larger mean.
    The lower its curve, the more stable a metric: it has few ties, and other topics rarely reverse a difference.

    `by_ties_at_5_percent` ranks the metrics whose curves cross a minority rate of 5 %. `below_5_percent` and
    `above_5_percent` are the others, which lie on one side of 5 % at every fuzziness: with fuzziness 0 and larger
    values, curves are longer. `by_ties_at_equal_rate` ranks all metrics whose curves have `equal_minority_rate`, the
    rate nearest to 5 % that the most curves have.
    """

    trials: DrawCount = Field(1000, description="Topic subsets")
    subset_size: Annotated[int, Field(ge=1)] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    fuzziness: Fuzziness = Field(list(FUZZINESS), description="Relative differences below which two runs are tied")
    per_pair: bool = Field(False, description="Whether the answer has the counts of every pair of runs")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with each fuzziness once, in the order of the curve."""
        return super().settled(label).model_copy(update={"fuzziness": sorted(set(self.fuzziness))})


class FuzzinessPoint(ResultModel):
    """A point of a metric's curve."""

    fuzziness: Annotated[float, Shown(digits=2)] = Field(
        description="Relative difference below which two runs are tied"
    )
    minority_rate: Annotated[Number, Shown(digits=4)] = Field(
        description="Share of comparisons that contradict the pair's majority"
    )
    proportion_of_ties: Annotated[Number, Shown(digits=4)] = Field(description="Share of comparisons that are ties")


class PairStability(ResultRow):
    """The comparisons of two runs: one number for each point of the curve."""

    runs: tuple[str, str]
    greater: Annotated[list[int], Field(description="Subsets on which the first run is better")]
    less: Annotated[list[int], Field(description="Subsets on which the second run is better")]
    equal: Annotated[list[int], Field(description="Subsets on which they are tied")]


class StabilityOfMetric(ResultModel):
    """The curve of a metric."""

    metric: str
    curve: list[FuzzinessPoint]
    ties_at_5_percent: Number = Field(
        description="Proportion of ties where the minority rate falls to 5 %; that of the first point if the whole "
        "curve is below, null if it is above"
    )
    crossed: bool = Field(description="Whether the curve crosses a minority rate of 5 %")
    ties_at_equal_rate: Number = Field(description="Proportion of ties at `equal_minority_rate`")
    pairs: list[PairStability] | None = Field(default=None, description="Only with `per_pair`")


class StabilityOfMetrics(ResultModel):
    """The curves of all metrics, and their order."""

    metrics: list[StabilityOfMetric]
    by_ties_at_5_percent: list[str] = Field(description="Metrics that cross 5 %, the fewest ties first")
    below_5_percent: list[str] = Field(description="Metrics that are below 5 % at every fuzziness")
    above_5_percent: list[str] = Field(description="Metrics that are above 5 % at every fuzziness")
    equal_minority_rate: Number = Field(description="The rate nearest to 5 % that the most curves have")
    by_ties_at_equal_rate: list[str] = Field(description="Metrics that have that rate, the fewest ties first")


class StabilityResult(StabilityOfMetrics, SubsetsResult):
    """The minority rate and the proportion of ties of each metric, over random subsets of the topics."""

    kind: Literal["stability"]

    def verdict(self) -> str:
        ties = (f"{said(of.ties_at_5_percent, 1, percent=True)} under {of.metric}" for of in self.metrics)
        return f"Comparisons that tie where the minority rate is 5 % or lower: {listed(ties)}."

    def tables(self) -> Sequence[Table]:
        """Return each metric's curve, and its value where the minority rate is 5 %."""
        equal = self.equal_minority_rate
        heading = "equal rate" if equal is None else _percent(equal)
        rows = [
            (
                side(metric),
                metric.metric,
                metric.ties_at_5_percent if metric.crossed else None,
                metric.ties_at_equal_rate,
            )
            for metric in by_ties(self.metrics)
        ]
        columns = (
            Column("minority rate", section=True),
            Column("metric"),
            Column("at 5 %", digits=3, group="proportion of ties"),
            Column(f"at {heading} (all)", digits=3, group="proportion of ties"),
        )
        caption = "Proportion of ties at a minority rate of 5 %, the most discriminative metric first."
        at_5_percent = Table("ties-at-5-percent", caption, columns, rows, notes=equal_rate(self))
        caption = f"Minority rate and proportion of ties over {self.trials} subsets of {self.subset_size} topics."
        return (at_5_percent, table(FuzzinessPoint, "curves", caption, self.metrics, each="curve"))

    def figures(self) -> Sequence[Figure]:
        """Return the stability curves of all metrics."""
        series = [
            Series(
                metric.metric,
                [point.proportion_of_ties for point in metric.curve],
                [point.minority_rate for point in metric.curve],
            )
            for metric in self.metrics
        ]
        panel = Panel(
            Axis("proportion of ties", limits=(0, None)),
            Axis("minority rate", limits=(0, None)),
            series,
            (Reference(0.05, "5 %"),),
        )
        caption = f"Minority rate against proportion of ties, {self.trials} subsets of {self.subset_size} topics."
        return (Figure("curves", caption, (panel,)),)


@enter
class Stability(PairsOverHalves[StabilityParams, StabilityResult, StabilityCounts]):
    """Each metric's curve of proportion of ties and minority rate, over one family of topic subsets."""

    name = "stability"
    title = "Stability over topics"
    question = "which-metric"
    summary = "How often the order of two runs turns round when other topics are drawn, for each metric."
    # metrics that do not cross 5 % are groups of their own, all are compared at an equal rate; parts have blocks of
    # pairs
    changes = 2

    def __init__(self, matrices: Matrices, params: StabilityParams) -> None:
        self.fuzziness = sorted(params.fuzziness)
        a_pair = params.trials * (len(self.fuzziness) + 3) * SECONDS_A_COMPARISON
        super().__init__(matrices, params, trials=params.trials, seconds_a_pair=a_pair)
        # Two numbers are kept for each until the result; one by one, they are its JSON.
        counted = pair_count(matrices.run_count) * len(self.metrics) * len(self.fuzziness)
        require_at_most(
            MOST_PAIRS if params.per_pair else MOST_KEPT // 2, counted, f"{PAIRS} and fuzziness values", "runs"
        )
        self.subset_size = self.topics.subset_size(params.subset_size, most=self.topics.count)

    def parts(self) -> list[float]:
        means = self.matrices.run_count * self.trials * self.topics.count * SECONDS_A_COMPARISON
        of_metric = [means + (block.stop - block.start) * self.seconds_a_pair for block in self.blocks]
        return of_metric * len(self.metrics)

    def work(self, part: int) -> Arrays:
        metric, block = divmod(part, len(self.blocks))
        drawn = subsets(self.params.seed, PURPOSE, self.trials, self.topics.count, self.subset_size)
        scores = self.topics.scores(self.metrics[metric])
        counts = stability_counts(scores, drawn, self.fuzziness, self.blocks[block])
        return {"greater": counts.greater, "less": counts.less}

    def join(self, blocks: Sequence[Arrays]) -> StabilityCounts:
        greater, less = (np.concatenate([block[name] for block in blocks], axis=1) for name in ("greater", "less"))
        return StabilityCounts(greater, less, self.trials)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        counts = self.counts(findings)
        # It depends on all metrics: it is the rate that the most of their curves have.
        equal = shared_rate(np.array([of_metric.minority_rate for of_metric in counts]))
        metrics = [self._metric(*of_metric, equal) for of_metric in zip(self.metrics, counts, strict=True)]
        return {
            **self.topics.described(),
            "seed": self.params.seed,
            "trials": self.trials,
            "subset_size": self.subset_size,
            "metrics": metrics,
            "by_ties_at_5_percent": _sort([metric for metric in metrics if metric.crossed], "ties_at_5_percent"),
            "below_5_percent": [metric.metric for metric in metrics if side(metric) == BELOW],
            "above_5_percent": [metric.metric for metric in metrics if side(metric) == ABOVE],
            "equal_minority_rate": equal,
            "by_ties_at_equal_rate": _sort(metrics, "ties_at_equal_rate"),
        }

    def _metric(self, label: str, counts: StabilityCounts, equal: float) -> StabilityOfMetric:
        rates, ties = counts.minority_rate, counts.proportion_of_ties
        at_5_percent, at_equal = ties_at(rates, ties), ties_at(rates, ties, equal)
        metric = StabilityOfMetric(
            metric=label,
            curve=[
                FuzzinessPoint(fuzziness=fuzziness, minority_rate=rate, proportion_of_ties=tied)
                for fuzziness, rate, tied in zip(self.fuzziness, rates.tolist(), ties.tolist(), strict=True)
            ],
            ties_at_5_percent=at_5_percent.proportion,
            crossed=at_5_percent.crossed,
            ties_at_equal_rate=at_equal.proportion if at_equal.crossed else math.nan,
        )
        if self.params.per_pair:
            columns = zip(counts.greater.T.tolist(), counts.less.T.tolist(), counts.equal.T.tolist(), strict=True)
            # Dictionaries, because models of 100,000 pairs take more than twice the memory.
            pairs: list[Any] = [
                {"runs": pair, "greater": greater, "less": less, "equal": equal}
                for pair, (greater, less, equal) in zip(named_pairs(self.matrices), columns, strict=True)
            ]
            metric.pairs = pairs
        return metric


def _sort(metrics: Sequence[StabilityOfMetric], column: str) -> list[str]:
    defined = [(ties, metric.metric) for metric in metrics if (ties := getattr(metric, column)) is not None]
    return [label for _, label in sorted(defined, key=itemgetter(0))]


CROSSES, BELOW, ABOVE = "crosses 5 %", "below 5 % at every fuzziness", "above 5 % at every fuzziness"


def side(metric: StabilityOfMetric) -> str:
    """Return on which side of a minority rate of 5 % the curve of a metric lies."""
    if metric.crossed:
        return CROSSES
    return ABOVE if metric.ties_at_5_percent is None else BELOW


def by_ties(metrics: Sequence[StabilityOfMetric]) -> list[StabilityOfMetric]:
    """Return the metrics in their groups: by ties at 5 % where the curve crosses it, else by ties at the equal rate."""

    def key(metric: StabilityOfMetric) -> tuple[int, float]:
        group = (CROSSES, BELOW, ABOVE).index(side(metric))
        ties = metric.ties_at_equal_rate if group else metric.ties_at_5_percent
        return group, math.inf if ties is None else ties

    return sorted(metrics, key=key)


def equal_rate(result: StabilityResult) -> list[str]:
    """Return a note on the minority rate at which metrics are compared, and on those that lack it."""
    equal = result.equal_minority_rate
    if equal is None:
        return []
    missing = incomparable(result)
    return [missing or f"At a minority rate of {_percent(equal)} all metrics can be compared."]


def incomparable(result: StabilityResult) -> str:
    """Return a sentence on the metrics that cannot be compared at the equal rate; an empty text if all can be."""
    equal = result.equal_minority_rate
    missing = [metric.metric for metric in result.metrics if metric.ties_at_equal_rate is None]
    if equal is None or not missing:
        return ""
    return (
        f"No minority rate is on the curves of all metrics. {_percent(equal)} is on the most, "
        f"but not on those of {', '.join(missing)}. Add smaller or larger values to `fuzziness`, for example 0 and 0.2."
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.2f} %"
