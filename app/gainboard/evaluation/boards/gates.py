"""May a change be released? Each metric of a new run is held against the old run and a margin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.errors import BadInput
from gainboard.evaluation.scoring.scores import ScoreTable
from gainboard.notation.sources import Framed
from gainboard.notation.texts import read_number
from gainboard.statistics.gates import ALPHA, combined_levels, one_sided_tests, verdict_of, verdict_of_all
from gainboard.statistics.means import round_scores, unit_of, widen
from gainboard.statistics.topic_sets import detectable_difference, t_test_design
from gainboard.vocabulary import Combination, Verdict

Floats = NDArray[np.float64]
MOST_LOSSES: Final = 5
POWER: Final = 0.8
"""The probability with which the topics that are said to tell would tell."""
_HOW: Final = {"holm": "corrected by Holm's method", "all": "all must hold", "any": "one must hold"}


class PairedScores(NamedTuple):
    """The scores of both runs under a metric, float64 [topics], better if higher. NaN is a topic without a score."""

    label: str
    topics: Sequence[str]
    old: Floats
    new: Floats
    noise: float = 0.0  # what replicates that are drawn anew add to the variance of the mean difference


@dataclass(frozen=True)
class GatedMetric:
    """The verdict under one metric. Differences are new minus old; scores that are better if lower are negated."""

    metric: str
    verdict: Verdict
    old: float
    """The old run's mean over the `topics` on which both runs have a score."""
    new: float
    difference: float
    low: float
    """The end of the one-sided 95 % interval of the mean difference, above which it is."""
    high: float
    margin: float
    level_worse: float
    """The level of the test that the new run is worse, corrected as the gate's `combination` says."""
    level_not_worse: float
    topics: int
    detectable: float | None
    """The smallest difference that these topics show: paired t-test, two-sided 0.05, power 0.8."""
    topics_needed: int | None
    """The topics that would tell, if the difference stays as it is; None with a verdict, or if over a million."""
    resamples: int | None
    """The number of resamples; None where Student's t decides alone."""
    left_out: Sequence[str]
    losses: Sequence[tuple[str, float, float, float]]
    """The topics that lost most: topic, old score, new score, difference."""

    def __str__(self) -> str:
        """Return the verdict as a sentence, without a full stop."""
        loss = f"worse by {-self.difference:.3g}"
        if self.verdict == "not worse":
            within = f" ({loss}, within the margin of {self.margin:.3g})" if self.level_worse < ALPHA else ""
            return f"{self.metric}: not worse{within}"
        if self.verdict == "worse":
            return f"{self.metric}: {loss}"
        shown = "nothing" if self.detectable is None else f"differences from {self.detectable:.3g} on"
        tell = f"{self.topics_needed:,}" if self.topics_needed else "more than a million"
        stays = f"if the mean difference stays at {self.difference:.3g}, {tell} topics would tell"
        return f"{self.metric}: cannot tell ({self.topics} topics show {shown}; {stays})"


