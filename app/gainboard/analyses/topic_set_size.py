"""topic-set-size: how the ranking of runs and the significant pairs depend on the number of topics."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field

from gainboard.analyses import common
from gainboard.analyses.job_kinds import Analysis, Arrays, enter
from gainboard.analyses.labels import Labels
from gainboard.analyses.pair_tests import Alpha
from gainboard.analyses.params import DrawCount, MetricsParams, Seed
from gainboard.analyses.result_models import Number, ResultModel, Shown, SpreadOverSubsets, TopicsResult, fields, table
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.exhibits import Table
from gainboard.exhibits.figures import Axis, Figure, Panel, Series
from gainboard.notation.texts import counted, listed, said
from gainboard.statistics.correlation import paired_taus, taus_with
from gainboard.statistics.means import TINY, pair_count
from gainboard.statistics.topic_sets import (
    Design,
    anova_design,
    interval_design,
    one_way_variance,
    residual_variance,
    significant_share,
    spread_of,
    t_test_design,
)

PURPOSE = "topic set sizes"
FOUND = ("tau", "disjoint", "sensitivity")
SECONDS_A_SUBSET, SECONDS_A_PAIR, SECONDS_A_PRODUCT = 1e-4, 1.2e-7, 1e-10
STEP, MOST_STEPS = 5, 20
"""Sizes grow by default by 5 topics; by a multiple of 5 if that is more than 20 sizes."""
Sizes = Annotated[list[Annotated[int, Field(ge=2)]], Field(min_length=1, max_length=100)]
DESIGNS = ("t-test", "anova", "interval")
PAIRED = ("t-test", "interval")
TITLES = {"tau": "tau with all topics", "tau_of_disjoint": "tau of disjoint subsets", "sensitivity": "sensitivity"}


class TopicSetSizeParams(MetricsParams):
    """Rankings of the runs and their significant pairs over fewer topics. Random subsets of each size are drawn. `tau`
    compares the ranking on a subset with that on all topics, so that it ends at 1. `tau_of_disjoint` compares two
    subsets without a common topic. `sensitivity` is the share of all pairs of runs that differ significantly on a
    subset, by the paired t-test. Each has its mean and the 5th and 95th percentiles.

    `variance` is that of the scores within runs, with its `degrees_of_freedom`, and `residual_variance` that of the
    two-way analysis of variance. With a wanted `difference`, `designs` has the topics that a new collection needs
    (Sakai, Information Retrieval Journal 19(3), 2016). With those of `t-test`, the paired t-test finds this difference
    of two runs with the `power`. With those of `anova`, the analysis of variance of as many runs finds that they
    differ, if the best and the worst differ by so much; it names no pair. With those of `interval`, the confidence
    interval of the difference of two runs is expected to be at most this wide. `t-test` and `interval` take twice
    `variance` for that of differences. Two runs share the hard and the easy topics, so the average pair needs no more
    topics, although a pair of unlike runs may. `paired_designs` has both by twice the `residual_variance`, the mean
    over the pairs of this collection. A design of more than a million topics is null.
    """

    trials: DrawCount = Field(100, description="Number of topic subsets of each size")
    sizes: Sizes | None = Field(
        None,
        description="Numbers of topics in a subset; by default 5, 10, 15 and so on, in larger steps if there are more "
        "than 100 topics, and all topics",
        examples=[[10, 20, 40]],
    )
    alpha: Alpha = Field(0.05, description="Significance level")
    difference: Annotated[float, Field(gt=0, le=1_000_000)] | None = Field(
        None, description="The difference of means that a new collection should find", examples=[0.1]
    )
    power: Alpha = Field(0.8, description="The probability with which the difference should be found")
    seed: Seed = 0

    def settled(self, label: Labels) -> Self:
        """Return the same request with each size once, in the order of the curve."""
        sizes = sorted(set(self.sizes)) if self.sizes is not None else None
        return super().settled(label).model_copy(update={"sizes": sizes})


def _shown_spread(name: str) -> Shown:
    headings, spread = ("mean", "5th percentile", "95th percentile"), attrgetter("mean", "low", "high")
    return Shown(headings, digits=3, group=TITLES[name], by=spread)


class CurvePoint(ResultModel):
    """Random subsets of so many topics."""

    topics: Annotated[int, Shown()]
    tau: Annotated[SpreadOverSubsets, _shown_spread("tau")] = Field(description="Tau-b with the ranking on all topics")
    tau_of_disjoint: Annotated[SpreadOverSubsets | None, _shown_spread("tau_of_disjoint")] = Field(
        description="Tau-b of two disjoint subsets; null if there are none"
    )
    sensitivity: Annotated[SpreadOverSubsets, _shown_spread("sensitivity")] = Field(
        description="Share of pairs of runs that a paired t-test separates"
    )


class PairedDesigns(ResultModel):
    """Topics that a design needs; null for more than a million, or if nothing varies."""

    t_test: Annotated[int | None, Shown("t-test")] = Field(alias="t-test")
    interval: Annotated[int | None, Shown()]


class Designs(ResultModel):
    """Topics that a design needs; null for more than a million, or if nothing varies."""

    t_test: Annotated[int | None, Shown("t-test")] = Field(alias="t-test")
    interval: Annotated[int | None, Shown()]
    anova: Annotated[int | None, Shown()]


class TopicSetSizeOfMetric(ResultModel):
    """The number of topics that a metric needs."""

    metric: Annotated[str, Shown()]
    curve: list[CurvePoint]
    variance: Annotated[Number, Shown()] = Field(description="Of scores within runs, pooled")
    degrees_of_freedom: int
    residual_variance: Annotated[Number, Shown()] = Field(description="Without that of the topics")
    designs: Designs | None = Field(description="Null without `difference`")
    paired_designs: PairedDesigns | None = Field(description="For paired scores; null without `difference`")


class TopicSetSizeResult(TopicsResult):
    """The number of topics that are needed."""

    kind: Literal["topic-set-size"]
    seed: int
    trials: int
    alpha: float
    power: float
    difference: float | None
    sizes: list[int]
    metrics: list[TopicSetSizeOfMetric]

    @property
    def _title(self) -> str:
        runs = f"{self.trials} subsets of each size, {len(self.runs)} runs"
        return f"{runs}, alpha {self.alpha:g}"

    def verdict(self) -> str:
        shares = (f"{of.metric} {said(of.curve[-1].sensitivity.mean, 1, percent=True)}" for of in self.metrics)
        return f"Pairs of runs that {counted(max(self.sizes), 'topic')} tell apart: {listed(shares)}."

    def tables(self) -> Sequence[Table]:
        """Return each metric's curve, and its variances with the designs."""
        about_curves = f"Rankings and significant pairs by number of topics. {self._title}."
        about_variances = f"Variance of the scores of {self.topics} topics, within runs and residual."
        if self.difference is None:
            variances = table(TopicSetSizeOfMetric, "variances", about_variances, self.metrics)
        else:
            about_variances += f" Topics for a difference of {self.difference:g}, power {self.power:g}."
            columns = (
                TopicSetSizeOfMetric,
                fields(Designs, "t_test", "anova", "interval", group="topics needed by scores"),
                fields(PairedDesigns, group="topics needed by pairs"),
            )
            rows = [(metric, metric.designs, metric.paired_designs) for metric in self.metrics]
            variances = table(columns, "variances", about_variances, rows)
        return (table(CurvePoint, "curves", about_curves, self.metrics, each="curve"), variances)

    def figures(self) -> Sequence[Figure]:
        """Return the curves of tau, of tau between disjoint subsets, and of sensitivity."""
        axis = Axis("topics", limits=(0, None), counts=True)
        panels = []
        for name, title in TITLES.items():
            series = []
            for metric in self.metrics:
                points = [point for point in metric.curve if getattr(point, name) is not None]
                means = [getattr(point, name).mean for point in points]
                series.append(Series(metric.metric, [point.topics for point in points], means))
            panels.append(Panel(axis, Axis(title, limits=(None, 1)), series))
        caption = f"Rankings and significant pairs by number of topics: means. {self._title}."
        return (Figure("curves", caption, panels),)


