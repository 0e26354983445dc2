"""rank-intervals: how sure the rank of each run is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from gainboard.analyses.common import MOST_KEPT, MOST_PAIRS, refuse, require_at_most
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.pair_tests import CORRECTION, CORRECTION_TITLES, Decision, PairTests, Test
from gainboard.analyses.params import DrawCount, MetricsParams, Seed
from gainboard.analyses.result_models import Number, ResultModel, Shown, TopicsResult, fields, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.texts import counted, listed
from gainboard.statistics import find_test
from gainboard.statistics.draws import Draws, Indices
from gainboard.statistics.means import competition_ranks
from gainboard.statistics.multiple_comparisons import differing_pairs, rank_sets, resampled_ranks
from gainboard.statistics.significance import Correction

PURPOSE = "rank intervals"
ALPHA = 0.05
SECONDS_A_RANK, SECONDS_A_SCORE = 3e-7, 1e-9


class RankIntervalsParams(MetricsParams):
    """The ranks that each run may have. `rank_set` is by a significance test of all pairs at 0.05, by default the
    bootstrap range: from 1 plus the number of runs that are significantly better, to the number of runs less those that
    are significantly worse. A leaderboard shows the same sets. How often the sets of all runs hold together was
    measured for each test (docs/statistics.md).

    `percentiles` are the 2.5th and 97.5th of the rank over bootstrap samples of the topics. They are about one run
    alone, and too narrow where runs are close. `expected_rank` is the mean rank over the samples, and `share_first` the
    share of the samples in which the run is first. That is not the probability that it is the best: the run that looks
    best was favoured by these very topics.
    """

    resamples: DrawCount = Field(1000, description="Number of bootstrap samples of the topics")
    test: Test = Field("bootstrap-range", description="The significance test behind `rank_set`")  # type: ignore[valid-type]
    test_resamples: DrawCount | None = Field(
        None, description="Number of resamples of the test; by default the test's own"
    )
    correction: Correction = Field("none", description=f"{CORRECTION}, the other tests need one")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with the test's own number of resamples."""
        default_resamples = find_test(self.test).default_resamples
        return super().settled(label).model_copy(update={"test_resamples": self.test_resamples or default_resamples})


class RankOfRun(ResultModel):
    """The ranks that a run may have."""

    run: Annotated[str, Shown()]
    rank: Annotated[int, Shown()]
    mean: Annotated[Number, Shown(digits=4)]
    rank_set: Annotated[tuple[int, int], Shown(("from", "to"), group="rank set")] = Field(
        description="The best and the worst rank that the test cannot exclude"
    )
    percentiles: Annotated[tuple[int, int], Shown(("2.5th", "97.5th"), group="percentile")] = Field(
        description="2.5th and 97.5th percentile of the rank over resamples"
    )
    expected_rank: Annotated[float, Shown(digits=1)] = Field(description="Mean rank over resamples")
    share_first: Annotated[float, Shown(digits=3)] = Field(description="Share of resamples in which it is first")


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
    note: str | None = Field(description="A warning about too few resamples, or about levels that few topics allow")
    metrics: list[RanksUnderMetric]

    @property
    def _title(self) -> str:
        drawn = f" with {self.test_resamples} resamples" if self.test_resamples is not None else ""
        corrected = CORRECTION_TITLES[self.correction]
        return (
            f"{find_test(self.test).title}{drawn}{corrected}, alpha {self.alpha:g}; {self.resamples} "
            f"bootstrap samples of {self.topics} topics"
        )

    def verdict(self) -> str:
        first = (f"{sum(run.rank_set[0] == 1 for run in of.ranks)} under {of.metric}" for of in self.metrics)
        return f"So many of {counted(len(self.runs), 'run')} may be the best: {listed(first)} (alpha {self.alpha:g})."

    def tables(self) -> Sequence[Table]:
        """Return the runs with their ranks, the best first under each metric."""
        columns = fields(RankOfRun, "rank", "run", "mean", "rank_set", "percentiles", "expected_rank", "share_first")
        notes = [
            "Rank sets follow from the pairs of runs that the test tells apart at 0.05.",
            "Percentiles are per run, and anti-conservative when runs are close.",
            *([note] if (note := self.note) else []),
        ]
        caption = f"Ranks of the runs. {self._title}."
        return (table(columns, "ranks", caption, self.metrics, each=best_first, in_sections=True, notes=notes),)

    def figures(self) -> Sequence[Figure]:
        """Return a figure for each metric: the rank sets and the percentiles of the runs, the best first."""
        shown = []
        for number, metric in enumerate(self.metrics, start=1):
            runs = best_first(metric)
            places = list(range(len(runs)))
            series = [Series("rank", places, [run.rank for run in runs], style="points")]
            series += [
                Series(title, places, [getattr(run, member)[end] for run in runs], style="line")
                for member, title in (("rank_set", "rank set"), ("percentiles", "percentiles"))
                for end in (0, 1)
            ]
            runs_axis = Axis(f"runs, sorted by {metric.metric}", categories=[run.run for run in runs])
            panel = Panel(runs_axis, Axis("rank", limits=(0, None), counts=True), series)
            caption = f"Ranks that each run may have under {metric.metric}. {self._title}."
            shown.append(Figure(f"ranks-{number}", caption, (panel,)))
        return shown


