"""rank-intervals: how sure the rank of each run is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Self

from pydantic import Field

from gainboard.evaluation.analyses.rank_intervals import RankIntervals
from gainboard.exhibits import Axis, Column, Figure, Panel, Series, Table
from gainboard.statistics import find_test
from gainboard.statistics.significance import Correction
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.jobs.bootstrap_sensitivity import CORRECTION, Test
from gainboard.work.labels import Labels
from gainboard.work.params import Draws, MetricsParams, Seed
from gainboard.work.result_models import ResultModel, TopicsResult


class RankIntervalsParams(MetricsParams):
    """The ranks that each run may have. `rank_set` is by a significance test of all pairs at 0.05, by default the
    bootstrap range: from 1 plus the number of runs that are significantly better, to the number of runs less those that
    are significantly worse. A leaderboard shows the same sets. How often the sets of all runs hold together was
    measured for each test (docs/quality.md).

    `percentiles` are the 2.5th and 97.5th of the rank over bootstrap samples of the topics. They are about one run
    alone, and too narrow where runs are close. `expected_rank` is the mean rank over the samples, and `share_first` the
    share of the samples in which the run is first. That is not the probability that it is the best: the run that looks
    best was favoured by these very topics.
    """

    resamples: Draws = Field(1000, description="Number of bootstrap samples of the topics")
    test: Test = Field("bootstrap-range", description="The significance test behind `rank_set`")  # type: ignore[valid-type]
    test_resamples: Draws | None = Field(None, description="Number of resamples of the test; by default the test's own")
    correction: Correction = Field("none", description=f"{CORRECTION}, the other tests need one")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with the test's own number of resamples."""
        own = find_test(self.test).default_resamples
        return super().settled(label).model_copy(update={"test_resamples": self.test_resamples or own})


class RankOfRun(ResultModel):
    """The ranks that a run may have."""

    run: str
    rank: int
    mean: float
    rank_set: tuple[int, int] = Field(description="The best and the worst rank that the test cannot exclude")
    percentiles: tuple[int, int] = Field(description="2.5th and 97.5th percentile of the rank over resamples")
    expected_rank: float = Field(description="Mean rank over resamples")
    share_first: float = Field(description="Share of resamples in which it is first")


class RanksUnderMetric(ResultModel):
    """The ranks under a metric."""

    metric: str
    ranks: list[RankOfRun]


class RankIntervalsResult(TopicsResult):
    """The ranks that each run may have."""

    kind: Literal["rank-intervals"]
    seed: int
    resamples: int
    test: str
    test_resamples: int | None = Field(description="Null for a test that draws nothing")
    correction: Correction
    alpha: float = Field(description="Significance level of the rank sets")
    note: str | None = Field(description="A warning about too few resamples")
    metrics: list[RanksUnderMetric]


def tables(result: Result) -> Sequence[Table]:
    """Return the runs with their ranks, the best first under each metric."""
    rows = [
        (
            metric["metric"],
            each["rank"],
            each["run"],
            each["mean"],
            *each["rank_set"],
            *each["percentiles"],
            each["expected_rank"],
            each["share_first"],
        )
        for metric in result["metrics"]
        for each in best_first(metric)
    ]
    columns = (
        Column("metric", section=True),
        Column("rank"),
        Column("run"),
        Column("mean", digits=4),
        Column("from", group="rank set"),
        Column("to", group="rank set"),
        Column("2.5th", group="percentile"),
        Column("97.5th", group="percentile"),
        Column("expected rank", digits=1),
        Column("share first", digits=3),
    )
    notes = [
        "Rank sets follow from the pairs of runs that the test tells apart at 0.05.",
        "Percentiles are per run, and anti-conservative when runs are close.",
        *([note] if (note := result.get("note")) else []),
    ]
    return (Table("ranks", f"Ranks of the runs. {_title(result)}.", columns, rows, notes=notes),)


def best_first(metric: Result) -> list[Result]:
    """Return the runs of a metric in the order of their ranks."""
    return sorted(metric["ranks"], key=lambda each: (each["rank"], each["run"]))


def _title(result: Result) -> str:
    drawn = f" with {result['test_resamples']} resamples" if result["test_resamples"] is not None else ""
    corrected = f", corrected by {result['correction']}" if result["correction"] != "none" else ""
    return (
        f"{find_test(result['test']).title}{drawn}{corrected}, alpha {result['alpha']:g}; {result['resamples']} "
        f"bootstrap samples of {result['topics']} topics"
    )


def figures(result: Result) -> Sequence[Figure]:
    """Return a figure for each metric: the rank sets and the percentiles of the runs, the best first."""
    return [_figure(result, metric, f"ranks-{number}") for number, metric in enumerate(result["metrics"], start=1)]


def _figure(result: Result, metric: Result, name: str) -> Figure:
    runs = best_first(metric)
    places = list(range(len(runs)))
    series = [
        Series("rank", places, [each["rank"] for each in runs], style="points"),
        *(
            Series(title, places, [each[member][end] for each in runs], style="line")
            for member, title in (("rank_set", "rank set"), ("percentiles", "percentiles"))
            for end in (0, 1)
        ),
    ]
    runs_axis = Axis(f"runs, sorted by {metric['metric']}", categories=[each["run"] for each in runs])
    panel = Panel(runs_axis, Axis("rank", limits=(0, None), counts=True), series)
    caption = f"Ranks that each run may have under {metric['metric']}. {_title(result)}."
    return Figure(name, caption, (panel,))


RANK_INTERVALS = enter(
    JobKind(
        name="rank-intervals",
        # 1: rank sets are by the bootstrap range
        changes=1,
        params=RankIntervalsParams,
        result=RankIntervalsResult,
        analysis=lambda matrices, asked: RankIntervals(
            matrices,
            asked.metrics,
            resamples=asked.resamples,
            test=asked.test,
            test_resamples=asked.test_resamples,
            correction=asked.correction,
            seed=asked.seed,
        ),
        tables=tables,
        figures=figures,
    )
)
