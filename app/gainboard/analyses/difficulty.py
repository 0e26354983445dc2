"""difficulty: topics by mean, spread and discrimination, and the variance components of runs and topics."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from gainboard.analyses.common import MOST_PAIRS, common_topics, refuse, require_at_most
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.params import MetricsParams, Names
from gainboard.analyses.result_models import Number, ResultModel, Shown, TopicsResult, table
from gainboard.evaluation.scoring.matrices import Matrices
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.texts import said
from gainboard.statistics.correlation import taus_with
from gainboard.statistics.means import competition_ranks, standardise_scores
from gainboard.statistics.topic_sets import VarianceComponents, discriminations, variance_components
from gainboard.vocabulary import Standardisation

SECONDS_A_SCORE = 5e-8
LEAST_REFERENCE = 2


class DifficultyParams(MetricsParams):
    """Topics from the hardest to the easiest, and the sources of variance. `mean` and `standard_deviation` of a topic
    are over the runs. `discrimination` is the correlation of the runs' scores on it with their means over the other
    topics: a topic with a negative one ranks the runs against all the others. It is null if all runs score alike, or
    with fewer than three runs. `relevant` counts documents at the metric's threshold `rel` or above.

    `components` splits the variance of the scores into that of runs, of topics, and a residual (two-way random layout
    without replication). A negative estimate is 0, and named in `negative_components`. `generalisability` is E rho^2,
    which equals Cronbach's alpha: the share of the variance of the runs' means that is not due to the choice of topics,
    if runs are compared on the same topics. `dependability` is Phi, for runs on different topics (Bodoff and Li, SIGIR
    2007). The interval is Feldt's, at 95 %.

    `standardise` adds scores that are standardised by topic over the `reference` runs, so that hard and easy topics
    count alike. `normal` is Phi(z) (Webber, Moffat and Zobel, SIGIR 2008). `linear` is 0.15 z + 0.5, cut to [0, 1]
    (Sakai, ICTIR 2016). `empirical` is the share of the reference runs with at most this score (Urbano, Lima and
    Hanjalic, SIGIR 2019). Each run has its mean and rank by both kinds of scores, and its `scores` in the order of
    `by_topic`. A topic on which all reference runs score alike has no standardised scores under any form. It counts on
    neither side, and is one of `topics_left_out`.
    """

    standardise: Standardisation | None = Field(None, description="The form of standardised scores, if any")
    reference: Names | None = Field(
        None, description="Names of the reference runs, among the selected ones; by default all of these"
    )

    def settled(self, label: Labels) -> Self:
        """Return the same request with each reference run once."""
        reference = sorted(set(self.reference)) if self.reference is not None else None
        return super().settled(label).model_copy(update={"reference": reference})


class DifficultyOfTopic(ResultModel):
    """A topic under a metric."""

    topic: Annotated[str, Shown()]
    relevant: Annotated[int, Shown()] = Field(description="Relevant documents, at the metric's threshold")
    mean: Annotated[float, Shown(digits=3)] = Field(description="Over the runs")
    standard_deviation: Annotated[Number, Shown(digits=3)]
    discrimination: Annotated[Number, Shown(digits=3)] = Field(
        description="Correlation with the means over the other topics"
    )


class VarianceParts(ResultModel):
    """The variance of runs, of topics, and of neither."""

    runs: Number
    topics: Number
    residual: Number


class StandardisedRun(ResultModel):
    """A run's standardised scores."""

    run: Annotated[str, Shown()]
    mean: Annotated[Number, Shown("score", digits=4, group="mean")]
    mean_standardised: Annotated[Number, Shown("standardised", digits=4, group="mean")]
    rank: Annotated[int, Shown("score", group="rank by mean")]
    rank_standardised: Annotated[int, Shown("standardised", group="rank by mean")]
    scores: list[Number] = Field(description="One for each topic that counts")


class StandardisedScores(ResultModel):
    """Scores standardised by topic."""

    topics_left_out: list[str] = Field(description="Topics on which the reference runs do not differ")
    tau: Number = Field(description="Tau-b of the runs by both means")
    runs: list[StandardisedRun]


class DifficultyOfMetric(ResultModel):
    """The topics under a metric, and its variance components."""

    metric: Annotated[str, Shown()]
    by_topic: list[DifficultyOfTopic]
    components: VarianceParts
    shares: Annotated[
        VarianceParts,
        Shown(
            ("runs", "topics", "residual"),
            percent=True,
            digits=1,
            group="share of variance",
            by=attrgetter("runs", "topics", "residual"),
        ),
    ] = Field(description="Of the total variance")
    negative_components: list[str] = Field(description="Estimates below 0, which count as 0")
    generalisability: Annotated[Number, Shown("E rho^2", digits=3)]
    generalisability_interval: Annotated[
        tuple[Number, Number], Shown(("low", "high"), digits=3, group="95 % interval")
    ] = Field(description="95 %")
    dependability: Annotated[Number, Shown("Phi", digits=3)]
    standardised: StandardisedScores | None = Field(description="Null without `standardise`")


