"""stability: how often topic subsets disagree about runs, and how often they tie them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import Field

from gainboard.evaluation.analyses.stability import Stability
from gainboard.exhibits import Axis, Column, Figure, Panel, Reference, Series, Table
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.labels import Labels
from gainboard.work.params import Draws, MetricsParams, Seed

FUZZINESS = tuple(hundredths / 100 for hundredths in range(1, 11))
Fuzziness = Annotated[float, Field(ge=0, le=1)]


class StabilityParams(MetricsParams):
    """Minority rate and proportion of ties of each metric over random subsets of the topics (Buckley and Voorhees,
    SIGIR 2000). Two runs are tied on a subset if their means differ by less than the fuzziness times the larger mean.
    The lower its curve, the more stable a metric: it has few ties, and other topics rarely reverse a difference.
    """

    trials: Draws = Field(1000, description="Topic subsets")
    subset_size: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Number of topics in a subset; by default half of the topics"
    )
    fuzziness: Annotated[list[Fuzziness], Field(min_length=1, max_length=100)] = Field(
        list(FUZZINESS), description="Relative differences below which two runs are tied"
    )
    per_pair: bool = Field(False, description="Whether the answer has the counts of every pair of runs")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with each fuzziness once, in the order of the curve."""
        return super().settled(label).model_copy(update={"fuzziness": sorted(set(self.fuzziness))})


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


def _at_5_percent(result: Result) -> Table:
    by_label = {metric["metric"]: metric for metric in result["metrics"]}
    never = [label for label, metric in by_label.items() if metric["ties_at_5_percent"] is None]
    rows = [
        (label, by_label[label]["ties_at_5_percent"], "yes" if by_label[label]["crossed"] else "no")
        for label in (*result["by_ties_at_5_percent"], *never)
    ]
    return Table(
        "ties-at-5-percent",
        "Proportion of ties at a minority rate of 5 %, the most discriminative metric first.",
        (Column("metric"), Column("proportion of ties", digits=3), Column("crossed")),
        rows,
        notes=(
            "Not crossed: all of the curve is below 5 %, and the value is that of the smallest fuzziness; or all of it "
            "is above, and there is no value.",
        ),
    )


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
        params=StabilityParams,
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
