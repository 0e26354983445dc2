"""A judge compared with a reference judge: the findings of an analysis as arrays, and as the JSON of its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from pydantic import Field

from gainboard.analyses.analysis import Arrays
from gainboard.analyses.result_models import Number, ResultModel
from gainboard.evaluation.matrices import Floats
from gainboard.statistics.correlation import CLASSES, concordance_counts, consistency
from gainboard.statistics.judges import (
    RETRIEVAL,
    bias_by_level,
    label_agreement,
    macro_means,
    percentile_interval,
    retrieval_agreement,
    spread_of_differences,
)
from gainboard.statistics.means import tied_pairs
from gainboard.statistics.multiple_comparisons import holm
from gainboard.statistics.runs import correlations, rank_changes, top_agreement

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
    "tau": "all runs are tied under one of the sets",
    "tau_ap": "all runs are tied under one of the sets",
    "rbo": "runs are tied under one of the sets, and each order of them would give another value",
}
"""The reason why a statistic is undefined, by its name."""


class Estimate(ResultModel):
    """A value, or why there is none."""

    value: Number
    interval: tuple[Number, Number] | None = Field(description="95 % bootstrap over topics")
    reason: str | None


class RankCoefficient(ResultModel):
    """A coefficient, or why there is none."""

    value: Number
    reason: str | None


class LabelAgreement(ResultModel):
    """The labels of both sets."""

    agreement: Estimate = Field(description="Share of equal levels")
    kappa: Estimate = Field(description="At the threshold")
    kappa_linear: Estimate
    kappa_quadratic: Estimate
    relevant_reference: Estimate = Field(description="Share of relevant documents under the reference")
    relevant: Estimate


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

    topic: str
    pairs: int
    precision: Number
    recall: Number
    f1: Number
    jaccard: Number


class BiasAtLevel(ResultModel):
    """The bias at a level of the reference."""

    level: int
    name: str
    pairs: int
    bias: Estimate


class Leniency(ResultModel):
    """The set's level minus the reference's."""

    bias: Estimate
    standard_deviation: Number
    limits_of_agreement: tuple[Number, Number]
    by_level: list[BiasAtLevel]


class RankCoefficients(ResultModel):
    """The rankings of the runs under both sets, correlated."""

    tau: RankCoefficient
    tau_ap: RankCoefficient
    rbo: RankCoefficient


class TopRunsAgreement(ResultModel):
    """The first places of both rankings."""

    k: int
    tau: Number = Field(description="Over the reference's top")
    overlap: float
    tau_union: Number = Field(description="Over the runs in either top")
    union: list[str]


class RunUnderSets(ResultModel):
    """A run under both sets."""

    run: str
    mean_reference: float
    mean: float
    rank_reference: int
    rank: int
    rise: int = Field(description="Ranks that it gains under the set")
    flagged: bool


class FlaggedRise(ResultModel):
    """The flagged runs and the others."""

    runs: list[str]
    mean_rise: Number
    mean_rise_of_others: Number
    difference: Number
    reason: str | None


class PairClasses(ResultModel):
    """The pairs of runs under both sets, by class: AA, MA, PA, AD, MD, PD and tie."""

    counts: dict[str, int]
    consistency: Number
    significant_reference: int
    significant: int


class SignificanceUnderSets(ResultModel):
    """Paired t-tests of the pairs of runs under both sets."""

    uncorrected: PairClasses | None
    holm: PairClasses | None
    reason: str | None


class MeanDifferences(ResultModel):
    """The runs' means under the set minus those under the reference (Bland and Altman, 1986)."""

    mean: float
    standard_deviation: float
    limits_of_agreement: tuple[float, float]


class RankingUnderSets(ResultModel):
    """The runs under a metric and both sets; null where there is no ranking, for the reason."""

    metric: str
    topics: int
    reason: str | None
    correlations: RankCoefficients | None
    top: TopRunsAgreement | None
    largest_rise: RunUnderSets | None
    largest_drop: RunUnderSets | None
    flagged: FlaggedRise | None = Field(description="Null if no run is flagged")
    significance: SignificanceUnderSets | None
    differences: MeanDifferences | None
    runs: list[RunUnderSets]


class RankSettings(Protocol):
    """The parameters of the comparison of two rankings."""

    @property
    def k(self) -> int: ...
    @property
    def p(self) -> float: ...
    @property
    def alpha(self) -> float: ...
    @property
    def flagged(self) -> Sequence[str]: ...


