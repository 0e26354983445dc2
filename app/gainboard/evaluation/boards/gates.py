"""May a change be released? Each metric of a new run is held against the old run and a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput
from gainboard.evaluation.scoring.scores import ScoreTable
from gainboard.notation.frames import Framed
from gainboard.notation.texts import read_number
from gainboard.statistics.gates import (
    ALPHA,
    POWER,
    combined_levels,
    one_sided_tests,
    topics_that_tell,
    verdict_of,
    verdict_of_all,
)
from gainboard.statistics.means import round_scores, unit_of
from gainboard.statistics.topic_sets import detectable_difference
from gainboard.vocabulary import Combination, Verdict

Floats = NDArray[np.float64]
LEAST_TOPICS: Final = 2
MOST_LOSSES: Final = 5
"""The most topics that are named because they lost."""


class Margin(NamedTuple):
    """The largest loss that does not matter: in the units of a metric, or as a share of the old run's mean."""

    value: float
    is_share: bool = False

    @classmethod
    def read(cls, text: str | float) -> Margin:
        """Read `0.01` or `2%`. Raise BadInput for anything else, and for what is not above 0."""
        words = str(text).strip()
        number = words.removesuffix("%")
        try:
            value = read_number(number)
        except ValueError:
            value = 0.0
        if not 0 < value < math.inf:
            raise BadInput(
                f"{words!r} is not a margin. Give a number above 0, such as 0.01, or a share of OLD's mean: 2%"
            )
        return cls(value / 100, True) if number != words else cls(value)

    def under(self, label: str, old: float) -> float:
        """Return the margin in the units of a metric. Raise BadInput for a share of a mean that is 0."""
        if self.is_share and old == 0:
            raise BadInput(f"OLD's mean {label} is 0, so that no share of it is a margin. Give a number: 0.01")
        return self.value * abs(old) if self.is_share else self.value


class PairedScores(NamedTuple):
    """The scores of both runs under a metric, float64 [topics], better if higher. NaN is a topic without a score."""

    label: str
    topics: Sequence[str]
    old: Floats
    new: Floats


class TopicLoss(NamedTuple):
    """A topic on which the new run is worse."""

    topic: str
    old: float
    new: float
    difference: float


@dataclass(frozen=True, kw_only=True)
class GatedMetric:
    """The verdict under one metric. Differences are new minus old; scores that are better if lower are negated.

    `old` and `new` are means over the `topics` on which both runs have a score; `left_out` are the others. `low` and
    `high` are the ends of the one-sided 95 % intervals of the mean `difference`. `level_worse` and `level_not_worse`
    are corrected as the gate's `combination` says. `detectable` is the smallest difference that these topics show
    (paired t-test, two-sided 0.05, power 0.8), None if nothing varies. `topics_needed` is the number of topics that
    would tell, if the difference stays as it is; None if there is a verdict, or over a million are needed.
    """

    metric: str
    verdict: Verdict
    old: float
    new: float
    difference: float
    margin: float
    low: float
    high: float
    level_worse: float
    level_not_worse: float
    topics: int
    left_out: Sequence[str]
    resamples: int | None
    detectable: float | None
    topics_needed: int | None
    losses: Sequence[TopicLoss]

    @property
    def is_within(self) -> bool:
        """True if the new run is worse, but by less than the margin."""
        return self.verdict == "not worse" and self.level_worse < ALPHA

    def __str__(self) -> str:
        """Return the verdict as a sentence, without a full stop."""
        said = f"{self.metric}: {self.verdict}"
        if self.is_within:
            said += f" (worse by {-self.difference:.3g}, within the margin of {self.margin:.3g})"
        elif self.verdict == "worse":
            said += f" by {-self.difference:.3g}"
        elif self.verdict == "cannot tell":
            shown = f"{self.detectable:.3g}" if self.detectable is not None else "no difference"
            tell = f"{self.topics_needed:,}" if self.topics_needed else "more than a million"
            said += (
                f" ({self.topics} topics show differences from {shown} on; if the mean difference stays at "
                f"{self.difference:.3g}, {tell} topics would tell)"
            )
        return said