class DifficultyResult(TopicsResult):
    """The topics from the hardest on, and the sources of variance."""

    kind: Literal["difficulty"]
    standardise: Standardisation | None
    reference: list[str] | None = Field(description="The reference runs; null without `standardise`")
    metrics: list[DifficultyOfMetric]

    def verdict(self) -> str:
        of, hardest = self.metrics[0], min(self.metrics[0].by_topic, key=lambda topic: topic.mean)
        runs, topics = (said(share, 1, percent=True) for share in (of.shares.runs, of.shares.topics))
        due = f"Under {of.metric}, {topics} of the variance of scores is due to topics and {runs} to runs"
        return f"{due}. The hardest topic is {hardest.topic}, with a mean of {said(hardest.mean)}."

    def tables(self) -> Sequence[Table]:
        """Return the components of each metric, and the topics, the hardest first."""
        runs = f"{len(self.runs)} runs"
        negative = [
            f"The estimate for {name} under {metric.metric} is negative, and shown as 0."
            for metric in self.metrics
            for name in metric.negative_components
        ]
        about = f"Variance components of {runs} x {self.topics} topics."
        components = table(DifficultyOfMetric, "components", about, self.metrics, notes=negative)
        about = f"Topics over {runs}, the hardest first under each metric."
        topics = table(
            DifficultyOfTopic,
            "topics",
            about,
            self.metrics,
            each=lambda metric: sorted(metric.by_topic, key=lambda topic: topic.mean),
        )
        if not self.standardise:
            return (components, topics)
        left_out = [
            f"All reference runs score alike under {metric.metric} on {len(names)} of {len(metric.by_topic)} topics, "
            f"which are left out: {', '.join(names)}."
            for metric in self.metrics
            if metric.standardised and (names := metric.standardised.topics_left_out)
        ]
        standardised_runs = table(
            StandardisedRun,
            "standardised",
            f"Standardised scores ({self.standardise}) over {len(self.reference or ())} reference runs.",
            [metric for metric in self.metrics if metric.standardised],
            each=lambda metric: sorted(metric.standardised.runs, key=lambda run: run.rank_standardised),
            in_sections=True,
            notes=left_out,
        )
        return (components, topics, standardised_runs)

    def figures(self) -> Sequence[Figure]:
        """Return the means of all topics in the order of the first metric, and discrimination by mean."""
        by_first = self.metrics[0].by_topic
        order = sorted(range(len(by_first)), key=lambda row: by_first[row].mean)
        places = list(range(len(order)))
        means = [Series(metric.metric, places, [metric.by_topic[row].mean for row in order]) for metric in self.metrics]
        first = self.metrics[0].metric
        names = [by_first[row].topic for row in order]
        by_mean = [
            Series(
                metric.metric,
                [topic.mean for topic in metric.by_topic],
                [topic.discrimination for topic in metric.by_topic],
                style="points",
            )
            for metric in self.metrics
        ]
        runs = f"{len(self.runs)} runs"
        return (
            Figure(
                "topics",
                f"Mean score of each topic over {runs}, the hardest by {first} first.",
                (Panel(Axis(f"topics, sorted by {first}", categories=names), Axis("mean over runs"), means),),
            ),
            Figure(
                "discrimination",
                f"Discrimination of each topic by its mean over {runs}.",
                (Panel(Axis("mean over runs"), Axis("discrimination", limits=(None, 1)), by_mean),),
            ),
        )