@lru_cache(maxsize=1)
def _resamples(seed: int, count: int, topics: int) -> Indices:
    drawn = Draws(seed, PURPOSE).resamples(count, topics)
    # All callers share the cached array.
    drawn.flags.writeable = False
    return drawn


@enter
class RankIntervals(Analysis[RankIntervalsParams, RankIntervalsResult]):
    """Each run's set of ranks by a significance test, and its ranks over bootstrap samples of the topics."""

    name = "rank-intervals"
    title = "Ranks that are sure"
    question = "which-runs"
    summary = (
        "The ranks that each run may have, by a significance test of all pairs and by bootstrap samples of the topics."
    )
    # 1: rank sets are by the bootstrap range; 2: whose ranges are stretched; levels that few topics allow are noted
    changes = 2

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: RankIntervalsParams) -> None:
        super().__init__(matrices, params)
        self.metrics, self.resamples = params.metrics, params.resamples
        self._tests = PairTests(
            matrices,
            self.metrics,
            test=params.test,
            resamples=params.test_resamples,
            correction=params.correction,
            seed=params.seed,
        )
        if params.correction == "none" and not self._tests.test.is_simultaneous:
            message = (
                f"{params.test} decides each pair by itself, so the sets of ranks would not hold together. Use "
                '"test": "bootstrap-range", or correct the levels: "correction": "holm".'
            )
            raise refuse("correction", "missing", message)
        if params.correction == "benjamini-hochberg":
            message = (
                "benjamini-hochberg controls the false discovery rate: some pairs may be told apart falsely, and the "
                'sets of ranks would not hold together. Use "correction": "holm".'
            )
            raise refuse("correction", "not-simultaneous", message)
        self.topics = self._tests.topics
        self.topics.require_drawable(self.resamples, "resamples")
        runs, resamples = matrices.run_count, self.resamples
        require_at_most(MOST_KEPT, resamples * runs, f"ranks ({resamples:,} resamples x {runs:,} runs)", "resamples")
        require_at_most(MOST_PAIRS, runs * len(self.metrics), "runs over all metrics", "runs")

    def parts(self) -> list[float]:
        draws = self.resamples * self.matrices.run_count
        seconds = draws * SECONDS_A_RANK + draws * self.topics.count * SECONDS_A_SCORE
        return [seconds] * len(self.metrics) + self._tests.parts()

    def work(self, part: int) -> Arrays:
        if part >= len(self.metrics):
            return self._tests.work(part - len(self.metrics))
        drawn = _resamples(self.params.seed, self.resamples, self.topics.count)
        ranks = resampled_ranks(self.topics.scores(self.metrics[part]), drawn)
        return {"low": ranks.low, "high": ranks.high, "expected": ranks.expected, "share_first": ranks.share_first}

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        resampled, tested, metrics = findings[: len(self.metrics)], findings[len(self.metrics) :], []
        drawn, doubtful = None, 0
        # One metric at a time, because its pairs need much memory.
        for (decision, _), ranks in zip(self._tests.decisions(tested), resampled, strict=True):
            metrics.append(RanksUnderMetric(metric=decision.label, ranks=self._ranks(decision, ranks)))
            drawn = decision.outcome.resamples
            doubtful += decision.doubtful
        return {
            **self.topics.described(),
            "seed": self.params.seed,
            "resamples": self.resamples,
            "test": self._tests.test.name,
            "test_resamples": drawn,
            "correction": self.params.correction,
            "alpha": ALPHA,
            "note": self._tests.note(drawn, [ALPHA], doubtful),
            "metrics": metrics,
        }

    def _ranks(self, decision: Decision, findings: Arrays) -> list[RankOfRun]:
        means = decision.scores.mean(axis=1)
        differs = differing_pairs(decision.asl, len(means), ALPHA)
        # Rank sets hold for all runs at once. Percentiles are about one run, and too narrow where runs are close.
        columns = [means, competition_ranks(means), rank_sets(means, differs)]
        columns += [findings[name] for name in ("low", "high", "expected", "share_first")]
        return [
            RankOfRun(
                run=run.name,
                rank=rank,
                mean=mean,
                rank_set=places,
                percentiles=(low, high),
                expected_rank=expected,
                share_first=share,
            )
            for run, mean, rank, places, low, high, expected, share in zip(
                self.matrices.runs, *(column.tolist() for column in columns), strict=True
            )
        ]


def best_first(metric: RanksUnderMetric) -> list[RankOfRun]:
    """Return the runs of a metric in the order of their ranks."""
    return sorted(metric.ranks, key=lambda run: (run.rank, run.run))
