"""Rank correlation between the rankings that metrics make of the same runs, its significance, and its accuracy.

Rankings come as mean scores, float64 [metrics, runs] without NaN, which are rounded before any comparison
(`round_scores`). Results are matrices [metrics, metrics], NaN where a coefficient is undefined because a metric ties
all runs. AP correlation and rank-biased overlap give the top of the ranking more weight.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import midranks, pair_count, pair_indices, pair_pieces, round_scores, tied_pairs

_MOST_EXACT_TAU, _MOST_EXACT_ASLS = 200, 33
"""The most runs for which the exact distribution is computed, for the least tau and for levels: 13 ms and 0.3 ms."""

_BLOCK_OF_TOPS = 1 << 20
"""The numbers in one block of tops, metrics x runs x depths: 8 MiB."""


def kendall_matrix(means: Floats, variant: Literal["a", "b"] = "b") -> Floats:
    """Return Kendall's tau: pairs of runs in the same order minus those in opposite order, over all pairs (tau-a).

    Tau-b divides by the geometric mean of the number of pairs that one metric does not tie and the number that the
    other does not tie (Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945). Tau-a of a metric with
    itself is below 1 if it has ties, and NaN only for fewer than two runs.
    """
    agreement = _agreement(round_scores(means))
    if variant == "b":
        return _normalise(agreement)
    return agreement / (pair_count(means.shape[1]) or np.nan)


def spearman_matrix(means: Floats) -> Floats:
    """Return Spearman's rho: the product-moment correlation of ranks, where tied runs all get their mean rank."""
    # Twice the distance from the middle is a whole number, so the products are exact.
    ranks = 2 * midranks(round_scores(means)) - (means.shape[1] + 1)
    return _normalise(ranks @ ranks.T)


def kendall_asls(means: Floats) -> Floats:
    """Return two-sided significance levels of tau-b against independence, NaN for a metric that ties all runs.

    They are exact if neither metric has ties and there are at most 33 runs, or at most one pair differs, or all but at
    most one. Otherwise they are the normal approximation with the variance for ties, as in SciPy's `kendalltau`.
    """
    means = round_scores(means)
    agreement, runs = _agreement(means), means.shape[1]
    asls = _approximate_asls(means, agreement)
    untied = np.diagonal(agreement) == pair_count(runs)
    rarer = (pair_count(runs) - np.abs(agreement)) / 2
    if runs <= _MOST_EXACT_ASLS:
        chances = _discordant_chances(runs)
    else:  # the first two alone, because they are the only ones that are cheap
        orders = float(math.factorial(runs)) if runs < 171 else math.inf  # 171! exceeds a double
        chances = np.array([1, runs - 1]) / orders
    levels = np.minimum(2 * np.cumsum(chances), 1)  # the two sides overlap in the middle
    is_exact = untied & untied[:, np.newaxis] & (rarer < len(levels))
    asls[is_exact] = levels[rarer[is_exact].astype(np.intp)]
    varied = np.ptp(means, axis=1) > 0
    return np.where(varied & varied[:, np.newaxis], asls, np.nan)


def _approximate_asls(means: Floats, agreement: Floats) -> Floats:
    from scipy.special import ndtr  # noqa: PLC0415

    runs = means.shape[1]
    # the variance needs sums over groups of runs with the same mean
    tied = [np.unique(row, return_counts=True)[1].astype(np.float64) for row in means]
    pairs = np.array([(t * (t - 1)).sum() / 2 for t in tied])
    triples = np.array([(t * (t - 1) * (t - 2)).sum() for t in tied])
    spread = np.array([(t * (t - 1) * (2 * t + 5)).sum() for t in tied])
    ordered = runs * (runs - 1)
    variance = (ordered * (2 * runs + 5) - np.add.outer(spread, spread)) / 18
    # Undefined for two runs, whose levels are exact or NaN anyway, and for a metric that ties all runs.
    with np.errstate(divide="ignore", invalid="ignore"):
        variance += 2 * np.outer(pairs, pairs) / ordered + np.outer(triples, triples) / (9 * ordered * (runs - 2))
        return np.asarray(2 * ndtr(-np.abs(agreement) / np.sqrt(variance)))


def spearman_asls(means: Floats) -> Floats:
    """Return two-sided significance levels of rho against independence, by Student's t, runs - 2 degrees of freedom.

    NaN for fewer than three runs.
    """
    from scipy.special import stdtr  # noqa: PLC0415

    rho = spearman_matrix(means)
    freedom = means.shape[1] - 2
    if freedom < 1:
        return np.full_like(rho, np.nan)
    with np.errstate(divide="ignore"):  # a rho of 1 gives an infinite t, and so level 0
        # A product, because 1 - rho ** 2 loses digits where rho is near 1.
        t = np.abs(rho) * np.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return np.asarray(2 * stdtr(freedom, -t))


