"""The rankings of runs under a judge and under a reference judge: models of the result, made from arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Annotated, Any, Protocol

import numpy as np
from pydantic import Field

from gainboard.analyses.job_kinds import Arrays
from gainboard.analyses.judged_labels import LIMITS
from gainboard.analyses.result_models import Number, ResultModel, Shown
from gainboard.evaluation.scoring.matrices import Floats
from gainboard.statistics.agreement import (
    CLASSES,
    concordance_counts,
    consistency,
    correlations,
    rank_changes,
    top_agreement,
)
from gainboard.statistics.multiple_comparisons import benjamini_hochberg, holm

WHY: Mapping[str, str] = {
    "tau": "all runs are tied under one of the sets",
    "tau_ap": "all runs are tied under one of the sets",
}
"""The reason why a coefficient is undefined, by its name."""


class RankCoefficient(ResultModel):
    """A coefficient, or why there is none."""

    value: Number
    reason: str | None


class RankCoefficients(ResultModel):
    """The rankings of the runs under both sets, correlated."""

    tau: Annotated[RankCoefficient, Shown("tau", digits=3, by=attrgetter("value"))]
    tau_ap: Annotated[RankCoefficient, Shown("tau_ap", digits=3, by=attrgetter("value"))]
    rbo: Annotated[RankCoefficient, Shown("RBO", digits=3, by=attrgetter("value"))]


class TopRunsAgreement(ResultModel):
    """The first places of both rankings."""

    k: int
    tau: Annotated[Number, Shown(digits=3)] = Field(description="Over the reference's top")
    overlap: Annotated[float, Shown(digits=3)]
    tau_union: Annotated[Number, Shown("tau over both tops", digits=3)] = Field(
        description="Over the runs in either top"
    )
    union: list[str]


class RunUnderSets(ResultModel):
    """A run under both sets."""

    run: Annotated[str, Shown()]
    mean_reference: Annotated[float, Shown("reference", digits=4, group="mean")]
    mean: Annotated[float, Shown("set", digits=4, group="mean")]
    rank_reference: Annotated[int, Shown("reference", group="rank")]
    rank: Annotated[int, Shown("set", group="rank")]
    rise: Annotated[int, Shown()] = Field(description="Ranks that it gains under the set")
    flagged: Annotated[bool, Shown(by=lambda flagged: "yes" if flagged else "no")]


class FlaggedRise(ResultModel):
    """The flagged runs and the others."""

    runs: list[str]
    mean_rise: Annotated[Number, Shown("flagged", digits=2, group="mean rise")]
    mean_rise_of_others: Annotated[Number, Shown("others", digits=2, group="mean rise")]
    difference: Number
    reason: str | None


class PairClasses(ResultModel):
    """The pairs of runs under both sets, by class: AA, MA, PA, AD, MD, PD and tie."""

    counts: Annotated[dict[str, int], Shown(CLASSES, by=itemgetter(*CLASSES))]
    consistency: Annotated[Number, Shown(digits=3)]
    significant_reference: int
    significant: int


class SignificanceUnderSets(ResultModel):
    """Paired t-tests of the pairs of runs under both sets."""

    uncorrected: PairClasses | None
    holm: PairClasses | None
    benjamini_hochberg: PairClasses | None = Field(description="With the false discovery rate controlled")
    reason: str | None


class MeanDifferences(ResultModel):
    """The runs' means under the set minus those under the reference (Bland and Altman, 1986)."""

    mean: float
    standard_deviation: float
    limits_of_agreement: tuple[float, float]


def _shown_move(group: str) -> Shown:
    return Shown(("run", "ranks"), group=group, by=attrgetter("run", "rise"))


class RankingUnderSets(ResultModel):
    """The runs under a metric and both sets; null where there is no ranking, for the reason."""

    metric: Annotated[str, Shown()]
    topics: Annotated[int, Shown()]
    reason: str | None
    correlations: RankCoefficients | None
    top: TopRunsAgreement | None
    largest_rise: Annotated[RunUnderSets | None, _shown_move("largest rise")]
    largest_drop: Annotated[RunUnderSets | None, _shown_move("largest drop")]
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


