"""Rank correlation between the rankings that metrics make of the same runs.

Rankings come as mean scores, float64 [metrics, runs] without NaN, which are rounded before any comparison (`ties`);
results are matrices [metrics, metrics], NaN where a coefficient is undefined because a metric ties all runs.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal

import numpy as np

from gainboard.statistics.draws import Floats
from gainboard.statistics.pairs import pair_count, pair_indices
from gainboard.statistics.pieces import pair_pieces
from gainboard.statistics.ties import rounded

_MOST_EXACT_TAU, _MOST_EXACT_ASLS = 200, 33
"""Runs up to which the exact distribution is computed, for the least tau and for levels: 13 ms and 0.3 ms for these."""


def kendall_matrix(means: Floats, variant: Literal["a", "b"] = "b") -> Floats:
    """Kendall's tau: pairs of runs in the same order less those in opposite order, over all pairs (tau-a).

    Tau-b divides by the geometric mean of the pairs that the one metric does not tie and those that the other does
    not (Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945). Tau-a of a metric with itself is
    below 1 if it has ties, and NaN only where there are fewer than two runs.
    """
    agreement = _agreement(rounded(means))
    if variant == "b":
        return _normalised(agreement)
    return agreement / (pair_count(means.shape[1]) or np.nan)


def spearman_matrix(means: Floats) -> Floats:
    """Spearman's rho: the product-moment correlation of ranks, the mean rank for each of a group of ties."""
    # SciPy takes longer to load than the rest of the server together.
    from scipy.stats import rankdata  # noqa: PLC0415

    # Twice the distance from the middle is a whole number, so that the products are exact.
    ranks = 2 * rankdata(rounded(means), axis=1) - (means.shape[1] + 1)
    return _normalised(ranks @ ranks.T)


def kendall_asls(means: Floats) -> Floats:
    """Two-sided significance levels of tau-b against independence, NaN for a metric that ties all runs.

    Exact where neither metric has ties and there are at most 33 runs, or at most one pair that differs, or does not;
    else by the normal approximation with the variance that ties leave, as SciPy's `kendalltau` has them.
    """
    means = rounded(means)
    agreement, runs = _agreement(means), means.shape[1]
    asls = _approximate_asls(means, agreement)
    untied = np.diagonal(agreement) == pair_count(runs)
    rarer = (pair_count(runs) - np.abs(agreement)) / 2
    levels = np.minimum(2 * np.cumsum(_first_chances(runs)), 1)
    is_exact = untied & untied[:, np.newaxis] & (rarer < len(levels))
    asls[is_exact] = levels[rarer[is_exact].astype(np.intp)]
    varied = np.ptp(means, axis=1) > 0
    return np.where(varied & varied[:, np.newaxis], asls, np.nan)


def _approximate_asls(means: Floats, agreement: Floats) -> Floats:
    from scipy.special import ndtr  # noqa: PLC0415

    runs = means.shape[1]
    # How many runs share each mean: the sums over these groups that the variance takes.
    tied = [np.unique(row, return_counts=True)[1].astype(np.float64) for row in means]
    pairs = np.array([(t * (t - 1)).sum() / 2 for t in tied])
    triples = np.array([(t * (t - 1) * (t - 2)).sum() for t in tied])
    spread = np.array([(t * (t - 1) * (2 * t + 5)).sum() for t in tied])
    ordered = runs * (runs - 1)
    variance = (ordered * (2 * runs + 5) - np.add.outer(spread, spread)) / 18
    with np.errstate(divide="ignore", invalid="ignore"):
        variance += 2 * np.outer(pairs, pairs) / ordered + np.outer(triples, triples) / (9 * ordered * (runs - 2))
        return np.asarray(2 * ndtr(-np.abs(agreement) / np.sqrt(variance)))


def _first_chances(runs: int) -> Floats:
    """How probable each number of discordant pairs is: all numbers for few runs, else the first two."""
    if runs <= _MOST_EXACT_ASLS:
        return _discordant_chances(runs)
    orders = float(math.factorial(runs)) if runs < 171 else math.inf
    return np.array([1, runs - 1]) / orders


def spearman_asls(means: Floats) -> Floats:
    """Two-sided significance levels of rho against independence, by Student's t with runs - 2 degrees of freedom.

    NaN for fewer than three runs.
    """
    from scipy.special import stdtr  # noqa: PLC0415

    rho = spearman_matrix(means)
    freedom = means.shape[1] - 2
    if freedom < 1:
        return np.full_like(rho, np.nan)
    with np.errstate(divide="ignore"):
        t = np.abs(rho) * np.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return np.asarray(2 * stdtr(freedom, -t))


def least_significant_tau(runs: int, alpha: float) -> float | None:
    """The smallest tau between two rankings of so many runs without ties whose two-sided ASL is below `alpha`.

    None where even equal rankings are not significant. Exact for up to 200 runs; from there on by the normal
    approximation with continuity correction, which for an `alpha` of 0.001 or more is at most 0.001 too great.
    `alpha` is between 0 and 1. (Kendall, A new measure of rank correlation, Biometrika 30, 1938.)
    """
    pairs = pair_count(runs)
    if runs <= _MOST_EXACT_TAU:
        discordant = int(np.count_nonzero(2 * np.cumsum(_discordant_chances(runs)) < alpha)) - 1
    else:
        deviation = math.sqrt(runs * (runs - 1) * (2 * runs + 5) / 18)
        # The greatest whole number for which pairs - 2 * discordant - 1 is beyond the quantile.
        discordant = math.ceil((pairs - 1 + NormalDist().inv_cdf(alpha / 2) * deviation) / 2) - 1
    return 1 - 2 * discordant / pairs if discordant >= 0 else None


def _discordant_chances(runs: int) -> Floats:
    """How probable each number of discordant pairs is, from 0, if all orders of the runs are equally so."""
    chances = np.ones(1)
    for run in range(2, runs + 1):
        # A further run is discordant with 0, 1, ... or all of those before it, with equal chances.
        sums = np.cumsum(np.concatenate((chances, np.zeros(run - 1))))
        sums[run:] -= sums[:-run].copy()
        chances = sums / run
    return chances


def _agreement(means: Floats) -> Floats:
    """Concordant less discordant pairs; on the diagonal, the pairs that the metric does not tie."""
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(means.T)
    first, second = pair_indices(runs)
    total = np.zeros((metrics, metrics))
    for piece in pair_pieces(runs, metrics):
        signs = np.sign(by_run[first[piece]] - by_run[second[piece]])
        total += signs.T @ signs
    return total


def _normalised(products: Floats) -> Floats:
    # The root of a square is exact, so the diagonal is 1 to the last bit.
    scale = np.sqrt(np.outer(np.diagonal(products), np.diagonal(products)))
    return products / np.where(scale > 0, scale, np.nan)