@enter
class Difficulty(Analysis[DifficultyParams, DifficultyResult]):
    """Each metric's topics one by one, and how much of the variance is the runs', the topics', and neither's."""

    name = "difficulty"
    title = "Difficulty of topics"
    question = "collection"
    summary = "Which topics are hard, and how much of the scores is due to the runs, to the topics, and to neither."
    changes = 1  # empirical scores leave out topics on which all reference runs score alike

    compares_pairs = True
    """Components are not of pairs, but a run that is there twice counts twice, and makes runs look more alike."""

    def __init__(self, matrices: Matrices, params: DifficultyParams) -> None:
        super().__init__(matrices, params)
        self.metrics, reference = params.metrics, params.reference
        self.topics = common_topics(matrices, self.metrics)
        require_at_most(MOST_PAIRS, self.topics.count * len(self.metrics), "topics over all metrics", "metrics")
        if reference is not None and params.standardise is None:
            message = "Only standardised scores have reference runs. Name a form, or leave `reference` out."
            raise refuse("standardise", "required", message)
        if reference is not None and len(set(reference)) < LEAST_REFERENCE:
            message = f"A spread needs at least {LEAST_REFERENCE} reference runs. Name more, or leave `reference` out."
            raise refuse("reference", "too-few-runs", message)
        if params.standardise is not None:
            selected = {run.name for run in matrices.runs} if reference else set()
            if missing := [name for name in reference or () if name not in selected]:
                message = f"{missing[0]!r} is not among the selected runs. Select it with `runs`, or leave it out."
                raise refuse("reference", "unknown-run", message)
            scores = matrices.run_count * self.topics.count * len(self.metrics)
            require_at_most(MOST_PAIRS, scores, "standardised scores", "standardise")

    @cached_property
    def reference(self) -> list[str]:
        """The names of the reference runs, in the order of the answer."""
        selected = [run.name for run in self.matrices.runs]
        named = self.params.reference
        return selected if named is None else [name for name in selected if name in named]

    def parts(self) -> list[float]:
        return [self.matrices.run_count * self.topics.count * SECONDS_A_SCORE] * len(self.metrics)

    def work(self, part: int) -> Arrays:
        scores = self.topics.scores(self.metrics[part])
        findings: dict[str, NDArray[Any]] = {}
        if self.params.standardise is not None:
            names = set(self.reference)
            reference = np.array([row for row, run in enumerate(self.matrices.runs) if run.name in names], np.intp)
            standard = standardise_scores(scores, reference, self.params.standardise)
            # A topic has standard scores of all runs or of none, so the first run tells for all. Both means are over
            # the same topics: otherwise their ranks would differ for another reason.
            is_defined = ~np.isnan(standard[0])
            means = np.full((2, len(scores)), np.nan)
            if is_defined.any():
                means = np.array([table[:, is_defined].mean(axis=1) for table in (scores, standard)])
            findings |= {"standardised": standard, "means": means}
        variance = variance_components(scores)
        numbers = (variance.runs, variance.topics, variance.residual)
        shares = (variance.generalisability, variance.low, variance.high, variance.dependability)
        return findings | {
            "mean": scores.mean(axis=0),
            "spread": scores.std(axis=0, ddof=1),
            "discrimination": discriminations(scores),
            "components": np.array([*numbers, *shares]),
            "negative": np.array(variance.is_negative),
        }

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        return {
            **self.topics.described(),
            "standardise": self.params.standardise,
            "reference": self.reference if self.params.standardise is not None else None,
            "metrics": [
                self._metric(label, of_metric) for label, of_metric in zip(self.metrics, findings, strict=True)
            ],
        }

    def _metric(self, label: str, findings: Arrays) -> DifficultyOfMetric:
        runs, topics, residual, *shares = findings["components"].tolist()
        components = VarianceComponents(runs, topics, residual, tuple(findings["negative"].tolist()), *shares)
        rel = self.matrices.metric(label).parameters["rel"]
        # Relevant as the metric counts: from its own threshold on.
        relevant = self.matrices.judgments.level_counts[self.topics.defined, rel:].sum(axis=1)
        columns = [relevant.tolist(), *(findings[name].tolist() for name in ("mean", "spread", "discrimination"))]
        return DifficultyOfMetric(
            metric=label,
            by_topic=[
                DifficultyOfTopic(
                    topic=self.matrices.topics[topic],
                    relevant=count,
                    mean=mean,
                    standard_deviation=spread,
                    discrimination=discrimination,
                )
                for topic, count, mean, spread, discrimination in zip(
                    np.flatnonzero(self.topics.defined), *columns, strict=True
                )
            ],
            components=VarianceParts(runs=runs, topics=topics, residual=residual),
            shares=VarianceParts(**components.shares()),
            # An estimate of a variance may be negative by chance. It counts as 0, so the answer names it.
            negative_components=[
                name
                for name, is_negative in zip(("runs", "topics"), components.is_negative, strict=True)
                if is_negative
            ],
            generalisability=components.generalisability,
            generalisability_interval=(components.low, components.high),
            dependability=components.dependability,
            standardised=self._show_standardised(findings) if self.params.standardise is not None else None,
        )

    def _show_standardised(self, findings: Arrays) -> StandardisedScores:
        table, (means, standard_means) = findings["standardised"], findings["means"]
        topics = [self.matrices.topics[column] for column in np.flatnonzero(self.topics.defined)]
        ranks = zip(competition_ranks(means).tolist(), competition_ranks(standard_means).tolist(), strict=True)
        return StandardisedScores(
            topics_left_out=[topics[column] for column in np.flatnonzero(np.isnan(table[0]))],
            tau=float(taus_with(means, standard_means[np.newaxis])[0]),
            runs=[
                StandardisedRun(
                    run=run.name, mean=mean, mean_standardised=standard, rank=rank, rank_standardised=new, scores=row
                )
                for run, mean, standard, (rank, new), row in zip(
                    self.matrices.runs, means.tolist(), standard_means.tolist(), ranks, table.tolist(), strict=True
                )
            ],
        )
