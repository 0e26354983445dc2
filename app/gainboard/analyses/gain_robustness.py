"""gain-robustness: how other gain settings change stability, swap rate and the ranking of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field

from gainboard.analyses import rank_correlation, stability
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import Expression, Metrics, Seeds
from gainboard.analyses.rank_correlation import CorrelationParams, RankCorrelation, RankCorrelationOfRuns
from gainboard.analyses.result_models import METRIC_SECTION, ResultModel, SubsetsResult
from gainboard.analyses.stability import Stability, StabilityOfMetrics, StabilityResult
from gainboard.analyses.swap_rate import SwapRate, SwapRateOfMetrics, SwapRateParams, SwapRateResult
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Column, Table
from gainboard.exhibits.figures import Figure
from gainboard.metrics import linear_ratio, steep

R = TypeVar("R", bound=ResultModel)
COEFFICIENTS: tuple[rank_correlation.Coefficient, ...] = ("kendall", "spearman")


def default_settings(highest_level: int) -> list[str]:
    """Return the paper's four settings for three relevance levels, and similar ones elsewhere: linear, flat, steep,
    adjusted.
    """
    linear, flat = linear_ratio(highest_level), ":".join("1" * highest_level)
    return [linear, flat, steep(highest_level), f"adjust({linear})"]


class RobustnessParams(stability.StabilityParams):
    """Graded metrics under several gain settings: stability, swap rate, and how similarly each setting and the first
    one rank the runs (Sakai, 2005).
    """

    metrics: Metrics = Field(
        description="Graded metrics; gains in the expressions are ignored", examples=[["Q", "nDCG@10"]]
    )
    settings: Annotated[list[Expression], Field(min_length=1, max_length=20)] | None = Field(
        None,
        description="Gain settings; the others are compared with the first. By default linear, flat, steep and "
        "adjusted",
        examples=[["3:2:1", "1:1:1", "10:5:1", "adjust(3:2:1)"]],
    )
    seeds: Seeds = 1
    labels: dict[str, list[str]] = Field({}, description="Filled in by the service: each metric under each setting")

    def expressions(self, label: Labels) -> dict[str, Any]:
        """Return the metrics without their gains, the settings as labels write them, and the label of each
        combination.
        """
        settings = self.settings or default_settings(label.highest_level)
        settings = list(dict.fromkeys(label.written("Q", "gains", setting) for setting in settings))
        named = label.expanded(self.metrics)
        metrics = list(dict.fromkeys(label.without(metric, "gains", "metrics") for metric in named))
        swept = {metric: label.swept(metric, "gains", settings, "metrics") for metric in metrics}
        return super().expressions(label) | {"metrics": metrics, "settings": settings, "labels": swept}


class SettledMetric(ResultModel):
    """A metric, and its label under each setting."""

    metric: str
    labels: list[str]


class GainRobustnessResult(SubsetsResult):
    """Stability, swap rates and rank correlations under several gain settings."""

    kind: Literal["gain-robustness"]
    settings: list[str]
    metrics: list[SettledMetric]
    stability: StabilityOfMetrics
    swap_rate: SwapRateOfMetrics
    rank_correlation: list[RankCorrelationOfRuns] = Field(
        description="For each metric: its labels under the settings, correlated"
    )

    def tables(self) -> Sequence[Table]:
        """Return stability, required differences and correlation with the first setting, then details of stability and
        swaps.
        """
        stable, swaps = self._parts()
        rows = [
            (
                metric.metric,
                setting,
                *(correlation.coefficients[name][0][correlation.metrics.index(label)] for name in COEFFICIENTS),
                len((correlation.swops or {})[label]),
            )
            for metric, correlation in zip(self.metrics, self.rank_correlation, strict=True)
            for setting, label in zip(self.settings, metric.labels, strict=True)
        ]
        columns = (
            METRIC_SECTION,
            Column("gains"),
            Column("Kendall's tau-b", digits=4),
            Column("Spearman's rho", digits=4),
            Column("swops"),
        )
        caption = f"Rankings of {len(self.runs)} runs under several gain settings, against that under the first one."
        return (
            Table("correlation-with-first", caption, columns, rows),
            *(replace(table, name=f"stability-{table.name}") for table in stable.tables()),
            *(replace(table, name=f"swap-rate-{table.name}") for table in swaps.tables()),
        )

    def _parts(self) -> tuple[StabilityResult, SwapRateResult]:
        return part_of(StabilityResult, self, self.stability), part_of(SwapRateResult, self, self.swap_rate)

    def figures(self) -> Sequence[Figure]:
        """Return the stability and swap-rate curves of all metrics under all settings."""
        stable, swaps = self._parts()
        return (
            *(replace(figure, name="stability-curves") for figure in stable.figures()),
            *(replace(figure, name="swap-rate-curves") for figure in swaps.figures()),
        )


@enter
class GainRobustness(Analysis[RobustnessParams, GainRobustnessResult]):
    """Stability and swap rate of each metric under each setting, and its ranking against that of the first one.

    Swap rates are computed under each of the `seeds`, the others under the first.
    """

    name = "gain-robustness"
    title = "Robustness to gains"
    question = "which-metric"
    needs_judgments = True
    summary = "Whether stability, swap rate and the ranking of the runs depend on the gains of the relevance levels."
    # the versions of the kinds whose analyses it runs
    changes = Stability.changes + SwapRate.changes + RankCorrelation.changes

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: RobustnessParams) -> None:
        super().__init__(matrices, params)
        every = list(dict.fromkeys(label for each in params.labels.values() for label in each))
        # Not validated again: there are more labels than a request may name metrics.
        drawn = params.model_dump(include={"trials", "subset_size", "seed", "seeds"}) | {"metrics": every}
        self._members: list[Analysis[Any, Any]] = [
            Stability(matrices, params.model_copy(update={"metrics": every})),
            SwapRate(matrices, SwapRateParams.model_construct(**drawn)),
            *(
                RankCorrelation(matrices, CorrelationParams.model_construct(metrics=list(each), against=each[0]))
                for each in map(_distinct, params.labels.values())
            ),
        ]
        # The parts of the members follow one another; their ends tell which member has a part.
        self._ends = list(accumulate(len(member.parts()) for member in self._members))

    def parts(self) -> list[float]:
        return [cost for member in self._members for cost in member.parts()]

    def work(self, part: int) -> Arrays:
        member = next(member for member, end in enumerate(self._ends) if part < end)
        return self._members[member].work(part - self._starts[member])

    @property
    def _starts(self) -> list[int]:
        return [0, *self._ends[:-1]]

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        spans = zip(self._members, self._starts, self._ends, strict=True)
        stability, swap_rate, *correlations = (member.result(findings[start:end]) for member, start, end in spans)
        shared = ("topics", "topics_left_out", "left_out_because", "seed", "trials", "subset_size")
        return {
            **{name: stability[name] for name in shared},
            "settings": list(self.params.settings or ()),
            "metrics": [SettledMetric(metric=metric, labels=labels) for metric, labels in self.params.labels.items()],
            "stability": {name: value for name, value in stability.items() if name not in shared},
            "swap_rate": {name: value for name, value in swap_rate.items() if name not in shared},
            "rank_correlation": correlations,
        }


def _distinct(labels: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(labels))


def part_of(model: type[R], result: GainRobustnessResult, part: ResultModel) -> R:
    """Return the result of a member as a job of its kind has it: with the head and the topics of the whole."""
    return model.model_construct(**dict(result) | dict(part))
