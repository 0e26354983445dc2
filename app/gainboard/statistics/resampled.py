"""The summary of resamples that every bootstrap needs: counts, the differences of the k-th largest, the largest of all.

Resamples are compared by a *ratio* that grows with |t| and stays finite: `n * mean**2 / (mean**2 + variance)`, where n
is the number of topics and the variance divides by n. It is 0 if t is 0, and n if t is infinite.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import BlockResult, Floats, Indices
from gainboard.statistics.multiple_comparisons import NEAR


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
    infinite t.
    """
    fields: dict[str, NDArray[Any]] = {"asl": achieved_levels(ratios, observed), "observed": observed}
    if alphas:
        resamples = ratios.shape[1]
        ranks = [max(1, math.ceil(resamples * share - NEAR)) for share in _shares(alphas, resamples)]
        # One rank after the other: the counts of the resamples of all ranks would take more memory than the scores.
        found = np.concatenate([mean_at(own[np.newaxis]) for own in resamples_at_ranks(ratios, ranks)])
        fields["estimated_differences"] = np.abs(found).reshape(len(alphas), 3, -1)
    if largest:
        fields |= _for_max_t(ratios, observed, topics)
    return fields


def level_error(alpha: float, resamples: int) -> float:
    """Return two standard errors of a share of `resamples` that is `alpha`: 2 sqrt(alpha (1 - alpha) / resamples)."""
    return 2 * math.sqrt(alpha * (1 - alpha) / resamples)


def _shares(alphas: Sequence[float], resamples: int) -> Iterator[float]:
    """Yield each alpha, and the ends of the levels that may be it."""
    for alpha in alphas:
        error = level_error(alpha, resamples)
        yield from (alpha, alpha - error, min(1.0, alpha + error))


def _for_max_t(ratios: Floats, observed: Floats, topics: int) -> BlockResult:
    """Return what `max_t` compares, and `any_infinite` [resamples]: whether the t of any of these pairs is infinite.

    Infinite ones are stored as lists, because few pairs have any, and a table of all pairs and resamples would be
    large. A resample in which a finite t of these pairs is large enough is left out: it counts without a list.
    """
    is_infinite = ratios >= topics * (1 - NEAR)
    largest = np.where(is_infinite, 0.0, ratios).max(axis=0)
    counts_alone = is_infinite & (largest < observed[:, np.newaxis] * (1 - NEAR))
    return {
        "largest": largest,
        "any_infinite": is_infinite.any(axis=0),
        "infinite_counts": counts_alone.sum(axis=1, dtype=np.int32),
        "infinite_resamples": np.nonzero(counts_alone)[1].astype(np.int32),
    }


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
    ordered = -np.sort(-values, axis=1)
    return np.stack([_resample_at_rank(values, resamples, ordered, rank) for rank in ranks])


def _resample_at_rank(values: Floats, resamples: Indices, ordered: Floats, rank: int) -> Indices:
    there = ordered[:, rank - 1, np.newaxis]
    slack = NEAR * (1 + there)
    above = values > there + slack
    tied = (values >= there - slack) & ~above
    before = rank - above.sum(axis=1, keepdims=True)
    first = (tied & (tied.cumsum(axis=1) == before)).argmax(axis=1)
    at_rank: Indices = resamples[np.arange(len(resamples)), first]
    return at_rank


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
