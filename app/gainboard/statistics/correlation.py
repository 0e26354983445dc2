"""Rank correlation between the rankings that metrics make of the same runs, its significance, and its accuracy.

Rankings come as mean scores, float64 [metrics, runs] without NaN, which are rounded before any comparison
(`round_means`). Results are matrices [metrics, metrics], NaN where a coefficient is undefined because a metric ties all
runs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.means import midranks, round_means
from gainboard.statistics.pairs import pair_count, pair_differences, pair_indices, pair_pieces

_MOST_EXACT_TAU, _MOST_EXACT_ASLS = 200, 33
"""The most runs for which the exact distribution is computed, for the least tau and for levels: 13 ms and 0.3 ms."""
Values = Floats | NDArray[np.int64]
AGREEMENTS: Final = ("sign-minority", "sign-swap", "minority-swap")


def kendall_matrix(means: Floats, variant: Literal["a", "b"] = "b") -> Floats:
    """Return Kendall's tau: pairs of runs in the same order minus those in opposite order, over all pairs (tau-a).

    Tau-b divides by the geometric mean of the number of pairs that one metric does not tie and the number that the
    other does not tie (Kendall, The treatment of ties in ranking problems, Biometrika 33, 1945). Tau-a of a metric with
    itself is below 1 if it has ties, and NaN only for fewer than two runs.
    """
    agreement = _agreement(round_means(means))
    if variant == "b":
        return _normalised(agreement)
    return agreement / (pair_count(means.shape[1]) or np.nan)


def spearman_matrix(means: Floats) -> Floats:
    """Return Spearman's rho: the product-moment correlation of ranks, where tied runs all get their mean rank."""
    # Twice the distance from the middle is a whole number, so the products are exact.
    ranks = 2 * midranks(round_means(means)) - (means.shape[1] + 1)
    return _normalised(ranks @ ranks.T)


def kendall_asls(means: Floats) -> Floats:
    """Return two-sided significance levels of tau-b against independence, NaN for a metric that ties all runs.

    They are exact if neither metric has ties and there are at most 33 runs, or at most one pair differs, or all but at
    most one. Otherwise they are the normal approximation with the variance for ties, as in SciPy's `kendalltau`.
    """
    means = round_means(means)
    agreement, runs = _agreement(means), means.shape[1]
    asls = _approximate_asls(means, agreement)
    untied = np.diagonal(agreement) == pair_count(runs)
    rarer = (pair_count(runs) - np.abs(agreement)) / 2
    levels = np.minimum(2 * np.cumsum(_first_chances(runs)), 1)  # the two sides overlap in the middle
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


def _first_chances(runs: int) -> Floats:
    """Return the probability of each number of discordant pairs: all numbers for few runs, else the first two."""
    if runs <= _MOST_EXACT_ASLS:
        return _discordant_chances(runs)
    orders = float(math.factorial(runs)) if runs < 171 else math.inf  # 171! exceeds a double
    return np.array([1, runs - 1]) / orders


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


def _normalised(products: Floats) -> Floats:
    # The root of a square is exact, so the diagonal is exactly 1.
    scale = np.sqrt(np.outer(np.diagonal(products), np.diagonal(products)))
    return products / np.where(scale > 0, scale, np.nan)


class DiscordantPairs(NamedTuple):
    """Pairs of runs that two metrics order differently, which results call swops.

    `pairs` intp [swops, 2] holds runs i < j; `half_ties` counts the pairs that only one of the metrics ties.
    """

    pairs: Indices
    half_ties: int


def discordant_pairs(first: Floats, second: Floats) -> DiscordantPairs:
    """Return the pairs of runs whose means, float64 [runs] by each of two metrics, differ in opposite directions."""
    signs = np.sign(pair_differences(round_means(np.stack((first, second), axis=1))))
    product = signs[:, 0] * signs[:, 1]
    opposite = np.stack(pair_indices(len(first)), axis=1)[product < 0]
    return DiscordantPairs(opposite, int(((product == 0) & signs.any(axis=1)).sum()))


