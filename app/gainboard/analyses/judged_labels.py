"""The labels of a judge beside those of a reference judge: models of the result, made from arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, Final

import numpy as np
from pydantic import Field

from gainboard.analyses.job_kinds import Arrays
from gainboard.analyses.result_models import Number, ResultModel, Shown
from gainboard.evaluation.scoring.matrices import Floats, Matrices
from gainboard.statistics.judging import (
    RETRIEVAL,
    bias_by_level,
    label_agreement,
    macro_means,
    percentile_interval,
    retrieval_agreement,
    spread_of_differences,
)
from gainboard.trec.nuggets import IMPORTANCE

VERDICTS: Final = ("not", "partly", "fully")
"""The verdicts are not, partly and fully. A stray label is none."""
ALL: Final = len(IMPORTANCE)
"""The place of all nuggets behind those of each importance."""
LABELS = ("agreement", "kappa", "kappa_linear", "kappa_quadratic", "relevant_reference", "relevant")
LIMITS = 1.96
"""The limits of agreement, in standard deviations: 95 % of normal differences."""
EXPECTED = "no disagreement is expected, because all these labels are equal"
NO_PAIRS = "no pair is judged by both sets"
WHY: Mapping[str, str] = {
    "kappa": EXPECTED,
    "kappa_linear": EXPECTED,
    "kappa_quadratic": EXPECTED,
    "precision": "the set has no relevant document on any topic",
    "recall": "the reference has no relevant document on any topic",
    "f1": "neither set has a relevant document on any topic",
    "jaccard": "neither set has a relevant document on any topic",
    "bias_at_level": "the reference gives this level to no common pair",
}
"""The reason why a statistic is undefined, by its name."""


class Estimate(ResultModel):
    """A value, or why there is none."""

    value: Number
    interval: tuple[Number, Number] | None = Field(description="95 % bootstrap over topics")
    reason: str | None


def cells_of(estimate: Estimate) -> tuple[Number, Number, Number]:
    """Return the value and the ends of its interval."""
    return (estimate.value, *(estimate.interval or (None, None)))


def shown_estimate(heading: str, group: str = "") -> Shown:
    """Return the form of a value and the ends of its interval."""
    return Shown((heading, "2.5 %", "97.5 %"), digits=3, group=group, by=cells_of)


def _shown_value(heading: str, group: str = "") -> Shown:
    return Shown(heading, digits=3, group=group, by=attrgetter("value"))


class LabelAgreement(ResultModel):
    """The labels of both sets."""

    agreement: Annotated[Estimate, _shown_value("agreement")] = Field(description="Share of equal levels")
    kappa: Annotated[Estimate, shown_estimate("value", "kappa")] = Field(description="At the threshold")
    kappa_linear: Annotated[Estimate, shown_estimate("value", "kappa (linear)")]
    kappa_quadratic: Annotated[Estimate, shown_estimate("value", "kappa (quadratic)")]
    relevant_reference: Annotated[Estimate, _shown_value("reference", "share relevant")] = Field(
        description="Share of relevant documents under the reference"
    )
    relevant: Annotated[Estimate, _shown_value("set", "share relevant")]


class RetrievalEstimates(ResultModel):
    """The set's relevant documents among the reference's, averaged over topics."""

    precision: Estimate
    recall: Estimate
    f1: Estimate
    jaccard: Estimate


class RetrievalCounts(ResultModel):
    """Topics for which each is defined."""

    precision: int
    recall: int
    f1: int
    jaccard: int


class RetrievalShares(ResultModel):
    """The set's relevant documents among the reference's, over all topics at once."""

    precision: Number
    recall: Number
    f1: Number
    jaccard: Number


class RetrievalOfTopic(ResultModel):
    """The set's relevant documents among the reference's, of one topic."""

    topic: Annotated[str, Shown()]
    pairs: Annotated[int, Shown()]
    precision: Annotated[Number, Shown(digits=3)]
    recall: Annotated[Number, Shown(digits=3)]
    f1: Annotated[Number, Shown("F1", digits=3)]
    jaccard: Annotated[Number, Shown("Jaccard", digits=3)]


class BiasAtLevel(ResultModel):
    """The bias at a level of the reference."""

    level: int
    name: Annotated[str, Shown("level in the reference")]
    pairs: Annotated[int, Shown()]
    bias: Annotated[Estimate, shown_estimate("bias")]


class Leniency(ResultModel):
    """The set's level minus the reference's."""

    bias: Estimate
    standard_deviation: Number
    limits_of_agreement: tuple[Number, Number]
    by_level: list[BiasAtLevel]


def statistic(values: Floats, why: str) -> Estimate:
    """Return a value with its interval, or why it is undefined. `values` are the value and both ends."""
    value, low, high = map(float, values)
    return Estimate(
        value=value,
        interval=None if math.isnan(low) else (low, high),
        reason=why if math.isnan(value) else None,
    )


def resampled(tables: Floats, counts: Floats) -> Floats:
    """Return the sums of tables [topics, levels, levels] over resamples: float64 [resamples, levels, levels].

    `counts` [resamples, topics] says how often each topic is in each resample.
    """
    levels = tables.shape[-1]
    return np.asarray((counts @ tables.reshape(len(tables), -1)).reshape(-1, levels, levels))


def names_judge(label: str) -> bool:
    """Return whether the label of a metric names a judge of answers: with its scores, its verdicts are stored."""
    return label.partition("(")[0] in ("nuggets:vital_strict", "support:precision")


def count_verdicts(matrices: Matrices, reference: str, judge: str) -> Floats:
    """Return the counts of what both judges of answers say, by importance and topic: [ALL + 1, topics, 3, 3].

    Judges are labels of metrics that `names_judge`, and what they say is of the same nuggets or citations of the same
    answers.
    """
    tables = np.zeros((ALL + 1, len(matrices.topics), len(VERDICTS), len(VERDICTS)))
    first, second = _read_verdicts(matrices, reference), _read_verdicts(matrices, judge)
    for item in first.keys() & second.keys():
        (verdict, kind), (other, _) = first[item], second[item]
        if max(verdict, other) < len(VERDICTS):
            tables[[kind, ALL] if kind < ALL else ALL, item[0], verdict, other] += 1
    return tables


def _read_verdicts(matrices: Matrices, label: str) -> Mapping[tuple[int, str, Any], tuple[int, int]]:
    """Return the verdict on each item of each answer, with the place of its importance: by topic, run and item."""
    said = matrices.custom.resolve(label).verdicts(matrices.workspace)
    by_item: dict[tuple[int, str, Any], tuple[int, int]] = {}
    column_of_topic = {topic: column for column, topic in enumerate(matrices.topics)}
    for run in matrices.runs:
        for topic, digits in said.of_run(run.name).items():
            items: Mapping[Any, Any] = said.in_use.get(topic) or {
                (sentence, place): ALL for sentence, of in enumerate(digits) for place, _ in enumerate(of)
            }
            if topic in column_of_topic:
                for (item, kind), digit in zip(items.items(), "".join(digits), strict=False):
                    by_item[column_of_topic[topic], run.name, item] = int(digit), min(int(kind), ALL)
    return by_item


def labels_of(tables: Floats, counts: Floats, threshold: int) -> Arrays:
    """Return each statistic of the labels with its interval, float64 [3], and the bias by level, [levels, 3].

    `tables` [topics, levels, levels] are the counts of the common pairs, and `counts` the resamples of the topics.
    """
    # Topics are drawn, not labels: labels of one topic resemble each other, so intervals over labels are too short.
    total, drawn = tables.sum(axis=0), resampled(tables, counts)
    whole, over = label_agreement(total, threshold), label_agreement(drawn, threshold)
    findings = {name: np.array([whole[name], *percentile_interval(over[name])]) for name in whole}
    levels = bias_by_level(drawn).reshape(-1, len(total))
    findings["bias_by_level"] = np.array(
        [[value, *percentile_interval(levels[:, level])] for level, value in enumerate(bias_by_level(total))]
    )
    for name, by_topic in retrieval_agreement(tables, threshold).items():
        mean = macro_means(by_topic)
        findings[f"macro {name}"] = np.array([mean, *percentile_interval(macro_means(by_topic, counts))])
    return findings


def described_labels(findings: Arrays, topics: Sequence[str], names: Sequence[str], threshold: int) -> dict[str, Any]:
    """Return the fields of a judgment set that compare its labels: all of them, by topic, and the leniency."""
    tables = findings["tables"]
    total = tables.sum(axis=0)
    pairs, counts = int(total.sum()), tables.sum(axis=(-2, -1))
    by_topic, micro = retrieval_agreement(tables, threshold), retrieval_agreement(total, threshold)
    labels = {name: statistic(findings[name], WHY.get(name, NO_PAIRS) if pairs else NO_PAIRS) for name in LABELS}
    # The limits of agreement describe the labels and are no test, because levels are few and cluster by topic.
    bias, deviation = float(findings["bias"][0]), spread_of_differences(total)
    levels = zip(names, total.sum(axis=1).astype(int).tolist(), findings["bias_by_level"], strict=True)
    return {
        "topics": len(topics),
        "common_pairs": pairs,
        "only_reference": int(findings["only"][0]),
        "only_set": int(findings["only"][1]),
        "confusion": total.astype(np.int64).tolist(),
        "labels": LabelAgreement(**labels),
        "macro": RetrievalEstimates(**{name: statistic(findings[f"macro {name}"], WHY[name]) for name in RETRIEVAL}),
        "macro_topics": RetrievalCounts(**{name: int((~np.isnan(by_topic[name])).sum()) for name in RETRIEVAL}),
        "micro": RetrievalShares(**{name: float(micro[name]) for name in RETRIEVAL}),
        "by_topic": [
            RetrievalOfTopic(
                topic=topic, pairs=int(counts[row]), **{name: float(by_topic[name][row]) for name in RETRIEVAL}
            )
            for row, topic in enumerate(topics)
        ],
        "leniency": Leniency(
            bias=statistic(findings["bias"], NO_PAIRS),
            standard_deviation=deviation,
            limits_of_agreement=(bias - LIMITS * deviation, bias + LIMITS * deviation),
            by_level=[
                BiasAtLevel(level=level, name=name, pairs=count, bias=statistic(values, WHY["bias_at_level"]))
                for level, (name, count, values) in enumerate(levels)
            ],
        ),
    }