@enter
class TopicSetSize(Analysis[TopicSetSizeParams, TopicSetSizeResult]):
    """Each metric's curve over subsets of the topics, its variances, and the topics for a wanted difference."""

    name = "topic-set-size"
    title = "Number of topics"
    question = "collection"
    summary = (
        "How many topics are enough: rankings and significant pairs over fewer topics, and designs "
        "for a new collection."
    )
    changes = 1  # 1: designs by the variance of pairs

    compares_pairs = True

    def __init__(self, matrices: Matrices, params: TopicSetSizeParams) -> None:
        super().__init__(matrices, params)
        self.metrics, self.trials, self.alpha, self.power = params.metrics, params.trials, params.alpha, params.power
        self.seed, self.difference = params.seed, params.difference
        self.topics = common.common_topics(matrices, self.metrics, common.LEAST_TO_HALVE)
        self.topics.require_drawable(self.trials, "trials")
        # With many topics the step grows, so that a curve has at most `MOST_STEPS` points.
        step = STEP * math.ceil(self.topics.count / (STEP * MOST_STEPS))
        default = {*range(step, self.topics.count + 1, step), self.topics.count}
        self.sizes = sorted(set(params.sizes) if params.sizes else default)
        if self.sizes[-1] > self.topics.count:
            message = f"A size is {self.sizes[-1]}, but there are {self.topics.count} topics. Leave larger sizes out."
            raise common.refuse("sizes", "out-of-range", message)

        # By the largest size, so that all sizes have the same blocks.
        blocks = common.blocks_of_trials(self.trials, self.trials * self._seconds_a_trial(self.sizes[-1]))
        self._blocks = [(metric, size, block) for metric in self.metrics for size in self.sizes for block in blocks]

    def _seconds_a_trial(self, size: int) -> float:
        runs = self.matrices.run_count
        return SECONDS_A_SUBSET + pair_count(runs) * SECONDS_A_PAIR + size * runs**2 * SECONDS_A_PRODUCT

    def parts(self) -> list[float]:
        return [(block.stop - block.start) * self._seconds_a_trial(size) for _, size, block in self._blocks]

    def work(self, part: int) -> Arrays:
        label, size, block = self._blocks[part]
        scores = self.topics.scores(label)
        # One shuffle of all topics per trial: a subset is its first topics, and a disjoint one the topics after them.
        orders = common.subsets(self.seed, PURPOSE, self.trials, self.topics.count, self.topics.count)[block]
        means = np.empty((len(orders), len(scores)))
        # The subset is a part of all topics, so its tau is 1 in the end. Two subsets without a common topic have no
        # such bias, and fit into the topics up to half of them.
        disjoint = np.empty((len(orders) if 2 * size <= self.topics.count else 0, len(scores)))
        shares = np.empty(len(orders))
        for trial, order in enumerate(orders):
            subset = np.ascontiguousarray(scores[:, order[:size]])
            means[trial], shares[trial] = subset.mean(axis=1), significant_share(subset, self.alpha)
            if len(disjoint):
                disjoint[trial] = scores[:, order[size : 2 * size]].mean(axis=1)
        tau = taus_with(scores.mean(axis=1), means)
        statistics = (tau, paired_taus(means[: len(disjoint)], disjoint), shares)
        return dict(zip(FOUND, statistics, strict=True))

    def result(self, findings: Sequence[Arrays]) -> dict[str, Any]:
        joined: dict[tuple[str, int], list[Arrays]] = {}
        for (label, size, _), arrays in zip(self._blocks, findings, strict=True):
            joined.setdefault((label, size), []).append(arrays)
        return {
            **self.topics.described(),
            "seed": self.seed,
            "trials": self.trials,
            "alpha": self.alpha,
            "power": self.power,
            "difference": self.difference,
            "sizes": self.sizes,
            "metrics": [
                self._metric(label, {size: joined[label, size] for size in self.sizes}) for label in self.metrics
            ],
        }

    def _metric(self, label: str, findings: Mapping[int, Sequence[Arrays]]) -> TopicSetSizeOfMetric:
        curve = []
        for size, blocks in findings.items():
            tau, disjoint, sensitivity = (np.concatenate([arrays[name] for arrays in blocks]) for name in FOUND)
            of_disjoint = _spread(disjoint) if len(disjoint) else None
            curve.append(
                CurvePoint(topics=size, tau=_spread(tau), tau_of_disjoint=of_disjoint, sensitivity=_spread(sensitivity))
            )
        scores = self.topics.scores(label)
        variance = one_way_variance(scores)
        residual, has_designs = residual_variance(scores), self.difference is not None
        return TopicSetSizeOfMetric(
            metric=label,
            curve=curve,
            variance=variance,
            degrees_of_freedom=len(scores) * (self.topics.count - 1),
            residual_variance=residual,
            designs=Designs.model_validate(self._designs(scores, variance)) if has_designs else None,
            paired_designs=PairedDesigns.model_validate(self._paired_designs(residual)) if has_designs else None,
        )

    def _designs(self, scores: Floats, variance: float) -> dict[str, Any]:
        """Return the topics of each design; null if more than a million are needed, or if nothing varies."""
        assert self.difference is not None
        if math.sqrt(variance) <= TINY:
            return dict.fromkeys(DESIGNS)
        anova = anova_design(self.difference, variance, len(scores), self.alpha, self.power)
        return self._paired_designs(variance) | {"anova": _topics(anova)}

    def _paired_designs(self, variance: float) -> dict[str, Any]:
        """Return the designs for two runs, whose differences vary twice as much as `variance`.

        The mean over all pairs is twice the residual variance, because two runs share the hard and the easy topics.
        """
        assert self.difference is not None
        if math.sqrt(variance) <= TINY:
            return dict.fromkeys(PAIRED)
        return {
            "t-test": _topics(t_test_design(self.difference, 2 * variance, self.alpha, self.power)),
            "interval": _topics(interval_design(self.difference, 2 * variance, self.alpha)),
        }


def _spread(values: Floats) -> SpreadOverSubsets:
    return SpreadOverSubsets(**spread_of(values)._asdict())


def _topics(design: Design | None) -> int | None:
    return design.topics if design is not None else None