def list_agreement(first: Values, second: Values) -> float:
    """Return Kendall's tau-b between two lists of values of the same pairs of runs; NaN if one list is constant.

    Values are equal if they agree to 12 digits, so that rounding errors do not decide about ties.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.stats import kendalltau  # noqa: PLC0415

    return float(kendalltau(_digits(first), _digits(second)).statistic)


def agreements(asl: Floats, minority: Values, swaps: Values) -> Mapping[str, float]:
    """Return `list_agreement` for each two of three lists: ASLs of the sign test, min(GT, LT), and swaps over all bins.

    They show whether the sign test, the minority rate and the swap rate agree on which pairs differ most clearly.
    """
    return dict(
        zip(
            AGREEMENTS,
            (list_agreement(asl, minority), list_agreement(asl, swaps), list_agreement(minority, swaps)),
            strict=True,
        )
    )


def _digits(values: Values) -> Floats:
    # Significant digits, not decimals: levels may be far below 1e-12.
    mantissa, exponent = np.frexp(np.asarray(values, dtype=np.float64))
    return np.asarray(np.ldexp(np.round(mantissa, 12), exponent))


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


CLASSES = ("AA", "MA", "PA", "AD", "MD", "PD", "tie")
"""The classes of a pair of runs under two metrics.

A pair is active (A) if its difference is significant under both metrics, mixed (M) if under one, passive (P) if under
none. The second letter says whether the metrics agree (A) or disagree (D) on the better run. A tie is equal under a
metric.
"""
Counts = NDArray[np.int64]


def concordance_counts(means: Floats, significant: NDArray[np.bool_]) -> Counts:
    """Return the number of pairs of runs in each class, for each two metrics: int64 [metrics, metrics, classes].

    `means` is float64 [metrics, runs] without NaN, and rounded before they are compared; `significant` is bool
    [metrics, pairs]. The classes are those of Moffat, Scholer and Thomas (Models and metrics: IR evaluation as a user
    process, ADCS 2012).
    """
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(round_means(means).T)
    first, second = pair_indices(runs)
    total = np.zeros((metrics, metrics, len(CLASSES)))
    for piece in pair_pieces(runs, metrics):
        signs = np.sign(by_run[first[piece]] - by_run[second[piece]])
        total += _classes(signs, significant[:, piece].T)
    return total.astype(np.int64)


def _classes(signs: Floats, significant: NDArray[np.bool_]) -> Floats:
    """Return the counts over some pairs, from their signs and verdicts: [pairs, metrics] each."""
    active, passive = (np.where(chosen, signs, 0.0) for chosen in (significant, ~significant))
    agreeing, opposite = np.stack(
        (
            _compared(active, active),
            _compared(active, passive) + _compared(passive, active),
            _compared(passive, passive),
        ),
        axis=1,
    )
    ties = len(signs) - np.abs(signs).T @ np.abs(signs)
    return np.stack((*agreeing, *opposite, ties), axis=-1)


def _compared(first: Floats, second: Floats) -> Floats:
    """Return how often the signs of each two metrics are equal, and how often opposite, where neither is 0."""
    difference, either = first.T @ second, np.abs(first).T @ np.abs(second)
    return np.stack((either + difference, either - difference)) / 2


def consistency(counts: Counts) -> Floats:
    """Return the share of active agreements among the pairs that a metric at least finds significant: float64 [...].

    `counts` is int64 [..., classes]: AA / (AA + AD + MA + MD), NaN if no pair is significant.
    """
    by_class = dict(zip(CLASSES, np.moveaxis(counts, -1, 0), strict=True))
    total = by_class["AA"] + by_class["AD"] + by_class["MA"] + by_class["MD"]
    return np.asarray(by_class["AA"] / np.where(total > 0, total, np.nan))
