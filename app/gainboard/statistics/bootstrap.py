"""Bootstrap hypothesis tests of all pairs, as matrix products with the number of each topic in each resample.

Resamples are compared by a *ratio* that grows with |t| and stays finite: `n * mean**2 / (mean**2 + variance)`, where n
is the number of topics and the variance divides by n. It is 0 if t is 0, and n if t is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Draws, Floats, Indices, resample_counts
from gainboard.statistics.means import NUMBERS_AT_ONCE, TINY, pair_count, pair_differences, pair_indices, pieces
from gainboard.statistics.multiple_comparisons import NEAR
from gainboard.statistics.significance import (
    Outcome,
    PairedTest,
    PairwiseTest,
    SignificanceSettings,
    join_fields,
    level_error,
    register_test,
)

NO_SQUARES = 1e-18
"""A resample whose squares add up to at most this is all zeros, except for rounding."""


def paired_bootstrap(
    differences: Floats, counts: Floats, alphas: Sequence[float] = (), *, largest: bool = False
) -> BlockResult:
    """Compute the paired bootstrap on `differences` [pairs, topics].

    `counts` [resamples, topics] says how often each topic is in each resample. Return `asl` and `observed` [pairs] and,
    if asked for, `estimated_differences` [alphas, 3, pairs] and what `max_t` compares.
    """
    parts = []
    at_once = _pairs_at_once(*counts.shape)
    # Each piece reuses the same memory: allocating it again would cost as much as the arithmetic.
    room = np.empty((2, at_once, len(counts)))
    for pairs in pieces(slice(0, len(differences)), at_once):
        z = differences[pairs]
        mean = z.mean(axis=1)
        # The differences are shifted to a mean of 0, because resamples must come from a population where the hypothesis
        # is true.
        w = z - mean[:, np.newaxis]
        squares = w * w

        def mean_at(resamples: Indices, w: Floats = w) -> Floats:
            means: Floats = np.einsum("apt,pt->ap", counts[resamples], w) / counts.shape[1]
            return means

        ratios = _paired_ratios(w, squares, counts, room[:, : len(w)])
        observed = _observed_ratios(mean, squares.mean(axis=1), z.shape[1])
        parts.append(outcome_fields(ratios, observed, mean_at, alphas, topics=z.shape[1], largest=largest))
    return join_fields(parts)


def _paired_ratios(w: Floats, squares: Floats, counts: Floats, room: Floats) -> Floats:
    """Return S1**2 / S2, from sums S1 of w and S2 of its squares: [pairs, resamples], using `room`."""
    sums, square_sums = np.matmul(w, counts.T, out=room[0]), np.matmul(squares, counts.T, out=room[1])
    np.multiply(sums, sums, out=sums)
    # Only topics whose own squares are this small can add up to so little. Checking every sum would cost more.
    for pair in np.flatnonzero((squares <= NO_SQUARES).any(axis=1)):
        is_zero = square_sums[pair] <= NO_SQUARES
        sums[pair, is_zero], square_sums[pair, is_zero] = 0.0, 1.0
    ratios: Floats = np.divide(sums, square_sums, out=sums)
    return ratios


def unpaired_bootstrap(
    scores: Floats,
    counts: tuple[Floats, Floats],
    alphas: Sequence[float] = (),
    *,
    pairs: slice | None = None,
    largest: bool = False,
) -> BlockResult:
    """Compute the unpaired bootstrap on `pairs` (all if None) of the runs of `scores` [runs, topics].

    `counts` are two arrays as of `paired_bootstrap`: for the pair's first run and, drawn independently, for its second.
    Return what `paired_bootstrap` returns.
    """
    topics = scores.shape[1]
    u = scores - scores.mean(axis=1, keepdims=True)
    moments = []
    for drawn in counts:  # each run's mean and variance (divided by n) in each resample: [runs, resamples]
        mean = u @ drawn.T / topics
        # Rounding may leave a little less than 0.
        moments.append((mean, np.maximum((u * u) @ drawn.T / topics - mean**2, 0.0)))
    (mean, variance), (other_mean, other_variance) = moments
    own_mean, own_variance = scores.mean(axis=1), (u * u).mean(axis=1)
    own_variance = np.where(_is_constant(own_variance, topics), 0.0, own_variance)
    one, other = pair_indices(len(scores))
    observed = _observed_ratios(own_mean[one] - own_mean[other], own_variance[one] + own_variance[other], topics)
    parts = []
    for part in pieces(pairs or slice(0, pair_count(len(scores))), _pairs_at_once(*counts[0].shape)):
        first, second = pair_indices(len(scores), part)
        difference = mean[first] - other_mean[second]
        # Rounding errors must not turn equal means into a difference.
        squares = np.where(np.abs(difference) > TINY, difference**2, 0.0)
        ratios = _ratio(squares, variance[first] + other_variance[second], topics)

        def mean_at(resamples: Indices, difference: Floats = difference) -> Floats:
            return np.take_along_axis(difference, resamples.T, axis=1).T

        parts.append(outcome_fields(ratios, observed[part], mean_at, alphas, topics=topics, largest=largest))
    return join_fields(parts)


def _observed_ratios(mean: Floats, variance: Floats, topics: int) -> Floats:
    """Return the ratio of the scores themselves: float64 [pairs]. `variance` divides by n."""
    squared_mean = np.where(np.abs(mean) <= TINY, 0.0, mean**2)
    return _ratio(squared_mean, np.where(_is_constant(variance, topics), 0.0, variance), topics)


def _is_constant(variance: Floats, topics: int) -> NDArray[np.bool_]:
    constant: NDArray[np.bool_] = variance * topics <= TINY**2 * (topics - 1)
    return constant


def _ratio(squared_mean: Floats, variance: Floats, topics: int) -> Floats:
    # the smallest normal number avoids 0 / 0, and gives a t of 0
    ratio: Floats = topics * squared_mean / np.maximum(squared_mean + variance, np.finfo(np.float64).tiny)
    return ratio


def _pairs_at_once(resamples: int, topics: int) -> int:
    # Few enough that their results stay in a core's cache, and many enough that the counts are not read too often.
    return max(8, 100_000 // resamples, topics // 32)


# Two, because the unpaired test draws for the first and for the second run, block after block.
@lru_cache(maxsize=2)
def _counts(seed: int, purpose: str, resamples: int, topics: int) -> Floats:
    counts = resample_counts(Draws(seed, purpose).resamples(resamples, topics), topics)
    # All callers share the array.
    counts.flags.writeable = False
    return counts


@register_test
class PairedBootstrap(PairwiseTest, PairedTest):
    """The test draws topics with replacement, and counts how often shifted differences have at least the same |t|.

    One set of resamples serves all pairs. The ASL is that count over the number of resamples. A pair without any
    difference has 1.
    """

    name = "paired-bootstrap"
    title = "Paired bootstrap hypothesis test"
    reference = "Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006"
    default_resamples = 1000
    gives_shares = True
    gives_largest = True
    may_understate = True

    def numbers_kept(self, runs: int, topics: int, resamples: int | None = None) -> int:
        return self.drawn(resamples) * topics

    def seconds(self, topics: int, resamples: int) -> float:
        return resamples * (topics * 1.5e-10 + 1.5e-8) + topics * 1.5e-8

    def decide_differences(self, differences: Floats, settings: SignificanceSettings) -> Outcome:
        resamples = self.drawn(settings.resamples)
        counts = _counts(settings.seed, self.name, resamples, differences.shape[1])
        fields = paired_bootstrap(differences, counts, settings.alphas, largest=settings.largest)
        return Outcome(**fields, resamples=resamples)

    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        counts = _counts(settings.seed, self.name, self.drawn(settings.resamples), scores.shape[1])
        # With few resamples, a block has so many pairs that their differences would not fit into memory together.
        parts = pieces(pairs, NUMBERS_AT_ONCE // 4 // scores.shape[1])
        return join_fields(
            [
                paired_bootstrap(pair_differences(scores, part), counts, settings.alphas, largest=settings.largest)
                for part in parts
            ]
        )


@register_test
class UnpairedBootstrap(PairwiseTest):
    """The test draws the topics of each run separately, as if the runs had been scored on different topics.

    Welch's t of the two samples, each shifted to a mean of 0, is compared with that of the scores themselves.
    """

    name = "unpaired-bootstrap"
    title = "Unpaired bootstrap hypothesis test"
    reference = "Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006"
    default_resamples = 1000
    gives_shares = True
    gives_largest = True

    def numbers_kept(self, runs: int, topics: int, resamples: int | None = None) -> int:
        # for the resamples of either run: the counts, and each run's mean and variance in them
        return 2 * self.drawn(resamples) * (topics + 2 * runs)

    def seconds(self, topics: int, resamples: int) -> float:
        return resamples * 2.5e-8

    def decide_pairs(self, scores: Floats, pairs: slice, settings: SignificanceSettings) -> BlockResult:
        first, second = (
            _counts(settings.seed, f"{self.name}: {run}", self.drawn(settings.resamples), scores.shape[1])
            for run in ("first", "second")
        )
        return unpaired_bootstrap(scores, (first, second), settings.alphas, pairs=pairs, largest=settings.largest)


def outcome_fields(
    ratios: Floats,
    observed: Floats,
    mean_at: Callable[[Indices], Floats],
    alphas: Sequence[float] = (),
    *,
    topics: int,
    largest: bool = False,
) -> BlockResult:
    """Return the fields of a test's outcome, for pairs with these `ratios` [pairs, resamples] and `observed` [pairs].

    `mean_at` returns the pairs' mean differences in the given resamples [alphas, pairs]. `topics` is the ratio of an
    infinite t. With `largest`, there is what `max_t` compares, and `any_infinite` [resamples]: whether the t of any of
    these pairs is infinite.
    """
    fields: dict[str, NDArray[Any]] = {"asl": achieved_levels(ratios, observed), "observed": observed}
    if alphas:
        resamples, shares = ratios.shape[1], list[float]()
        for alpha in alphas:
            error = level_error(alpha, resamples)
            shares += (alpha, alpha - error, min(1.0, alpha + error))  # with the ends of the levels that may be alpha
        ranks = [max(1, math.ceil(resamples * share - NEAR)) for share in shares]
        # One rank after the other: the counts of the resamples of all ranks would take more memory than the scores.
        means = np.concatenate([mean_at(drawn[np.newaxis]) for drawn in resamples_at_ranks(ratios, ranks)])
        fields["estimated_differences"] = np.abs(means).reshape(len(alphas), 3, -1)
    if largest:
        is_infinite = ratios >= topics * (1 - NEAR)
        highest = np.where(is_infinite, 0.0, ratios).max(axis=0)
        # A resample in which a finite t of these pairs is large enough counts without a list.
        counts_alone = is_infinite & (highest < observed[:, np.newaxis] * (1 - NEAR))
        # Lists, because few pairs have an infinite t, and a table of all pairs and resamples would be large.
        fields |= {
            "largest": highest,
            "any_infinite": np.logical_or.reduce(is_infinite, axis=0),
            "infinite_counts": counts_alone.sum(axis=1, dtype=np.int32),
            "infinite_resamples": np.nonzero(counts_alone)[1].astype(np.int32),
        }
    return fields


def achieved_levels(ratios: Floats, observed: Floats) -> Floats:
    """Return the share of resamples that reach the observed ratio: float64 [pairs].

    `ratios` is [pairs, resamples], `observed` [pairs]. If the observed t is 0, every resample reaches it.
    """
    reached = ratios >= observed[:, np.newaxis] * (1 - NEAR)
    levels: Floats = np.add.reduce(reached, axis=1, dtype=np.int32) / ratios.shape[1]  # twice as fast as to intp
    return levels


def resamples_at_ranks(ratios: Floats, ranks: Sequence[int]) -> Indices:
    """Return the resample at each of these ranks, counted from 1, by decreasing ratio: intp [ranks, pairs].

    Ratios that are equal except for rounding are ties, of which the resample drawn first comes first.
    """
    values, resamples = _candidates(ratios, max(ranks))
    ordered, at_ranks = -np.sort(-values, axis=1), []
    for rank in ranks:
        ratio = ordered[:, rank - 1, np.newaxis]
        slack = NEAR * (1 + ratio)
        above = values > ratio + slack
        tied = (values >= ratio - slack) & ~above
        before = rank - above.sum(axis=1, keepdims=True)
        first = (tied & (tied.cumsum(axis=1) == before)).argmax(axis=1)
        at_ranks.append(resamples[np.arange(len(resamples)), first])
    return np.stack(at_ranks)


def _candidates(ratios: Floats, rank: int) -> tuple[Floats, Indices]:
    """Return each pair's ratios down to the one at `rank`, and a few more, in the order drawn, filled up with -1."""
    # Sorting a thousand numbers per pair would cost more than drawing the bootstrap. Instead the numbers are grouped:
    # at least `rank` of them reach the rank-th largest of the groups' maxima, and hardly more do.
    groups = max(rank, min(2 * rank, ratios.shape[1]))
    maxima = ratios[:, : ratios.shape[1] // groups * groups].reshape(len(ratios), -1, groups).max(axis=1)
    bound = np.partition(maxima, groups - rank, axis=1)[:, groups - rank, np.newaxis]
    pair, resample = np.divmod(np.flatnonzero(ratios >= bound - NEAR * (1 + bound)), ratios.shape[1])
    number = np.bincount(pair, minlength=len(ratios))
    column = np.arange(len(pair)) - np.repeat(number.cumsum() - number, number)
    values, resamples = np.full((len(ratios), number.max()), -1.0), np.zeros((len(ratios), number.max()), np.intp)
    values[pair, column] = ratios[pair, resample]
    resamples[pair, column] = resample
    return values, resamples
