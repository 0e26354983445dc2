"""stability: how often topic subsets disagree about runs, and how often they tie them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field

from gainboard.evaluation.analyses.stability import Stability
from gainboard.exhibits import Axis, Column, Figure, Panel, Reference, Series, Table
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.labels import Labels
from gainboard.work.params import Draws, MetricsParams, Seed
from gainboard.work.result_models import Number, ResultModel, SubsetsResult

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

    trials: Draws = Field(1000, description="Topic subsets")
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

    fuzziness: float = Field(description="Relative difference below which two runs are tied")
    minority_rate: Number = Field(description="Share of comparisons that contradict the pair's majority")
    proportion_of_ties: Number = Field(description="Share of comparisons that are ties")


class PairStability(ResultModel):
    """The comparisons of two runs: one number for each point of the curve."""

    runs: tuple[str, str]
    greater: list[int] = Field(description="Subsets on which the first run is better")
    less: list[int] = Field(description="Subsets on which the second run is better")
    equal: list[int] = Field(description="Subsets on which they are tied")


class StabilityOfMetric(ResultModel):
    """The curve of a metric."""

    metric: str
    curve: list[FuzzinessPoint]
    ties_at_5_percent: Number = Field(description="Proportion of ties where the minority rate is nearest to 5 %")
    crossed: bool = Field(description="Whether the curve crosses a minority rate of 5 %")
    ties_at_equal_rate: Number = Field(description="Proportion of ties at `equal_minority_rate`")
    pairs: list[PairStability] | None = Field(None, description="Only with `per_pair`")


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


def tables(result: Result) -> Sequence[Table]:
    """Return each metric's curve, and its value where the minority rate is 5 %."""
    curves = [
        (metric["metric"], point["fuzziness"], point["minority_rate"], point["proportion_of_ties"])
        for metric in result["metrics"]
        for point in metric["curve"]
    ]
    return (
        _at_5_percent(result),
        Table(
            "curves",
            f"Minority rate and proportion of ties over {result['trials']} subsets of {result['subset_size']} topics.",
            (
                Column("metric"),
                Column("fuzziness", digits=2),
                Column("minority rate", digits=4),
                Column("proportion of ties", digits=4),
            ),
            curves,
        ),
    )


CROSSES, BELOW, ABOVE = "crosses 5 %", "below 5 % at every fuzziness", "above 5 % at every fuzziness"


def side(metric: Result) -> str:
    """Return on which side of a minority rate of 5 % the curve of a metric lies."""
    if metric["crossed"]:
        return CROSSES
    return ABOVE if metric["ties_at_5_percent"] is None else BELOW


def by_ties(metrics: Sequence[Result]) -> list[Result]:
    """Return the metrics in their groups: by ties at 5 % where the curve crosses it, else by ties at the equal rate."""

    def key(metric: Result) -> tuple[int, float]:
        group = (CROSSES, BELOW, ABOVE).index(side(metric))
        ties = metric["ties_at_5_percent" if group == 0 else "ties_at_equal_rate"]
        return group, math.inf if ties is None else ties

    return sorted(metrics, key=key)


def _at_5_percent(result: Result) -> Table:
    equal = result["equal_minority_rate"]
    heading = "equal rate" if equal is None else _percent(equal)
    rows = [
        (
            side(metric),
            metric["metric"],
            metric["ties_at_5_percent"] if metric["crossed"] else None,
            metric["ties_at_equal_rate"],
        )
        for metric in by_ties(result["metrics"])
    ]
    columns = (
        Column("minority rate", section=True),
        Column("metric"),
        Column("at 5 %", digits=3, group="proportion of ties"),
        Column(f"at {heading} (all)", digits=3, group="proportion of ties"),
    )
    caption = "Proportion of ties at a minority rate of 5 %, the most discriminative metric first."
    return Table("ties-at-5-percent", caption, columns, rows, notes=equal_rate(result))


def equal_rate(result: Result) -> list[str]:
    """Return a note on the minority rate at which metrics are compared, and on those that lack it."""
    equal = result["equal_minority_rate"]
    if equal is None:
        return []
    missing = incomparable(result)
    return [missing or f"At a minority rate of {_percent(equal)} all metrics can be compared."]


def incomparable(result: Result) -> str:
    """Return a sentence on the metrics that cannot be compared at the equal rate; an empty text if all can be."""
    missing = [metric["metric"] for metric in result["metrics"] if metric["ties_at_equal_rate"] is None]
    if not missing:
        return ""
    return (
        f"No minority rate is on the curves of all metrics. {_percent(result['equal_minority_rate'])} is on the most, "
        f"but not on those of {', '.join(missing)}. Add smaller or larger values to `fuzziness`, for example 0 and 0.2."
    )


def _percent(rate: float) -> str:
    return f"{100 * rate:.2f} %"


def figures(result: Result) -> Sequence[Figure]:
    """Return the stability curves of all metrics."""
    series = [
        Series(
            metric["metric"],
            [point["proportion_of_ties"] for point in metric["curve"]],
            [point["minority_rate"] for point in metric["curve"]],
        )
        for metric in result["metrics"]
    ]
    panel = Panel(
        Axis("proportion of ties", limits=(0, None)),
        Axis("minority rate", limits=(0, None)),
        series,
        (Reference(0.05, "5 %"),),
    )
    caption = f"Minority rate against proportion of ties, {result['trials']} subsets of {result['subset_size']} topics."
    return (Figure("curves", caption, (panel,)),)


STABILITY = enter(
    JobKind(
        name="stability",
        # metrics that do not cross 5 % are groups of their own, all are compared at an equal rate; parts have blocks of
        # pairs
        changes=2,
        params=StabilityParams,
        result=StabilityResult,
        analysis=lambda matrices, asked: Stability(
            matrices,
            asked.metrics,
            trials=asked.trials,
            fuzziness=asked.fuzziness,
            subset_size=asked.subset_size,
            seed=asked.seed,
            per_pair=asked.per_pair,
        ),
        tables=tables,
        figures=figures,
    )
)
