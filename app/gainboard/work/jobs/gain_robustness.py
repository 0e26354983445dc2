"""gain-robustness: how other gain settings change stability, swap rate and the ranking of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import Field

from gainboard.evaluation.analyses.gain_robustness import GainRobustness
from gainboard.evaluation.matrices import Matrices
from gainboard.exhibits import Column, Figure, Table
from gainboard.metrics import linear_ratio, steep
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.jobs import rank_correlation, stability, swap_rate
from gainboard.work.jobs.rank_correlation import RankCorrelationOfRuns
from gainboard.work.jobs.stability import StabilityOfMetrics
from gainboard.work.jobs.swap_rate import SwapRateOfMetrics
from gainboard.work.labels import Labels
from gainboard.work.params import Expression, Metrics, Seeds
from gainboard.work.result_models import ResultModel, SubsetsResult


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
        asked = self.settings or default_settings(label.highest_level)
        settings = list(dict.fromkeys(label.written("Q", "gains", setting) for setting in asked))
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


def tables(result: Result) -> Sequence[Table]:
    """Return stability, required differences and correlation with the first setting, then details of stability and
    swaps.
    """
    return (
        _correlations(result),
        *(replace(table, name=f"stability-{table.name}") for table in stability.tables(_part(result, "stability"))),
        *(replace(table, name=f"swap-rate-{table.name}") for table in swap_rate.tables(_part(result, "swap_rate"))),
    )


def figures(result: Result) -> Sequence[Figure]:
    """Return the stability and swap-rate curves of all metrics under all settings."""
    return (
        *(replace(figure, name="stability-curves") for figure in stability.figures(_part(result, "stability"))),
        *(replace(figure, name="swap-rate-curves") for figure in swap_rate.figures(_part(result, "swap_rate"))),
    )


def _part(result: Result, name: str) -> Result:
    return {**result, **result[name]}


def _correlations(result: Result) -> Table:
    rows = [
        (
            metric["metric"],
            setting,
            *(found["coefficients"][name][0][found["metrics"].index(label)] for name in ("kendall", "spearman")),
            len(found["swops"][label]),
        )
        for metric, found in zip(result["metrics"], result["rank_correlation"], strict=True)
        for setting, label in zip(result["settings"], metric["labels"], strict=True)
    ]
    columns = (
        Column("metric", section=True),
        Column("gains"),
        Column("Kendall's tau-b", digits=4),
        Column("Spearman's rho", digits=4),
        Column("swops"),
    )
    caption = f"Rankings of {len(result['runs'])} runs under several gain settings, against that under the first one."
    return Table("correlation-with-first", caption, columns, rows)


def _analysis(matrices: Matrices, asked: RobustnessParams) -> GainRobustness:
    return GainRobustness(
        matrices,
        asked.labels,
        asked.settings or (),
        trials=asked.trials,
        fuzziness=asked.fuzziness,
        subset_size=asked.subset_size,
        per_pair=asked.per_pair,
        seed=asked.seed,
        seeds=asked.seeds,
    )


GAIN_ROBUSTNESS = enter(
    JobKind(
        name="gain-robustness",
        # the versions of the kinds whose analyses it runs
        changes=stability.STABILITY.changes + swap_rate.SWAP_RATE.changes + rank_correlation.RANK_CORRELATION.changes,
        params=RobustnessParams,
        result=GainRobustnessResult,
        analysis=_analysis,
        tables=tables,
        figures=figures,
    )
)
