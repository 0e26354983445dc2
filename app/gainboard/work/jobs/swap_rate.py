"""swap-rate: how often a difference between two runs reverses on other topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from gainboard.evaluation.analyses.swap_rate import SwapRate
from gainboard.exhibits import Axis, Column, Figure, Panel, Reference, Series, Table
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.params import Draws, MetricsParams, Seed


class SwapRateParams(MetricsParams):
    """Swap rate of each metric by the size of the difference between two runs (Voorhees and Buckley, SIGIR 2002): each
    trial compares all pairs on two disjoint random sets of topics. The result also has the difference that is required
    for a swap rate of at most 5 %, and the share of comparisons that reach it.
    """

    trials: Draws = Field(1000, description="Number of pairs of topic sets")
    subset_size: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        None, description="Number of topics in each set; by default half of the topics"
    )
    replacement: bool = Field(
        False, description="Whether each set is drawn with replacement, independently of the other"
    )
    strict: bool = Field(True, description="Whether a difference that becomes 0 counts as a swap, as in Sakai's form")
    seed: Seed = 0


def tables(result: Result) -> Sequence[Table]:
    """Return the four columns of the papers' tables, and the rates by bin."""
    required = [
        (
            metric["metric"],
            metric["absolute_difference_required"],
            metric["maximum_performance"],
            metric["relative_difference_required"],
            metric["discrimination_power"],
        )
        for metric in result["metrics"]
    ]
    bins = [
        (metric["metric"], each["from"], each["to"], each["comparisons"], each["swaps"], each["swap_rate"])
        for metric in result["metrics"]
        for each in metric["bins"]
    ]
    return (
        Table(
            "required-differences",
            f"Difference required for a swap rate of at most 5 %, topic sets of {result['subset_size']}.",
            (
                Column("metric"),
                Column("absolute difference required", digits=2),
                Column("maximum performance", digits=4),
                Column("relative difference required", digits=1, percent=True),
                Column("discrimination power", digits=1, percent=True),
            ),
            required,
        ),
        Table(
            "bins",
            f"Swap rate by the size of the difference, {result['trials']} trials.",
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
    )


def figures(result: Result) -> Sequence[Figure]:
    """Return the swap-rate curves of all metrics."""
    series = [
        Series(
            metric["metric"],
            [each["from"] for each in metric["bins"]],
            [each["swap_rate"] for each in metric["bins"]],
        )
        for metric in result["metrics"]
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
        params=SwapRateParams,
        analysis=lambda matrices, asked: SwapRate(
            matrices,
            asked.metrics,
            trials=asked.trials,
            subset_size=asked.subset_size,
            replacement=asked.replacement,
            strict=asked.strict,
            seed=asked.seed,
        ),
        tables=tables,
        figures=figures,
    )
)
