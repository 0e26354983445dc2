"""corrected-means: means under cheap judgments of all topics, corrected by people on some of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import ConfigDict, Field

from gainboard.analyses import common
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.judgments import SECONDS_A_JUDGMENT
from gainboard.analyses.labels import Labels
from gainboard.analyses.pair_tests import MOST_LISTED
from gainboard.analyses.params import DrawCount, Judgments, MetricsParams, Seed, SetVersion
from gainboard.analyses.result_models import JobResult, Number, ResultModel, ResultRow, Shown, fields, table
from gainboard.errors import InvalidRequest
from gainboard.evaluation.boards.adjusted_boards import ASSUMED, TopicsJudgedTwice, require_correctable
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.statistics import bootstrap_range, multiple_comparisons
from gainboard.statistics.corrected_means import Tuning, TwiceJudged
from gainboard.statistics.means import competition_ranks, pair_count, pair_indices
from gainboard.store.records import VersionName

ALPHA = 0.05
SECONDS_A_DRAW, SECONDS_A_SUM = 4e-8, 2e-10
Interval = tuple[Number, Number]


class CorrectedMeansParams(MetricsParams):
    """Means under cheap judgments of all topics, such as those of a language model, corrected by trusted judgments of a
    random sample of the topics, such as those of people (prediction-powered inference: Angelopoulos et al., Science,
    2023; PPI++, 2023). `judgments` names the cheap set, and `trusted` the other one.

    The corrected mean is the mean cheap score of the topics without trusted judgments, times a weight, plus the mean
    difference of trusted and weighted cheap scores on the sample. Power tuning chooses the weight that makes the
    variance least, one for all runs; a useless judge has the weight 0. Beside the corrected mean are those under either
    set alone. `worth` is the number of trusted topics that alone would give an interval as narrow.

    Groups and rank sets are by the bootstrap range over corrected means: trusted and other topics are drawn
    independently, and the weight is held. Pairs have Student's t-test of the corrected difference as well, uncorrected,
    by Holm's method, and by that of Benjamini and Hochberg, which controls the false discovery rate.

    All of it holds only if the trusted topics are a random sample of all topics. Fewer than 20 trusted topics are
    refused: intervals would hold the truth too rarely (docs/judgments.md).
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"metrics": ["AP", "nDCG@10"], "judgments": "model", "trusted": "people", "sampled_at_random": True}
            ]
        }
    )

    trusted: Judgments | SetVersion = Field(
        description='The trusted judgment set, or its version: `{"judgments": "people", "qrels": 1}`',
        examples=["people"],
    )
    tuning: Tuning = Field("power", description="How the cheap scores are weighted; with `none`, the weight is 1")
    sampled_at_random: bool = Field(
        False, description="Whether the trusted topics are a random sample of all topics. It must be true"
    )
    resamples: DrawCount = Field(
        bootstrap_range.BootstrapRange.default_resamples,
        description="Number of bootstrap samples behind groups and rank sets",
    )
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with an object for the trusted set."""
        return super().settled(label).model_copy(update={"trusted": SetVersion.of(self.trusted_version())})

    def versions(self) -> dict[str, VersionName]:
        return {"trusted": self.trusted_version()}

    def pinned(self, versions: Mapping[VersionName, VersionName]) -> Self:
        return self.model_copy(update={"trusted": SetVersion.of(versions[self.trusted_version()])})

    def trusted_version(self) -> VersionName:
        """Return the name of the trusted version."""
        return self.trusted.named() if isinstance(self.trusted, SetVersion) else VersionName(self.trusted)


class MeanWithInterval(ResultModel):
    """A mean and its 95 % interval by Student's t."""

    mean: Number
    interval: Interval


class CorrectedMean(MeanWithInterval):
    """A corrected mean. The degrees of freedom are those of the trusted topics."""

    normal_interval: Interval = Field(description="The interval as it was published, which is narrower")