@dataclass(frozen=True)
class Gate(Framed):
    """The verdict on a new run: `not worse`, `worse`, or `cannot tell`."""

    old: str
    new: str
    combination: Combination
    metrics: Sequence[GatedMetric]
    notes: Sequence[str] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict under all metrics together."""
        return verdict_of_all([metric.verdict for metric in self.metrics], self.combination)

    @property
    def not_worse(self) -> bool:
        """True if the new run is not worse by the margin or more."""
        return self.verdict == "not worse"

    def __repr__(self) -> str:
        return f"<Gate: {self.verdict}, {len(self.metrics)} metrics>"

    def __str__(self) -> str:
        """Return the verdict of each metric in a line: pytest prints it where `assert gate.not_worse` fails."""
        told = (
            f"cannot tell whether {self.new} is worse"
            if self.verdict == "cannot tell"
            else f"{self.new} is {self.verdict}"
        )
        return "\n".join([f"{told} than {self.old}", *map(str, self.metrics)])

    @property
    def method(self) -> str:
        """The tests and the correction, in words."""
        tests = []
        for metric in self.metrics:
            test, draws = "one-sided t-test", ""
            if metric.resamples:
                test, draws = "one-sided t-test and studentised bootstrap", f", {metric.resamples:,} resamples"
            tests.append(f"{test}, {metric.topics} topics{draws}, alpha {ALPHA:g}")
        how = {"holm": "corrected by Holm's method", "all": "all must hold", "any": "one must hold"}[self.combination]
        combined = [f"{len(self.metrics)} metrics, {how}"] if len(self.metrics) > 1 else []
        return "; ".join([*dict.fromkeys(tests), *combined])

    def columns(self) -> dict[str, list[Any]]:
        """Return a row for each metric, with its verdict and its numbers."""
        names = ["metric", "verdict", "old", "new", "difference", "low", "high", "margin", "level_worse"]
        names += ["level_not_worse", "topics", "detectable", "topics_needed"]
        return {name: [getattr(metric, name) for metric in self.metrics] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the gate as `gainboard gate --format json` prints it; infinite ends of intervals are None."""

        def shown(metric: GatedMetric) -> dict[str, Any]:
            values = {name: getattr(metric, name) for name in self.columns()}
            ends = {name: values[name] if math.isfinite(values[name]) else None for name in ("low", "high")}
            losses = [loss._asdict() for loss in metric.losses]
            test = {"resamples": metric.resamples, "left_out": list(metric.left_out), "losses": losses}
            return values | ends | {"is_within_margin": metric.is_within} | test

        return {
            "verdict": self.verdict,
            "old": self.old,
            "new": self.new,
            "alpha": ALPHA,
            "power": POWER,
            "combination": self.combination,
            "method": self.method,
            "metrics": list(map(shown, self.metrics)),
            "notes": list(self.notes),
        }


def paired_scores(scores: ScoreTable, old: Floats, new: Floats) -> list[PairedScores]:
    """Return the scores of two runs, [metrics, topics] both, under the metrics and on the topics of `scores`.

    Raise BadInput for a geometric mean.
    """
    pairs = []
    for metric, of_old, of_new in zip(scores.metrics, old, new, strict=True):
        if metric.is_geometric:
            raise BadInput(f"{metric.label} is a geometric mean, and the gate tests arithmetic ones. Leave it out.")
        sign = -1.0 if metric.is_reversed else 1.0
        pairs.append(PairedScores(metric.label, scores.topics, sign * of_old, sign * of_new))
    return pairs


def gate_scores(
    old: str,
    new: str,
    pairs: Sequence[PairedScores],
    margin: Margin,
    combination: Combination = "holm",
    notes: Sequence[str] = (),
) -> Gate:
    """Return the gate of the scores of two runs.

    Raise BadInput if fewer than two topics have a score of both, and for a margin that is a share of 0.
    """
    alone = [_gate_alone(pair, margin, ALPHA / len(pairs)) for pair in pairs]
    worse_alone = np.array([metric.level_worse for metric in alone])
    not_worse_alone = np.array([metric.level_not_worse for metric in alone])
    corrected_levels = combined_levels(worse_alone, not_worse_alone, combination)
    metrics = []
    for metric, worse, not_worse in zip(alone, *corrected_levels, strict=True):
        verdict = verdict_of(worse, not_worse)
        needed = metric.topics_needed if verdict == "cannot tell" else None
        corrected = replace(metric, level_worse=float(worse), level_not_worse=float(not_worse))
        metrics.append(replace(corrected, verdict=verdict, topics_needed=needed))
    return Gate(old, new, combination, metrics, notes)


def _gate_alone(pair: PairedScores, margin: Margin, alpha: float) -> GatedMetric:
    """Return the verdict under one metric, as if there were no other. The topics that would tell do so at `alpha`."""
    is_scored = ~np.isnan(pair.old) & ~np.isnan(pair.new)
    topics = [pair.topics[place] for place in np.flatnonzero(is_scored).tolist()]
    if len(topics) < LEAST_TOPICS:
        needed = f"At least {LEAST_TOPICS} are needed."
        raise BadInput(f"{pair.label}: the number of topics on which both runs have a score is {len(topics)}. {needed}")
    old, new = pair.old[is_scored], pair.new[is_scored]
    unit, mean = unit_of(np.stack((old, new))), float(old.mean())
    limit, differences = margin.under(pair.label, mean), (new - old) / unit
    tests = one_sided_tests(differences[np.newaxis], np.array([limit / unit]))
    difference, low, high, worse, not_worse = (float(values[0]) for values in tests[:5])
    variance = float(differences.var(ddof=1))
    shown = detectable_difference(len(topics), variance, ALPHA, POWER)
    rounded = round_scores(differences)
    lost = [place for place in np.argsort(rounded, kind="stable")[:MOST_LOSSES].tolist() if rounded[place] < 0]
    return GatedMetric(
        metric=pair.label,
        verdict=verdict_of(worse, not_worse),
        old=mean,
        new=float(new.mean()),
        difference=difference * unit,
        margin=limit,
        low=low * unit,
        high=high * unit,
        level_worse=worse,
        level_not_worse=not_worse,
        topics=len(topics),
        left_out=[pair.topics[place] for place in np.flatnonzero(~is_scored).tolist()],
        resamples=tests.resamples,
        detectable=None if shown is None else shown * unit,
        topics_needed=None if shown is None else topics_that_tell(difference, limit / unit, variance, alpha),
        losses=[TopicLoss(topics[row], float(old[row]), float(new[row]), float(new[row] - old[row])) for row in lost],
    )
