"""concordance: whether two metrics agree on pairs of runs, and both find the difference significant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from operator import itemgetter
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses.common import refuse
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.pair_tests import CORRECTION, CORRECTION_TITLES, Alpha, PairTests, Test
from gainboard.analyses.params import DrawCount, Metrics, MetricsParams, Seed
from gainboard.analyses.result_models import Number, ResultModel, Shown, TopicsResult, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Axis, Figure, HeatMap
from gainboard.notation.texts import counted, said_extremes
from gainboard.statistics import find_test
from gainboard.statistics.agreement import CLASSES, concordance_counts, consistency
from gainboard.statistics.means import pair_count
from gainboard.statistics.significance import Correction


class ConcordanceParams(MetricsParams):
    """Agreement of each two metrics on all pairs of runs, by the classes of Moffat, Scholer and Thomas (ADCS 2012). A
    pair is active if both metrics find its difference significant, mixed if one does, passive if none does. The
    metrics agree if the same run is better under both: `AA`, `MA`, `PA`. Otherwise they disagree: `AD`, `MD`, `PD`. A
    pair that has equal means under one of the metrics is a `tie`.

    `consistency` is AA / (AA + AD + MA + MD): of the pairs that at least one of the metrics finds significant, the
    share on which both do and agree. It is null if there is no such pair.
    """

    metrics: Metrics = Field(description="Metric expressions, at least two", examples=[["AP", "Q", "nDCG@10"]])
    test: Test = Field("t-test", description="The significance test")  # type: ignore[valid-type]
    alpha: Alpha = Field(0.05, description="Significance level")
    resamples: DrawCount | None = Field(None, description="Number of resamples; by default the test's own")
    correction: Correction = Field("none", description=CORRECTION)
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with the test's own number of resamples, and without a seed if nothing is drawn."""
        default_resamples = find_test(self.test).default_resamples
        settled = {"resamples": self.resamples or default_resamples} | (
            {"seed": 0} if default_resamples is None else {}
        )
        return super().settled(label).model_copy(update=settled)


class SignificantPairs(ResultModel):
    """The pairs of runs that a metric separates."""

    metric: Annotated[str, Shown()]
    significant_pairs: Annotated[int, Shown()]


class MetricComparison(ResultModel):
    """The pairs of runs under two metrics, by class: AA, MA, PA, AD, MD, PD and tie."""

    metrics: Annotated[tuple[str, str], Shown(("first metric", "second metric"))]
    counts: dict[str, int]
    shares: Annotated[dict[str, float], Shown(CLASSES, percent=True, digits=1, by=itemgetter(*CLASSES))] = Field(
        description="Of all pairs"
    )
    consistency: Annotated[Number, Shown(digits=3)] = Field(description="AA / (AA + AD + MA + MD)")


class ConcordanceResult(TopicsResult):
    """The pairs of runs on which each two metrics agree, or both find the difference significant."""

    kind: Literal["concordance"]
    test: str
    alpha: float
    correction: Correction
    seed: int
    resamples: int | None = Field(description="Null for a test that draws nothing")
    note: str | None = Field(description="A warning about too few resamples, or about levels that few topics allow")
    pairs: int = Field(description="Pairs of runs")
    metrics: list[SignificantPairs]
    comparisons: list[MetricComparison]
    consistency: list[list[Number]] = Field(description="Of each two metrics, in the order of `metrics`")

    @property
    def _title(self) -> str:
        corrected = CORRECTION_TITLES[self.correction]
        test = find_test(self.test).title
        return f"{test}, alpha {self.alpha:g}{corrected}, {self.pairs} pairs of runs, {self.topics} topics"

    def verdict(self) -> str:
        known = {" and ".join(pair.metrics): pair.consistency for pair in self.comparisons}
        return f"Over {counted(self.pairs, 'pair')} of runs, {said_extremes(known, 'consistency')}."

    def tables(self) -> Sequence[Table]:
        """Return the classes of each two metrics, the most consistent first, and the significant pairs of each."""
        ordered = sorted(self.comparisons, key=lambda comparison: -(comparison.consistency or 0))
        caption = f"Pairs of runs by class: active, mixed or passive; agreement or disagreement. {self._title}."
        about_metrics = f"Pairs that differ significantly. {self._title}."
        notes = [self.note] if self.note else []
        return (
            table(MetricComparison, "concordance", caption, ordered),
            table(SignificantPairs, "significant", about_metrics, self.metrics, notes=notes),
        )

    def figures(self) -> Sequence[Figure]:
        """Return the map of consistency."""
        labels = [metric.metric for metric in self.metrics]
        scale = Axis("consistency: AA / (AA + AD + MA + MD)", limits=(None, 1))
        caption = f"Consistency of significance between metrics. {self._title}."
        return (Figure("consistency", caption, (HeatMap(labels, labels, self.consistency, scale),)),)


@enter
class Concordance(Analysis[ConcordanceParams, ConcordanceResult]):
    """The classes of all pairs of runs under each two of the metrics, with one significance test."""

    name = "concordance"
    title = "Agreement of metrics"
    question = "which-metric"
    summary = "On which pairs of runs two metrics agree, disagree, or only one of them tells a difference."
    # 1: levels of resamples are above 0 before Holm's correction, and Wilcoxon's are exact with ties
    changes = 2  # 2: ranges are stretched; levels that few topics allow are noted

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: ConcordanceParams) -> None:
        super().__init__(matrices, params)
        self.metrics = metrics = params.metrics
        if len(metrics) < 2:
            message = (
                f"The request names one metric, {metrics[0]}, in one or several ways. Name another one to compare it "
                'with, for example ["AP", "Q"].'
            )
            raise refuse("metrics", "too-few-metrics", message)
        # Exactly the levels of a bootstrap-sensitivity job with the same seed.
        self._tests = PairTests(
            matrices,
            metrics,
            test=params.test,
            resamples=params.resamples,
            correction=params.correction,
            seed=params.seed,
        )

    def parts(self) -> list[float]:
        return self._tests.parts()

    def work(self, part: int) -> Arrays:
        return self._tests.work(part)

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        means, significant, resamples, doubtful = [], [], None, 0
        # Only whether pairs differ is kept of a metric: its levels would need much memory for all metrics at once.
        for decision, _ in self._tests.decisions(findings):
            means.append(decision.scores.mean(axis=1))
            significant.append(decision.asl < self.params.alpha)
            resamples = decision.outcome.resamples
            doubtful += decision.doubtful
        counts = concordance_counts(np.array(means), np.array(significant))
        return {
            **self._tests.topics.described(),
            "test": self._tests.test.name,
            "alpha": self.params.alpha,
            "correction": self.params.correction,
            "seed": self.params.seed,
            "resamples": resamples,
            "note": self._tests.note(resamples, [self.params.alpha], doubtful),
            "pairs": pair_count(self.matrices.run_count),
            "metrics": [
                SignificantPairs(metric=label, significant_pairs=int(row.sum()))
                for label, row in zip(self.metrics, significant, strict=True)
            ],
            "comparisons": [
                MetricComparison(
                    metrics=(self.metrics[row], self.metrics[column]),
                    counts=dict(zip(CLASSES, pairs.tolist(), strict=True)),
                    shares=dict(zip(CLASSES, (pairs / int(pairs.sum())).tolist(), strict=True)),
                    consistency=float(consistency(pairs)),
                )
                for row, column in combinations(range(len(self.metrics)), 2)
                for pairs in [counts[row, column]]
            ],
            "consistency": consistency(counts).tolist(),
        }