@dataclass(frozen=True)
class Gate(Framed):
    """The verdict on a new run under several metrics."""

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
        """True if the new run is surely not worse by the margin or more."""
        return self.verdict == "not worse"

    def __repr__(self) -> str:
        return f"<Gate: {self.verdict}, {len(self.metrics)} metrics>"

    def __str__(self) -> str:
        """Return the verdict, and that of each metric in a line of its own."""
        is_open = self.verdict == "cannot tell"
        told = f"cannot tell whether {self.new} is worse" if is_open else f"{self.new} is {self.verdict}"
        return "\n".join([f"{told} than {self.old}", *map(str, self.metrics)])

    @property
    def method(self) -> str:
        """The tests and the correction, in words."""
        tests = dict.fromkeys(
            f"one-sided t-test{' and studentised bootstrap' if metric.resamples else ''}, {metric.topics} topics"
            + (f", {metric.resamples:,} resamples" if metric.resamples else "")
            for metric in self.metrics
        )
        combined = f"; {len(self.metrics)} metrics, {_HOW[self.combination]}" if len(self.metrics) > 1 else ""
        return f"{'; '.join(tests)}; alpha {ALPHA:g}{combined}"

    def columns(self) -> dict[str, list[Any]]:
        """Return a row for each metric, with its verdict and its numbers: all of `GatedMetric` but lists."""
        names = [field.name for field in fields(GatedMetric)][:-2]
        return {name: [getattr(metric, name) for metric in self.metrics] for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return the gate as `gainboard gate --format json` prints it. An infinite end of an interval is None."""
        metrics = [
            {name: None if value in (math.inf, -math.inf) else value for name, value in asdict(metric).items()}
            for metric in self.metrics
        ]
        said = {"old": self.old, "new": self.new, "alpha": ALPHA, "combination": self.combination}
        return {"verdict": self.verdict, **said, "method": self.method, "metrics": metrics, "notes": [*self.notes]}


def paired_scores(scores: ScoreTable, old: Floats, new: Floats) -> list[PairedScores]:
    """Return the scores of two runs, [metrics, topics] both, under the metrics and on the topics of `scores`.

    Raise BadInput for a geometric mean.
    """
    if geometric := [metric.label for metric in scores.metrics if metric.is_geometric]:
        raise BadInput(f"{geometric[0]} is a geometric mean, and the gate tests arithmetic ones. Leave it out.")
    signs = [-1.0 if metric.is_reversed else 1.0 for metric in scores.metrics]
    noise = scores.arrays.noise
    added = [0.0] * len(signs) if noise is None else noise.sum(axis=1).tolist()
    rows = zip(scores.labels, signs, old, new, added, strict=True)
    return [PairedScores(label, scores.topics, sign * one, sign * two, more) for label, sign, one, two, more in rows]


def gate_scores(
    names: tuple[str, str],
    pairs: Sequence[PairedScores],
    margin: float | str,
    combination: Combination = "holm",
    notes: Sequence[str] = (),
) -> Gate:
    """Return the gate of the scores of the old and the new run.

    The margin is in the units of the metrics, or a share of the old run's mean: `2%`. Raise BadInput if it is not above
    0, or if fewer than two topics have a score of both.
    """
    alone = [_gate_alone(pair, str(margin), ALPHA / len(pairs)) for pair in pairs]
    levels = np.array([(metric.level_worse, metric.level_not_worse) for metric in alone])
    metrics = []
    for metric, worse, not_worse in zip(alone, *combined_levels(levels[:, 0], levels[:, 1], combination), strict=True):
        verdict = verdict_of(worse, not_worse)
        needed = metric.topics_needed if verdict == "cannot tell" else None
        corrected: dict[str, Any] = {"level_worse": float(worse), "level_not_worse": float(not_worse)}
        metrics.append(replace(metric, verdict=verdict, topics_needed=needed, **corrected))
    return Gate(*names, combination, metrics, notes)


def _gate_alone(pair: PairedScores, margin: str, alpha: float) -> GatedMetric:
    """Return the verdict under one metric, as if there were no other. The topics that would tell do so at `alpha`."""
    is_scored = ~np.isnan(pair.old) & ~np.isnan(pair.new)
    topics = [pair.topics[place] for place in np.flatnonzero(is_scored).tolist()]
    if len(topics) < 2:
        raise BadInput(f"{pair.label}: both runs have a score on {len(topics)} topics. At least 2 are needed.")
    old, new = pair.old[is_scored], pair.new[is_scored]
    unit, mean = unit_of(np.stack((old, new))), float(old.mean())
    number = margin.strip().removesuffix("%")
    try:
        value = read_number(number)
    except ValueError:
        value = math.nan
    limit = value / 100 * abs(mean) if number != margin.strip() else value
    if not 0 < limit < math.inf:
        zero = " of a mean of 0" if value > 0 else ""
        raise BadInput(f"{margin!r}{zero} is not a margin. Give a number above 0, such as 0.01, or a share of OLD: 2%")
    differences = (new - old) / unit
    rounded = round_scores(differences)
    if pair.noise:
        differences = widen(differences[np.newaxis], np.array([pair.noise / unit**2]))[0]
    tests = one_sided_tests(differences[np.newaxis], np.array([limit / unit]))
    difference, low, high, worse, not_worse = (float(values[0]) for values in tests[:5])
    variance = float(differences.var(ddof=1))
    seen, needed = detectable_difference(len(topics), variance, ALPHA), None
    if seen is not None:
        # Whichever needs fewer topics: to show that the run is worse, or that it is not. A one-sided test at `alpha`.
        effect = max(difference + limit / unit, -difference)
        needed = t_test_design(effect, variance, 2 * alpha, POWER)
    lost = [place for place in np.argsort(rounded, kind="stable")[:MOST_LOSSES].tolist() if rounded[place] < 0]
    return GatedMetric(
        metric=pair.label,
        verdict=verdict_of(worse, not_worse),
        old=mean,
        new=float(new.mean()),
        difference=difference * unit,
        low=low * unit,
        high=high * unit,
        margin=limit,
        level_worse=worse,
        level_not_worse=not_worse,
        topics=len(topics),
        detectable=None if seen is None else seen * unit,
        topics_needed=needed and needed.topics,
        resamples=tests.resamples,
        left_out=[pair.topics[place] for place in np.flatnonzero(~is_scored).tolist()],
        losses=[(topics[row], float(old[row]), float(new[row]), float(new[row] - old[row])) for row in lost],
    )