def _shown_mean(group: str) -> Shown:
    return Shown(
        ("mean", "low", "high"), digits=4, group=group, by=lambda estimate: (estimate.mean, *estimate.interval)
    )


class CorrectedRun(ResultModel):
    """The means of a run. Runs that share a letter are not told apart."""

    run: Annotated[str, Shown()]
    rank: Annotated[int, Shown()]
    corrected: Annotated[CorrectedMean, _shown_mean("corrected")]
    trusted: Annotated[MeanWithInterval, _shown_mean("trusted alone")] = Field(
        description="Under the trusted judgments alone, on the trusted topics"
    )
    cheap: Annotated[MeanWithInterval, _shown_mean("cheap alone")] = Field(
        description="Under the cheap judgments alone, on all topics"
    )
    worth: Annotated[Number, Shown(digits=1, group="corrected")] = Field(
        description="Trusted topics that alone would give an interval as narrow as the corrected one"
    )
    groups: Annotated[list[str], Shown(by=" ".join)]
    rank_set: Annotated[tuple[int, int], Shown("ranks", by=lambda ranks: "-".join(map(str, ranks)))] = Field(
        description="The best and the worst rank that the test cannot exclude"
    )


def _shown_level(heading: str) -> Shown:
    return Shown(heading, digits=4, group="level", level=True)


class CorrectedPair(ResultRow):
    """The differences of two runs, the first one's mean minus the second's."""

    runs: Annotated[tuple[str, str], Shown(("first run", "second run"))]
    corrected: Annotated[Number, Shown("mean", digits=4, group="corrected difference")]
    interval: Annotated[Interval, Shown(("low", "high"), digits=4, group="corrected difference")]
    trusted: Annotated[
        Number,
        Field(description="Under the trusted judgments alone"),
        Shown(digits=4, group="difference under one set"),
    ]
    trusted_interval: Interval
    cheap: Annotated[
        Number, Field(description="Under the cheap judgments alone"), Shown(digits=4, group="difference under one set")
    ]
    cheap_interval: Interval
    worth: Annotated[Number, Shown(digits=1, group="corrected difference")]
    asl: Annotated[Number, Field(description="Level of the corrected difference, Student's t"), _shown_level("t")]
    asl_holm: Annotated[Number, _shown_level("Holm")]
    asl_benjamini_hochberg: Annotated[
        Number, Field(description="Controls the false discovery rate"), _shown_level("Benjamini-Hochberg")
    ]
    asl_range: Annotated[
        Number, Field(description="Level by the bootstrap range, for all pairs together"), _shown_level("range")
    ]


class CorrectedUnderMetric(ResultModel):
    """The corrected means under a metric."""

    metric: Annotated[str, Shown()]
    weight: Annotated[float, Shown(digits=3)] = Field(
        description="How much the cheap scores count, from 0 to 1: lambda of PPI++"
    )
    topics: Annotated[int, Shown("all", group="topics")] = Field(description="Topics that count")
    trusted_topics: Annotated[int, Shown("trusted", group="topics")] = Field(
        description="Those of them with trusted judgments"
    )
    topics_left_out: Annotated[list[str], Shown("left out", group="topics", by=len)] = Field(
        description="Topics for which the metric is undefined under a set, or that only the trusted set judges"
    )
    correlation: Annotated[Number, Shown("scores", digits=3, group="correlation")] = Field(
        description="Of cheap and trusted scores on the trusted topics, within runs"
    )
    difference_correlation: Annotated[Number, Shown("differences", digits=3, group="correlation")] = Field(
        description="The same of differences of pairs of runs"
    )
    runs: list[CorrectedRun]
    pairs_told_apart: Annotated[int, Shown()] = Field(description="Pairs of runs that the bootstrap range tells apart")
    pairs: list[CorrectedPair] | None = Field(description="Null if there are more than 100,000 over all metrics")