def statistic(values: Floats, why: str) -> dict[str, Any]:
    """Return a value with its interval as JSON, or why it is undefined. `values` are the value and both ends."""
    value, *ends = map(float, values)
    is_defined = value == value
    return {
        "value": value,
        "interval": ends if ends and ends[0] == ends[0] else None,
        "reason": None if is_defined else why,
    }


def resampled(tables: Floats, counts: Floats) -> Floats:
    """Return the sums of tables [topics, levels, levels] over resamples: float64 [resamples, levels, levels].

    `counts` [resamples, topics] says how often each topic is in each resample.
    """
    levels = tables.shape[-1]
    return np.asarray((counts @ tables.reshape(len(tables), -1)).reshape(-1, levels, levels))


def labels_of(tables: Floats, counts: Floats, threshold: int) -> Arrays:
    """Return each statistic of the labels with its interval, float64 [3], and the bias by level, [levels, 3].

    `tables` [topics, levels, levels] are the counts of the common pairs, and `counts` the resamples of the topics.
    """
    total, drawn = tables.sum(axis=0), resampled(tables, counts)
    whole, over = label_agreement(total, threshold), label_agreement(drawn, threshold)
    found = {name: np.array([whole[name], *percentile_interval(over[name])]) for name in whole}
    levels = bias_by_level(drawn).reshape(-1, len(total))
    found["bias_by_level"] = np.array(
        [[value, *percentile_interval(levels[:, level])] for level, value in enumerate(bias_by_level(total))]
    )
    for name, by_topic in retrieval_agreement(tables, threshold).items():
        mean = macro_means(by_topic)
        found[f"macro {name}"] = np.array([mean, *percentile_interval(macro_means(by_topic, counts))])
    return found


def described_labels(found: Arrays, topics: Sequence[str], names: Sequence[str], threshold: int) -> dict[str, Any]:
    """Return the comparison of labels as JSON: all of it, by topic, and the leniency."""
    tables = found["tables"]
    total = tables.sum(axis=0)
    pairs = int(total.sum())
    return {
        "topics": len(topics),
        "common_pairs": pairs,
        "only_reference": int(found["only"][0]),
        "only_set": int(found["only"][1]),
        "confusion": total.astype(np.int64).tolist(),
        "labels": {name: statistic(found[name], WHY.get(name, NO_PAIRS) if pairs else NO_PAIRS) for name in LABELS},
        **_retrieval(found, tables, topics, threshold),
        "leniency": _leniency(found, total, names),
    }


def _retrieval(found: Arrays, tables: Floats, topics: Sequence[str], threshold: int) -> dict[str, Any]:
    by_topic = retrieval_agreement(tables, threshold)
    micro = retrieval_agreement(tables.sum(axis=0), threshold)
    counts = tables.sum(axis=(-2, -1))
    return {
        "macro": {name: statistic(found[f"macro {name}"], WHY[name]) for name in RETRIEVAL},
        "macro_topics": {name: int((~np.isnan(by_topic[name])).sum()) for name in RETRIEVAL},
        "micro": {name: float(micro[name]) for name in RETRIEVAL},
        "by_topic": [
            {"topic": topic, "pairs": int(counts[place])} | {name: float(by_topic[name][place]) for name in RETRIEVAL}
            for place, topic in enumerate(topics)
        ],
    }


def _leniency(found: Arrays, total: Floats, names: Sequence[str]) -> dict[str, Any]:
    bias, deviation = float(found["bias"][0]), spread_of_differences(total)
    counts = total.sum(axis=1).astype(int).tolist()
    return {
        "bias": statistic(found["bias"], NO_PAIRS),
        "standard_deviation": deviation,
        "limits_of_agreement": [bias - LIMITS * deviation, bias + LIMITS * deviation],
        "by_level": [
            {"level": level, "name": name, "pairs": count, "bias": statistic(values, WHY["bias_at_level"])}
            for level, (name, count, values) in enumerate(zip(names, counts, found["bias_by_level"], strict=True))
        ],
    }


