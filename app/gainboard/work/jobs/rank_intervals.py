"""rank-intervals: how sure the rank of each run is."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from gainboard.evaluation.analyses.rank_intervals import RankIntervals
from gainboard.exhibits import Axis, Column, Figure, Panel, Series, Table
from gainboard.work.job_kinds import JobKind, Result, enter
from gainboard.work.params import Draws, MetricsParams, Seed


class RankIntervalsParams(MetricsParams):
    """The ranks that each run may have. `rank_set` is by the randomised Tukey HSD test at 0.05: from 1 plus the number
    of runs that are significantly better, to the number of runs less those that are significantly worse. The sets of
    all runs hold together with 95 % confidence. A leaderboard shows them with its groups.

    `percentiles` are the 2.5th and 97.5th of the rank over bootstrap samples of the topics. They are about one run
    alone, and too narrow where runs are close. `expected_rank` is the mean rank over the samples, and `share_first` the
    share of the samples in which the run is first. That is not the probability that it is the best: the run that looks
    best was favoured by these very topics.
    """

    resamples: Draws = Field(1000, description="Number of bootstrap samples of the topics")
    permutations: Draws = Field(5000, description="Number of permutations of the test")
    seed: Seed = 0


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
        "All rank sets under a metric hold together with 95 % confidence.",
        "Percentiles are per run, and anti-conservative when runs are close.",
    ]
    return (Table("ranks", f"Ranks of the runs. {_title(result)}.", columns, rows, notes=notes),)


def best_first(metric: Result) -> list[Result]:
    """Return the runs of a metric in the order of their ranks."""
    return sorted(metric["ranks"], key=lambda each: (each["rank"], each["run"]))


def _title(result: Result) -> str:
    return (
        f"Randomised Tukey HSD test with {result['permutations']} permutations, alpha 0.05; {result['resamples']} "
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
        params=RankIntervalsParams,
        analysis=lambda matrices, asked: RankIntervals(
            matrices, asked.metrics, resamples=asked.resamples, permutations=asked.permutations, seed=asked.seed
        ),
        tables=tables,
        figures=figures,
    )
)