def compare_rankings(label: str, findings: Arrays, runs: Sequence[str], settings: RankSettings) -> RankingUnderSets:
    """Return the comparison of the rankings by a metric under two sets; with the reason where there is none."""
    topics, means = int(findings["topics"][0]), findings["means"]
    reason = None
    if len(runs) < 2:
        reason = f"Selected runs: {len(runs)}. A ranking needs at least 2."
    elif topics == 0:
        reason = "The metric is defined under both sets for none of the topics that they share."
    if reason is not None:
        nothing = ("correlations", "top", "largest_rise", "largest_drop", "flagged", "significance", "differences")
        return RankingUnderSets(metric=label, topics=topics, reason=reason, runs=[], **dict.fromkeys(nothing))
    ranks, rises = rank_changes(means)
    rows = [
        RunUnderSets(
            run=run,
            mean_reference=float(means[0, row]),
            mean=float(means[1, row]),
            rank_reference=int(ranks[0, row]),
            rank=int(ranks[1, row]),
            rise=int(rises[row]),
            flagged=run in settings.flagged,
        )
        for row, run in sorted(enumerate(runs), key=lambda each: (ranks[0, each[0]], each[1]))
    ]
    return RankingUnderSets(
        metric=label,
        topics=topics,
        reason=None,
        **_compare_means(means, runs, settings),
        largest_rise=_largest(rows, 1),
        largest_drop=_largest(rows, -1),
        flagged=_flagged(rows) if settings.flagged else None,
        significance=_significance(findings, settings.alpha),
        runs=rows,
    )


def _compare_means(means: Floats, runs: Sequence[str], settings: RankSettings) -> dict[str, Any]:
    """Return how far the means [2, runs] agree: in their order, in the first runs, and in their values."""
    coefficients = {}
    for name, value in correlations(means, settings.p).items():
        reason = WHY[name] if math.isnan(value) else None
        coefficients[name] = RankCoefficient(value=value, reason=reason)
    # Equal means are in the order of the names, so that the first k runs do not depend on the order of the request.
    name_order = np.argsort(np.argsort(np.array(runs)))
    top = top_agreement(means, name_order, settings.k)
    differences = means[1] - means[0]
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    return {
        "correlations": RankCoefficients(**coefficients),
        "top": TopRunsAgreement(
            k=top.k, tau=top.tau, overlap=top.overlap, tau_union=top.tau_union, union=[runs[row] for row in top.union]
        ),
        "differences": MeanDifferences(
            mean=mean,
            standard_deviation=deviation,
            limits_of_agreement=(mean - LIMITS * deviation, mean + LIMITS * deviation),
        ),
    }


def _largest(rows: Sequence[RunUnderSets], sign: int) -> RunUnderSets | None:
    """Return the run that rises most, or drops most if the sign is -1; None if no run does."""
    moved = max(rows, key=lambda row: sign * row.rise)
    return moved if sign * moved.rise > 0 else None


def _flagged(rows: Sequence[RunUnderSets]) -> FlaggedRise:
    """Return by how many ranks the flagged runs rise on average under the set, and the others."""
    rises = {is_flagged: [row.rise for row in rows if row.flagged is is_flagged] for is_flagged in (True, False)}
    means = {is_flagged: float(np.mean(ranks)) if ranks else None for is_flagged, ranks in rises.items()}
    of_flagged, of_others = means[True], means[False]
    return FlaggedRise(
        runs=[row.run for row in rows if row.flagged],
        mean_rise=of_flagged,
        mean_rise_of_others=of_others,
        difference=of_flagged - of_others if of_flagged is not None and of_others is not None else None,
        reason=None
        if of_flagged is not None and of_others is not None
        else "all selected runs are flagged, or none is",
    )


def _significance(findings: Arrays, alpha: float) -> SignificanceUnderSets:
    """Return the classes of the pairs of runs under the two sets, without a correction and with each."""
    levels = findings["asl"]
    if not levels.shape[1]:
        why = "a paired t-test needs two topics and a metric whose mean is arithmetic"
        return SignificanceUnderSets(uncorrected=None, holm=None, benjamini_hochberg=None, reason=why)
    corrected = {
        correct.__name__: _classes(findings["means"], np.array([correct(row) for row in levels]) < alpha)
        for correct in (holm, benjamini_hochberg)
    }
    return SignificanceUnderSets(uncorrected=_classes(findings["means"], levels < alpha), reason=None, **corrected)


def _classes(means: Floats, significant: Any) -> PairClasses:
    counts = concordance_counts(means, significant)[0, 1]
    by_set = significant.sum(axis=1).tolist()
    return PairClasses(
        counts=dict(zip(CLASSES, counts.tolist(), strict=True)),
        consistency=float(consistency(counts)),
        significant_reference=by_set[0],
        significant=by_set[1],
    )