def described_ranking(found: Arrays, runs: Sequence[str], settings: RankSettings) -> dict[str, Any]:
    """Return the comparison of the rankings under two sets as JSON; with the reason where there is none."""
    topics, means = int(found["topics"][0]), found["means"]
    reason = None
    if len(runs) < 2:
        reason = f"Selected runs: {len(runs)}. A ranking needs at least 2."
    elif topics == 0:
        reason = "The metric is defined under both sets for none of the topics that they share."
    head = {"topics": topics, "reason": reason}
    if reason is not None:
        nothing = ("correlations", "top", "largest_rise", "largest_drop", "flagged", "significance", "differences")
        return {**head, **dict.fromkeys(nothing), "runs": []}
    name_order = np.argsort(np.argsort(np.array(runs)))
    ranks, rises = rank_changes(means)
    top = top_agreement(means, name_order, settings.k)
    rows = [
        {
            "run": run,
            "mean_reference": float(means[0, place]),
            "mean": float(means[1, place]),
            "rank_reference": int(ranks[0, place]),
            "rank": int(ranks[1, place]),
            "rise": int(rises[place]),
            "flagged": run in settings.flagged,
        }
        for place, run in sorted(enumerate(runs), key=lambda each: (ranks[0, each[0]], each[1]))
    ]
    return {
        **head,
        "correlations": {
            name: {"value": value, "reason": None if value == value else _why_undefined(name, means)}
            for name, value in correlations(means, settings.p).items()
        },
        "top": {
            "k": top.k,
            "tau": top.tau,
            "overlap": top.overlap,
            "tau_union": top.tau_union,
            "union": [runs[place] for place in top.union],
        },
        "largest_rise": _largest(rows, 1),
        "largest_drop": _largest(rows, -1),
        "flagged": _flagged(rows) if settings.flagged else None,
        "significance": _significance(found, settings.alpha),
        "differences": _differences(means),
        "runs": rows,
    }


def _why_undefined(name: str, means: Floats) -> str:
    """Return why a coefficient of the rankings by these means [2, runs] is undefined, with the tied pairs for RBO."""
    if name != "rbo":
        return WHY[name]
    reference, own = tied_pairs(means).tolist()
    return f"{WHY[name]}. Tied pairs of runs: {reference} under the reference, {own} under the set"


def _largest(rows: Sequence[dict[str, Any]], sign: int) -> dict[str, Any] | None:
    """Return the run that rises most, or drops most if the sign is -1; None if no run does."""
    moved = max(rows, key=lambda row: sign * row["rise"])
    return moved if sign * moved["rise"] > 0 else None


def _flagged(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return by how many ranks the flagged runs rise on average under the set, and the others."""
    rises = {is_flagged: [row["rise"] for row in rows if row["flagged"] is is_flagged] for is_flagged in (True, False)}
    means = {is_flagged: float(np.mean(each)) if each else None for is_flagged, each in rises.items()}
    own, others = means[True], means[False]
    return {
        "runs": [row["run"] for row in rows if row["flagged"]],
        "mean_rise": own,
        "mean_rise_of_others": others,
        "difference": own - others if own is not None and others is not None else None,
        "reason": None if own is not None and others is not None else "all selected runs are flagged, or none is",
    }


def _significance(found: Arrays, alpha: float) -> dict[str, Any]:
    """Return the classes of the pairs of runs under the two sets, without a correction and with Holm's."""
    levels = found["asl"]
    if not levels.shape[1]:
        why = "a paired t-test needs two topics and a metric whose mean is arithmetic"
        return {"uncorrected": None, "holm": None, "reason": why}
    corrected = np.array([holm(row) for row in levels])
    return {
        "uncorrected": _classes(found["means"], levels < alpha),
        "holm": _classes(found["means"], corrected < alpha),
        "reason": None,
    }


def _classes(means: Floats, significant: Any) -> dict[str, Any]:
    counts = concordance_counts(means, significant)[0, 1]
    by_set = significant.sum(axis=1).tolist()
    return {
        "counts": dict(zip(CLASSES, counts.tolist(), strict=True)),
        "consistency": float(consistency(counts)),
        "significant_reference": by_set[0],
        "significant": by_set[1],
    }


def _differences(means: Floats) -> dict[str, Any]:
    """Return the mean difference of the runs' means, and the limits of agreement (Bland and Altman, 1986)."""
    differences = means[1] - means[0]
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return {
        "mean": mean,
        "standard_deviation": deviation,
        "limits_of_agreement": [mean - LIMITS * deviation, mean + LIMITS * deviation],
    }