def least_significant_tau(runs: int, alpha: float) -> float | None:
    """Return the smallest tau between rankings of so many runs without ties whose two-sided ASL is below `alpha`.

    Return None if even equal rankings are not significant. The value is exact for up to 200 runs. Beyond, it is the
    normal approximation with continuity correction, which for an `alpha` of at least 0.001 is at most 0.001 too large.
    `alpha` is between 0 and 1. (Kendall, A new measure of rank correlation, Biometrika 30, 1938.)
    """
    pairs = pair_count(runs)
    if runs <= _MOST_EXACT_TAU:
        discordant = int(np.count_nonzero(2 * np.cumsum(_discordant_chances(runs)) < alpha)) - 1
    else:
        deviation = math.sqrt(runs * (runs - 1) * (2 * runs + 5) / 18)
        # the largest whole number for which pairs - 2 * discordant - 1 exceeds the quantile
        discordant = math.ceil((pairs - 1 + NormalDist().inv_cdf(alpha / 2) * deviation) / 2) - 1
    return 1 - 2 * discordant / pairs if discordant >= 0 else None


def _discordant_chances(runs: int) -> Floats:
    """Return the probability of each number of discordant pairs, from 0, if all orders are equally likely."""
    chances = np.ones(1)
    for run in range(2, runs + 1):
        # A further run is discordant with 0, 1, ... or all of the runs before it, with equal probability.
        sums = np.cumsum(np.concatenate((chances, np.zeros(run - 1))))
        sums[run:] -= sums[:-run].copy()
        chances = sums / run
    return chances


def _agreement(means: Floats) -> Floats:
    """Return concordant minus discordant pairs; on the diagonal, the pairs that the metric does not tie."""
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(means.T)
    first, second = pair_indices(runs)
    total = np.zeros((metrics, metrics))
    for piece in pair_pieces(runs, metrics):
        signs = np.sign(by_run[first[piece]] - by_run[second[piece]])
        total += signs.T @ signs
    return total


def _normalise(products: Floats) -> Floats:
    # The root of a square is exact, so the diagonal is exactly 1.
    scale = np.sqrt(np.outer(np.diagonal(products), np.diagonal(products)))
    return products / np.where(scale > 0, scale, np.nan)


class TauAccuracy(NamedTuple):
    """The accuracy of the tau of each two metrics, [metrics, metrics] each: its bootstrap standard error over topics.

    The method is that of Sakai, Evaluating evaluation metrics based on the bootstrap, SIGIR 2006.

    `standard_error` is the standard deviation (n - 1) over the resamples where tau is defined, NaN for fewer than two.
    `low` and `high` are the 2.5th and 97.5th percentiles over the same, NaN without any. `dropped` counts the other
    resamples.
    """

    standard_error: Floats
    low: Floats
    high: Floats
    dropped: NDArray[np.int64]


def resampled_taus(tables: Floats, counts: Floats) -> Floats:
    """Return tau-b of each two metrics on each resample: float64 [block, metrics, metrics], NaN if undefined.

    `tables` float64 [metrics, runs, topics] holds scores without NaN, which are averaged arithmetically. `counts`
    float64 [block, topics] says how often each topic is in a resample, which all metrics share.
    """
    shares = counts / counts.sum(axis=1, keepdims=True)
    taus = np.empty((len(counts), len(tables), len(tables)))
    for tau, share in zip(taus, shares, strict=True):
        tau[:] = kendall_matrix(tables @ share)
    return taus


def tau_accuracy(taus: Floats) -> TauAccuracy:
    """Return the accuracy of the taus, from the taus of all resamples: float64 [resamples, metrics, metrics]."""
    # NaN sorts last, so the defined taus come first in each column.
    ordered = np.sort(taus, axis=0)
    defined = np.count_nonzero(~np.isnan(ordered), axis=0)
    kept = np.arange(len(taus))[:, np.newaxis, np.newaxis] < defined
    mean = ordered.sum(axis=0, where=kept) / np.where(defined > 0, defined, np.nan)
    squares = np.square(ordered - mean).sum(axis=0, where=kept)
    error = np.sqrt(squares / np.where(defined > 1, defined - 1, np.nan))
    return TauAccuracy(
        error, _percentile(ordered, defined, 0.025), _percentile(ordered, defined, 0.975), len(taus) - defined
    )


def _percentile(ordered: Floats, defined: NDArray[np.int64], share: float) -> Floats:
    """Interpolate linearly between the two nearest of the `defined` first values, as NumPy does."""
    position = share * np.maximum(defined - 1, 0)
    low, high = (
        np.take_along_axis(ordered, at.astype(np.intp)[None], 0)[0] for at in (np.floor(position), np.ceil(position))
    )
    return np.asarray(low + position % 1 * (high - low))


