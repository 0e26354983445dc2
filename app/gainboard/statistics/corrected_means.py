"""Means under cheap judgments of all topics, corrected by trusted judgments of a random sample of them.

This is prediction-powered inference for means, with power tuning (Angelopoulos, Bates, Fannjiang, Jordan and Zrnic,
Science 382, 2023; Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453, 2023). The cheap scores of all topics say how
hard these are, and the trusted scores of the sample say how far the cheap ones are off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np

from gainboard.statistics.bootstrap_range import AT_ONCE, BootstrapRange, stretch_ranges
from gainboard.statistics.draws import Draws, Floats, Indices, resample_counts

Tuning = Literal["power", "none"]
LEAST_TRUSTED: Final = 20
"""The fewest trusted topics: with fewer, 95 % intervals hold the truth in less than 92 % of simulations, on average
over runs. Intervals of single runs hold it less often, most of all under a judge that only says pass or fail.

`python -m benchmarks.coverage` shows it, in the mean over real fields and for the most useless judge. There, the
interval is that of the trusted topics alone, whose scores are skewed.
"""
LEAST_OTHERS: Final = BootstrapRange.least_topics
"""The fewest topics without trusted judgments."""
_TRUSTED, _OTHERS = "corrected means: trusted topics", "corrected means: other topics"


class Estimates(NamedTuple):
    """Means and the variances of these means: float64 [any] both."""

    means: Floats
    variances: Floats

    def intervals(self, freedom: int | None, confidence: float = 0.95) -> tuple[Floats, Floats]:
        """Return the lower and the upper ends of the intervals: float64 [any].

        They are Student's t with `freedom` degrees of freedom, at least 1, or normal if it is None.
        """
        # Importing SciPy takes longer than the rest of the server together.
        from scipy.special import ndtri, stdtrit  # noqa: PLC0415

        level = 0.5 + confidence / 2
        half = (ndtri(level) if freedom is None else stdtrit(freedom, level)) * np.sqrt(self.variances)
        return self.means - half, self.means + half

    def levels(self, freedom: int) -> Floats:
        """Return the two-sided level of the hypothesis that each mean is 0: float64 [any], Student's t.

        A mean without variance has the level 0, or 1 if it is 0, except for rounding errors.
        """
        from scipy.special import stdtr  # noqa: PLC0415

        spread = self.variances > _TINY
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.means) / np.sqrt(self.variances)
            levels = np.where(spread, 2 * stdtr(freedom, -t), np.abs(self.means) <= _TINY)
        return np.asarray(levels, np.float64)


_TINY = 1e-24
"""A variance up to this is a rounding error of scores, and so is a mean."""


@dataclass(frozen=True)
class TwiceJudged:
    """Scores of runs, of which the topics in a random sample have been judged twice: float64 without NaN.

    `trusted` [runs, n] and `cheap` [runs, n] are the scores on the sample, under trusted and under cheap judgments.
    `others` [runs, N - n] are the cheap scores on all other topics. There are at least two topics of each.
    """

    trusted: Floats
    cheap: Floats
    others: Floats

    @property
    def freedom(self) -> int:
        """The degrees of freedom of intervals: n - 1."""
        return int(self.trusted.shape[1]) - 1

    def differences(self, first: Indices, second: Indices) -> TwiceJudged:
        """Return the differences of pairs of runs, as if a pair were a run: [pairs, topics]."""
        return TwiceJudged(*(table[first] - table[second] for table in (self.trusted, self.cheap, self.others)))

    def all_cheap(self) -> Floats:
        """Return the cheap scores of all topics, those of the sample first: float64 [runs, N]."""
        return np.hstack((self.cheap, self.others))

    def weight(self, tuning: Tuning = "power") -> float:
        """Return lambda, how much the cheap scores count: in [0, 1].

        Without tuning it is 1. Power tuning makes the sum of the variances over all runs least. One weight serves all
        runs, so that the corrected difference of two runs is the difference of their corrected means.
        """
        if tuning == "none":
            return 1.0
        sample, others = self.trusted.shape[1], self.others.shape[1]
        spread = float(self.all_cheap().var(axis=1, ddof=1).sum())
        if spread <= _TINY:
            return 0.0
        best: float = float(_covariances(self.trusted, self.cheap).sum()) / ((1 + sample / others) * spread)
        return min(1.0, max(0.0, best))

    def corrected(self, weight: float) -> Estimates:
        """Return the corrected means of the runs."""
        rest = self.trusted - weight * self.cheap
        means = weight * self.others.mean(axis=1) + rest.mean(axis=1)
        variances = weight**2 * _variances_of_means(self.others) + _variances_of_means(rest)
        return Estimates(means, variances)

    def by_trusted(self) -> Estimates:
        """Return the means of the runs under the trusted judgments alone."""
        return Estimates(self.trusted.mean(axis=1), _variances_of_means(self.trusted))

    def by_cheap(self) -> Estimates:
        """Return the means of the runs under the cheap judgments alone, over all topics."""
        scores = self.all_cheap()
        return Estimates(scores.mean(axis=1), _variances_of_means(scores))

    def worth(self, corrected: Estimates) -> Floats:
        """Return how many trusted topics alone would give such intervals: float64 [runs]; NaN if nothing varies."""
        variances = self.trusted.var(axis=1, ddof=1)
        varies = corrected.variances > _TINY
        return np.asarray(np.where(varies, variances, np.nan) / np.where(varies, corrected.variances, 1.0))

    def correlation(self) -> float:
        """Return the correlation of cheap and trusted scores on the sample, within runs; NaN if one never varies.

        Covariances and variances over topics are summed over the runs before they are divided.
        """
        spread = self.trusted.var(axis=1, ddof=1).sum() * self.cheap.var(axis=1, ddof=1).sum()
        return float(_covariances(self.trusted, self.cheap).sum() / math.sqrt(spread)) if spread > _TINY else math.nan

    def ranges(self, weight: float, resamples: int, seed: int = 0) -> Floats:
        """Return the stretched range of the corrected means in each resample: float64 [resamples].

        As `bootstrap_ranges`: the scores of each run are shifted so that its corrected mean is 0, and all runs share a
        resample. Trusted and other topics are drawn independently. The weight is held. The degrees of freedom of the
        stretch are those of the trusted topics.
        """
        parts = list(_sums(self.trusted - weight * self.cheap, resamples, seed, _TRUSTED))
        rest = _sums(weight * self.others, resamples, seed, _OTHERS)
        ranges = np.concatenate(
            [np.ptp(of_trusted + of_others, axis=0) for of_trusted, of_others in zip(parts, rest, strict=True)]
        )
        return stretch_ranges(ranges, self.trusted)


def _sums(scores: Floats, resamples: int, seed: int, purpose: str) -> Iterator[Floats]:
    """Yield the centred means of resamples, [runs, some], with the variance that a mean is estimated to have."""
    topics = scores.shape[1]
    centred = (scores - scores.mean(axis=1, keepdims=True)) * (math.sqrt(topics / (topics - 1)) / topics)
    for part in range(-(-resamples // AT_ONCE)):
        drawn = Draws(seed, purpose, part).resamples(min(AT_ONCE, resamples - part * AT_ONCE), topics)
        yield centred @ resample_counts(drawn, topics).T


def _variances_of_means(scores: Floats) -> Floats:
    """Return the variance of the mean of each row: float64 [rows]."""
    return np.asarray(scores.var(axis=1, ddof=1) / scores.shape[1])


def _covariances(first: Floats, second: Floats) -> Floats:
    """Return the covariance of each row of one table with the same row of the other: float64 [rows]."""
    centred = [table - table.mean(axis=1, keepdims=True) for table in (first, second)]
    return np.asarray((centred[0] * centred[1]).sum(axis=1) / (first.shape[1] - 1))
