"""The range by bootstrap over topics: Tukey's largest difference of means, with each run's own variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Draws, Floats, resample_counts
from gainboard.statistics.means import TINY, numbers_of_block, pair_differences
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.significance import (
    BLOCK_SECONDS,
    Outcome,
    SignificanceSettings,
    SignificanceTest,
    register_test,
)

AT_ONCE = 1000
"""The resamples that are drawn together. The draws of a number of resamples are the first of any larger number."""

MOST_IN_A_REQUEST = 50_000_000
"""The most resamples x topics x runs while somebody waits: some 10 milliseconds on one core."""

MOST_REMEMBERED = 8_000_000
"""The most counts of a part that are remembered: 8 MB. To draw 6,980 topics anew takes 0.1 seconds."""


def affordable_resamples(runs: int, topics: int) -> int:
    """Return how many resamples a request draws: 10,000, or fewer for large matrices, but at least 1,000."""
    most = MOST_IN_A_REQUEST // (runs * topics) // AT_ONCE * AT_ONCE
    return max(AT_ONCE, min(BootstrapRange.default_resamples, most))


def bootstrap_ranges(scores: Floats, resamples: int, seed: int = 0, noise: Floats | None = None) -> Floats:
    """Return the stretched range of the means in each resample: float64 [resamples].

    `scores` is float64 [runs, topics] with at least two topics, NaN for a score that is missing: at least two of each
    run are there. The scores of each run are shifted to a mean of 0. All runs share a resample of the topics, so each
    keeps its variance and its correlations. The range is the largest mean minus the smallest, times the square root of
    n / (n - 1), and then as `stretch_ranges` says.

    A run with missing scores has the mean of those that are in the resample (0 if none is), times the square root of
    m / (m - 1) for its m scores, and times the quotient of Student's critical values at .05 with m - 1 and with n - 1
    degrees of freedom: it is known less well than a run with all n.

    With `noise` [runs], each mean of a resample also varies by this variance, as `noise_of_replicates` has it: normally
    (a sum of 64 signs), because it is a mean over topics.
    """
    return stretch_ranges(_ranges(scores, range(-(-resamples // AT_ONCE)), resamples, seed, noise), scores)


def stretch_ranges(ranges: Floats, scores: Floats) -> Floats:
    """Return ranges as long as those of Student's t, which knows that variances are estimated: float64 [resamples].

    `ranges` [resamples] are of means of `scores` [runs, topics] that vary as they are estimated to. With few topics
    such a range is too short, as a normal interval of a mean is. The i-th largest of B ranges has the level i / (B + 1)
    and is multiplied by the quotient of Student's two-sided critical value with n - 1 degrees of freedom at that level
    and the normal one. Two runs then have the critical value of the paired t-test. The order stays as it is. No range
    is shorter than the rounding error of the scores, so that runs with equal means are never told apart.
    """
    stretched = np.empty_like(ranges)
    order = np.argsort(ranges)
    stretched[order] = ranges[order] * _stretches(len(ranges), scores.shape[1])
    np.maximum(stretched, TINY * np.nanmax(np.abs(scores), initial=0.0), out=stretched)
    return stretched


@lru_cache(maxsize=24)  # 80 kB each; 10,000 quantiles of Student's t take 2 ms
def _stretches(resamples: int, topics: int) -> Floats:
    """Return the factor of each range, the shortest first: float64 [resamples], at least 1."""
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415

    levels = np.arange(resamples, 0, -1) / (resamples + 1)
    # At a level of 1 both critical values are 0. Their quotient hardly changes from .999 on.
    quantiles = 1 - np.minimum(levels, 0.999) / 2
    factors: Floats = stdtrit(topics - 1, quantiles) / ndtri(quantiles)
    # All callers share the array.
    factors.flags.writeable = False
    return factors


def _ranges(scores: Floats, parts: Sequence[int], resamples: int, seed: int, noise: Floats | None = None) -> Floats:
    """Return the ranges of some parts, one after another, before they are stretched."""
    topics = scores.shape[1]
    is_there = ~np.isnan(scores)
    if is_whole := bool(is_there.all()):
        centred = scores - scores.mean(axis=1, keepdims=True)
    else:
        # Importing SciPy takes longer than the rest of the server together.
        from scipy.special import stdtrit  # noqa: PLC0415

        count = is_there.sum(axis=1, keepdims=True)
        centred = np.where(is_there, scores, 0.0)
        centred -= np.where(is_there, centred.sum(axis=1, keepdims=True) / count, 0.0)
        # For a run with all scores the factor is that of the ranges below.
        lengthened = np.sqrt(count / (count - 1)) * stdtrit(count - 1, 0.975) / stdtrit(topics - 1, 0.975)
        lengthened *= topics / math.sqrt(topics / (topics - 1))
        # Whole numbers, which single precision has exactly.
        weights = is_there.astype(np.float32)
    ranges_of_parts: list[Floats] = []
    for part in parts:
        drawn = resamples_of_part(seed, part, resamples, topics)
        sums = centred @ drawn.astype(np.float64)
        if not is_whole:
            sums *= lengthened / np.maximum(weights @ drawn.astype(np.float32), 1)
        for run, variance in enumerate(noise.tolist() if noise is not None else ()):
            signs = Draws(seed, f"replicates of {run}", part).signs(sums.shape[1], 64)
            sums[run] += signs.sum(axis=1) / 8 * math.sqrt(variance) * topics  # 64 signs have the deviation 8
        ranges_of_parts.append(sums.max(axis=0) - sums.min(axis=0))
    ranges = np.concatenate(ranges_of_parts)
    ranges *= math.sqrt(topics / (topics - 1)) / topics
    return ranges


def resamples_of_part(seed: int, part: int, resamples: int, topics: int) -> NDArray[Any]:
    """Return how often each topic is in each resample of a part: [topics, resamples], in the fewest bytes.

    A part has `AT_ONCE` of all `resamples`, and the last one the rest.
    """
    number = min(AT_ONCE, resamples - part * AT_ONCE)
    counts = _remembered if number * topics <= MOST_REMEMBERED else _counts
    return counts(seed, part, number, topics)


def _counts(seed: int, part: int, resamples: int, topics: int) -> NDArray[Any]:
    """Return how often each topic is in each resample: [topics, resamples], in the fewest bytes."""
    counts = resample_counts(Draws(seed, BootstrapRange.name, part).resamples(resamples, topics), topics).T
    packed: NDArray[Any] = np.ascontiguousarray(counts, dtype=np.min_scalar_type(int(counts.max())))
    # All callers share the array.
    packed.flags.writeable = False
    return packed


# Ten parts make the draws of a board. These are the boards of two numbers of topics, and some.
_remembered = lru_cache(maxsize=24)(_counts)


def critical_difference(ranges: Floats, alpha: float) -> float:
    """Return the difference of means above which two runs differ at `alpha`; infinite if there are too few `ranges`.

    `ranges` is [resamples]. A difference that is larger by more than a rounding error has a level below `alpha`, and no
    other difference has one.
    """
    # The most ranges that may reach the difference: (1 + their number) / (B + 1) must be below `alpha`.
    reached = math.ceil(alpha * (len(ranges) + 1) - 1) - 1
    index = len(ranges) - 1 - reached
    return float(np.partition(ranges, index)[index]) * (1 + NEAR) if reached >= 0 else math.inf


def range_levels(differences: Floats, ranges: Floats) -> Floats:
    """Return the level of each mean difference: float64 [any], (1 + the ranges that reach it) / (B + 1).

    A range reaches a difference, too, that is larger by no more than a relative rounding error.
    """
    below = np.searchsorted(np.sort(ranges) * (1 + NEAR), np.abs(differences), side="left")
    levels: Floats = (1 + len(ranges) - below) / (1 + len(ranges))
    return levels


@register_test
class BootstrapRange(SignificanceTest):
    """The test draws topics with replacement, the same for all runs, and compares a pair's difference of means with the
    largest such difference of runs that are shifted to be equally good.

    It takes into account that all pairs are compared, so no correction is needed. Each run keeps its own variance and
    its correlations with the others, which Tukey's test takes to be alike. With few topics, the differences are
    stretched as Student's t is beside the normal distribution. The level is (1 + count) / (1 + resamples), so it is
    never 0. At least six topics are needed.
    """

    name = "bootstrap-range"
    title = "Bootstrap range test"
    reference = "Westfall and Young, Resampling-based multiple testing, 1993, for Tukey's range of means"
    default_resamples: ClassVar[int] = 10_000
    least_topics = 6
    may_understate = True
    is_simultaneous = True

    def blocks(self, runs: int, topics: int, resamples: int | None = None) -> int:
        parts = -(-self.drawn(resamples) // AT_ONCE)
        return -(-parts // max(1, int(BLOCK_SECONDS / self._seconds_of_part(runs, topics))))

    def seconds_of_block(self, runs: int, topics: int, resamples: int | None = None) -> float:
        parts = -(-self.drawn(resamples) // AT_ONCE)
        return parts / self.blocks(runs, topics, resamples) * self._seconds_of_part(runs, topics)

    def _seconds_of_part(self, runs: int, topics: int) -> float:
        return AT_ONCE * (topics * 2e-8 + runs * 1e-9 + runs * topics * 1e-10)

    def work(self, scores: Floats, block: int, settings: SignificanceSettings) -> BlockResult:
        resamples, (runs, topics) = self.drawn(settings.resamples), scores.shape
        parts, blocks = -(-resamples // AT_ONCE), self.blocks(runs, topics, settings.resamples)
        return {"ranges": _ranges(scores, numbers_of_block(parts, block, blocks), resamples, settings.seed)}

    def outcome(self, scores: Floats, results: Sequence[BlockResult], settings: SignificanceSettings) -> Outcome:
        ranges = stretch_ranges(np.concatenate([part["ranges"] for part in results]), scores)
        return Outcome(asl=range_levels(pair_differences(scores.mean(axis=1)), ranges), resamples=len(ranges))