def tau_ap_matrix(means: Floats, ties: Literal["b"] | None = None) -> Floats:
    """Return the AP correlation: [i, j] takes metric i as the reference and j as the estimate.

    For each run of the estimate's ranking, it takes the share of the runs above it that the reference also puts above
    it. The mean of the shares is scaled to -1 .. 1 (Yilmaz, Aslam and Robertson, SIGIR 2008). It is NaN if either
    metric has ties. `ties="b"` is Urbano and Marrero's tau_ap,b (ICTIR 2017) instead: it counts only runs strictly
    above, and is the mean of both directions, hence symmetric. It is NaN if either metric ties all runs.
    """
    means = round_scores(means)
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(means.T)
    better = [runs - np.searchsorted(np.sort(row), row, side="right") for row in means]
    above = np.ascontiguousarray(np.array(better, dtype=np.float64).reshape(means.shape).T)
    first, second = pair_indices(runs)
    # Products of signs over pairs, weighted by the column's ranking, and whether neither sign is a tie.
    agreement, untied = np.zeros((metrics, metrics)), np.zeros((metrics, metrics))
    for piece in pair_pieces(runs, metrics):
        x, y = first[piece], second[piece]
        signs = np.sign(by_run[x] - by_run[y])
        weighted = signs / np.maximum(1, np.maximum(above[x], above[y]))
        agreement += signs.T @ weighted
        untied += np.abs(signs).T @ np.abs(weighted)
    # Each run below the first group gives a total weight of 1 to the runs above it, so the diagonal counts such runs.
    below_first = np.diagonal(untied)
    tau = (agreement + untied) / np.where(below_first > 0, below_first, np.nan) - 1
    if ties == "b":
        return (tau + tau.T) / 2
    has_ties = tied_pairs(means) > 0
    tau[has_ties | has_ties[:, np.newaxis]] = np.nan
    return tau


def rbo_matrix(means: Floats, p: float = 0.9, ties: Literal["a", "b", "w"] = "b") -> Floats:
    """Return extrapolated rank-biased overlap of full rankings: symmetric, float64 [metrics, metrics] in 0 .. 1.

    `means` is float64 [metrics, runs] without NaN. The smaller `p` (0 < p < 1), the less the lower ranks count. Runs
    that are tied over ranks t to b enter the top of a ranking bit by bit: (d - t + 1) / (b - t + 1) of each is in the
    top d. The overlap is divided by the norms of both tops (`b`, as in tau-b: equal rankings give 1), or by d (`a`:
    the mean over all orders of the tied runs). With `w`, tied runs all enter at rank t, as if they shared it. Without
    ties, all three are the same.

    (Webber, Moffat and Zobel, TOIS 28(4), 2010, equation 30; Corsi and Urbano, SIGIR 2024, for ties.)
    """
    means = round_scores(means)
    metrics, runs = means.shape
    # Deeper ranks, whose weights sum to p^depth, cannot change the result.
    depth = min(runs, math.ceil(math.log(1e-18) / math.log(p)))
    first = np.array([1 + runs - np.searchsorted(np.sort(row), row, side="right") for row in means], np.float64)
    last = np.array([runs - np.searchsorted(np.sort(row), row, side="left") for row in means], np.float64)
    width = np.ones_like(first) if ties == "w" else last - first + 1
    lost = np.zeros((metrics, metrics))
    block = max(1, _BLOCK_OF_TOPS // max(1, means.size))
    for begin in range(1, depth + 1, block):
        depths = np.arange(begin, min(begin + block, depth + 1))[:, np.newaxis, np.newaxis]
        tops = np.clip((depths - first + 1) / width, 0, 1)
        common = tops @ tops.swapaxes(1, 2)
        if ties == "a":
            whole = depths
        elif ties == "b":
            norms = np.diagonal(common, axis1=1, axis2=2)
            whole = np.sqrt(norms[:, :, np.newaxis] * norms[:, np.newaxis])
        else:
            sizes = tops.sum(axis=2)
            whole = (sizes[:, :, np.newaxis] + sizes[:, np.newaxis]) / 2
        # What is lost is added up, so that equal rankings give exactly 1. The last rank stands for all below it.
        weights = p**depths * ((1 - p) / p + (depths == depth))
        lost += ((1 - common / whole) * weights).sum(axis=0)
    return 1 - lost


def taus_with(reference: Floats, means: Floats) -> Floats:
    """Return Kendall's tau-b between a ranking of runs and each of several: float64 [rankings], NaN if one is constant.

    `reference` is float64 [runs], `means` [rankings, runs], without NaN. They are rounded before they are compared.
    """
    return paired_taus(np.broadcast_to(reference, means.shape), means)


def paired_taus(first: Floats, second: Floats) -> Floats:
    """Return tau-b between the rankings with the same number: float64 [rankings] from two [rankings, runs].

    A tau is NaN if one of its rankings is constant. Means are rounded before they are compared.
    """
    rankings, runs = first.shape
    one, other = (np.ascontiguousarray(round_scores(means).T) for means in (first, second))
    x, y = pair_indices(runs)
    agreement, untied = np.zeros(rankings), np.zeros((2, rankings))
    for piece in pair_pieces(runs, rankings):
        signs, others = (np.sign(means[x[piece]] - means[y[piece]]) for means in (one, other))
        agreement += (signs * others).sum(axis=0)
        untied += [np.abs(sign).sum(axis=0) for sign in (signs, others)]
    scale = np.sqrt(untied[0] * untied[1])
    return np.asarray(agreement / np.where(scale > 0, scale, np.nan))