class CorrectedMeansResult(JobResult):
    """Means under cheap judgments, corrected by trusted ones."""

    kind: Literal["corrected-means"]
    trusted: str = Field(description="The trusted judgment set")
    trusted_version: int
    tuning: Tuning
    assumes: str = Field(description="The condition without which the correction says nothing")
    alpha: float = Field(description="Significance level of groups and rank sets")
    seed: int
    resamples: int
    metrics: list[CorrectedUnderMetric]

    @property
    def _title(self) -> str:
        weighted = "power tuning" if self.tuning == "power" else "no tuning"
        return f"Judged by {self.judgment_set}, corrected by {self.trusted} ({weighted}); 95 % intervals by Student's t"

    def tables(self) -> Sequence[Table]:
        """Return the means of the runs, the best first under each metric, the samples behind them, and the pairs."""
        title, metrics = self._title, self.metrics
        notes = [
            f"This holds only under a condition. {self.assumes}",
            "Worth is the number of trusted topics that alone would give an interval as narrow.",
            f"Ranks and groups are by the bootstrap range of corrected means at {self.alpha:g}, with "
            f"{self.resamples:,} resamples.",
        ]
        runs = fields(CorrectedRun, "rank", "run", "corrected", "worth", "trusted", "cheap", "rank_set", "groups")
        counts = ("metric", "trusted_topics", "topics", "topics_left_out", "weight")
        samples = fields(CorrectedUnderMetric, *counts, "correlation", "difference_correlation", "pairs_told_apart")
        shown = [
            table(
                runs, "means", f"Means of the runs. {title}.", metrics, each=best_first, in_sections=True, notes=notes
            ),
            table(samples, "samples", f"Topics and weight under each metric. {title}.", metrics),
        ]
        listed = [metric for metric in metrics if metric.pairs]
        if listed:
            note = "Benjamini and Hochberg's method controls the false discovery rate, and Holm's any false discovery."
            levels = ("asl", "asl_holm", "asl_benjamini_hochberg", "asl_range")
            pairs = fields(CorrectedPair, "runs", "corrected", "interval", "worth", "trusted", "cheap", *levels)
            caption = f"Differences of pairs of runs. {title}."
            shown.append(table(pairs, "pairs", caption, listed, each="pairs", in_sections=True, notes=[note]))
        return shown

    def figures(self) -> Sequence[Figure]:
        """Return a figure for each metric: the corrected means with their intervals, and those under each set alone."""
        shown = []
        for number, metric in enumerate(self.metrics, start=1):
            runs = best_first(metric)[::-1]
            places = list(range(len(runs)))
            ends = [end for run in runs for end in (*run.corrected.interval, None)]
            at = [height for place_of_run in places for height in (place_of_run, place_of_run, None)]
            series = [
                Series("corrected", [run.corrected.mean for run in runs], places, "points"),
                Series("cheap alone", [run.cheap.mean for run in runs], places, "points"),
                Series("trusted alone", [run.trusted.mean for run in runs], places, "points"),
                Series("95 % interval, corrected", ends, at, "intervals"),
            ]
            panel = Panel(Axis(f"mean {metric.metric}"), Axis("", categories=[run.run for run in runs]), series)
            caption = f"Means of the runs under {metric.metric}. {self._title}."
            shown.append(Figure(f"means-{number}", caption, (panel,)))
        return shown


@enter
class CorrectedMeans(Analysis[CorrectedMeansParams, CorrectedMeansResult]):
    """The scores of all runs under a cheap and a trusted set, metric by metric: each metric is a part."""

    name = "corrected-means"
    title = "Judges corrected by people"
    question = "judges"
    needs_judgments = True
    summary = "Means under cheap judgments of all topics, corrected by people who judged a random sample of them."
    changes = 1  # ranges are stretched

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: CorrectedMeansParams) -> None:
        super().__init__(matrices, params)
        self._trusted = matrices.under(params.trusted_version())
        cheap, trusted = matrices.qrels, self._trusted.qrels
        if not params.sampled_at_random:
            message = (
                f"{ASSUMED[:-1]}: only then does the correction hold. If it is so, say it: "
                '"sampled_at_random": true. Otherwise, take the trusted judgments alone.'
            )
            raise common.refuse("sampled_at_random", "not-said", message)
        if trusted.id == cheap.id:
            message = f'The cheap set is the {cheap.named}, too. Name the cheap judgments: "judgments": "NAME".'
            raise common.refuse("trusted", "same-version", message)
        if trusted.order != cheap.order:
            message = (
                f"The {trusted.named} has runs ordered by {trusted.order}, and the {cheap.named} by {cheap.order}. "
                "Publish versions whose runs are in the same order."
            )
            raise common.refuse("trusted", "other-order", message)
        if matrices.run_count < 1:
            raise common.refuse("runs", "too-few-runs", "No run is selected. Select at least one.")
        for label in params.metrics:
            require_correctable(matrices.metric(label), _refuse_metric)
        tested = pair_count(matrices.run_count) * len(params.metrics)
        common.require_at_most(common.MOST_TESTED_PAIRS, tested, common.PAIRS, "runs", "too-many-pairs")
        self._topics: dict[str, TopicsJudgedTwice] = {}
        for label in params.metrics:
            sets = [(judged.topics, judged.defined(label)) for judged in (matrices, self._trusted)]
            self._topics[label] = TopicsJudgedTwice.of(*sets)
            self._topics[label].require_enough(label, _refuse_trusted)

    def parts(self) -> list[float]:
        runs, topics, resamples = self.matrices.run_count, len(self.matrices.topics), self.params.resamples
        judged = self.matrices.qrels.judged + self._trusted.qrels.judged
        drawn = resamples * topics * (SECONDS_A_DRAW + runs * SECONDS_A_SUM)
        return [judged * SECONDS_A_JUDGMENT + drawn] * len(self.params.metrics)

    def work(self, part: int) -> Arrays:
        label = self.params.metrics[part]
        sample = self._topics[label].scores(self.matrices.scores(label), self._trusted.scores(label))
        weight = sample.weight(self.params.tuning)
        first, second = pair_indices(self.matrices.run_count)
        pairs = sample.differences(first, second)
        findings = {
            "weight": np.array([weight]),
            "correlations": np.array(
                [judged_twice.correlation() if len(judged_twice.cheap) else np.nan for judged_twice in (sample, pairs)]
            ),
            "runs": _described(sample, weight),
            "ranges": sample.ranges(weight, self.params.resamples, self.params.seed),
        }
        # Pairs grow with the square of the runs, so their levels are left out where the result cannot list them.
        if self._lists_pairs:
            # With the weight of the runs, so that the difference of a pair is the difference of its corrected means.
            levels = pairs.corrected(weight).levels(sample.freedom)
            findings["pairs"] = np.vstack((_described(pairs, weight), levels))
        return findings

    @property
    def _lists_pairs(self) -> bool:
        return pair_count(self.matrices.run_count) * len(self.params.metrics) <= MOST_LISTED

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        version, metrics = self._trusted.qrels, []
        for label, of_metric in zip(self.params.metrics, findings, strict=True):
            topics, means = self._topics[label], of_metric["runs"][0]
            # The largest difference over all pairs bounds each of them, and every run keeps its own variance.
            differs = np.abs(means[:, np.newaxis] - means) > bootstrap_range.critical_difference(
                of_metric["ranges"], ALPHA
            )
            metrics.append(
                CorrectedUnderMetric(
                    metric=label,
                    weight=float(of_metric["weight"][0]),
                    topics=len(topics.cheap) + len(topics.others),
                    trusted_topics=len(topics.trusted),
                    topics_left_out=list(topics.left_out),
                    correlation=float(of_metric["correlations"][0]),
                    difference_correlation=float(of_metric["correlations"][1]),
                    runs=list(self._runs(of_metric["runs"], differs)),
                    pairs_told_apart=int(differs.sum()) // 2,
                    pairs=list(self._pairs(of_metric)) if self._lists_pairs else None,
                )
            )
        return {
            "trusted": version.judgments,
            "trusted_version": version.version,
            "tuning": self.params.tuning,
            "assumes": ASSUMED,
            "alpha": ALPHA,
            "seed": self.params.seed,
            "resamples": self.params.resamples,
            "metrics": metrics,
        }

    def _runs(self, table: Floats, differs: Any) -> Iterator[CorrectedRun]:
        means = table[0]
        letters, sets = (
            multiple_comparisons.significance_groups(means, differs),
            multiple_comparisons.rank_sets(means, differs).tolist(),
        )
        ranks = competition_ranks(means).tolist()
        names = [run.name for run in self.matrices.runs]
        for name, rank, row, letters_of_run, places in zip(names, ranks, table.T.tolist(), letters, sets, strict=True):
            yield CorrectedRun(
                run=name,
                rank=rank,
                corrected=CorrectedMean(mean=row[0], interval=row[1:3], normal_interval=row[3:5]),
                trusted=MeanWithInterval(mean=row[5], interval=row[6:8]),
                cheap=MeanWithInterval(mean=row[8], interval=row[9:11]),
                worth=row[11],
                groups=list(letters_of_run),
                rank_set=places,
            )

    def _pairs(self, findings: Arrays) -> Iterator[Any]:
        names = [run.name for run in self.matrices.runs]
        first, second = (places.tolist() for places in pair_indices(len(names)))
        levels = findings["pairs"][-1]
        by_range = bootstrap_range.range_levels(findings["pairs"][0], findings["ranges"])
        # The corrections come last, because they depend on the levels of all pairs at once.
        table = np.vstack(
            (
                findings["pairs"],
                multiple_comparisons.holm(levels),
                multiple_comparisons.benjamini_hochberg(levels),
                by_range,
            )
        )
        for one, other, row in zip(first, second, table.T.tolist(), strict=True):
            # Dictionaries, because models of 100,000 pairs take more than twice the memory.
            yield {
                "runs": [names[one], names[other]],
                "corrected": row[0],
                "interval": row[1:3],
                "trusted": row[5],
                "trusted_interval": row[6:8],
                "cheap": row[8],
                "cheap_interval": row[9:11],
                "worth": row[11],
                "asl": row[12],
                "asl_holm": row[13],
                "asl_benjamini_hochberg": row[14],
                "asl_range": row[15],
            }


def _described(sample: TwiceJudged, weight: float) -> Floats:
    """Return what a result says of runs or pairs: float64 [12, runs].

    The rows are the corrected mean, the ends of its interval and of the normal one, the trusted mean with its interval,
    the cheap one with its own, and the worth.
    """
    corrected, trusted, cheap = sample.corrected(weight), sample.by_trusted(), sample.by_cheap()
    topics = sample.cheap.shape[1] + sample.others.shape[1]
    rows = [corrected.means, *corrected.intervals(sample.freedom), *corrected.intervals(None)]
    rows += [trusted.means, *trusted.intervals(sample.freedom), cheap.means, *cheap.intervals(topics - 1)]
    return np.array([*rows, sample.worth(corrected)])


def _refuse_metric(code: str, message: str) -> InvalidRequest:
    return common.refuse("metrics", code, message)


def _refuse_trusted(code: str, message: str) -> InvalidRequest:
    return common.refuse("trusted", code, message)


def best_first(metric: CorrectedUnderMetric) -> list[CorrectedRun]:
    """Return the runs of a metric in the order of their ranks."""
    return sorted(metric.runs, key=lambda run: (run.rank, run.run))
