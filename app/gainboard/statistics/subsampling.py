"""Subsets of topics: how the ranking of runs and the number of significant pairs grow with the number of topics."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import TINY, round_means
from gainboard.statistics.pairs import pair_count, pair_indices, pair_pieces, pieces

CANCELLED = 1e-6
"""The share of two runs' variances below which that of their difference is computed from the differences themselves."""
_AT_ONCE = 1 << 18


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
    one, other = (np.ascontiguousarray(round_means(means).T) for means in (first, second))
    x, y = pair_indices(runs)
    agreement, untied = np.zeros(rankings), np.zeros((2, rankings))
    for piece in pair_pieces(runs, rankings):
        signs, others = (np.sign(means[x[piece]] - means[y[piece]]) for means in (one, other))
        agreement += (signs * others).sum(axis=0)
        untied += [np.abs(each).sum(axis=0) for each in (signs, others)]
    scale = np.sqrt(untied[0] * untied[1])
    return np.asarray(agreement / np.where(scale > 0, scale, np.nan))


def significant_share(scores: Floats, alpha: float) -> float:
    """Return the share of the pairs of runs whose level by the paired t-test is below `alpha`.

    `scores` is float64 [runs, topics] without NaN, at least two of each. The verdicts are those of `t_levels`, but from
    the products of the runs' scores, so that a thousand runs take a second. Where the product of two almost equal runs
    loses digits, their differences decide.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    runs, topics = scores.shape
    means = scores.mean(axis=1)
    products = (centred := scores - means[:, np.newaxis]) @ centred.T
    squares, bound = np.diagonal(products), float(stdtrit(topics - 1, 1 - alpha / 2))
    first, second = pair_indices(runs)
    count = 0
    for piece in pieces(slice(0, pair_count(runs)), _AT_ONCE):
        x, y = first[piece], second[piece]
        difference, whole = np.abs(means[x] - means[y]), squares[x] + squares[y]
        spread = whole - 2 * products[x, y]
        lost = np.flatnonzero(spread < CANCELLED * whole)
        spread[lost] = np.square(centred[x[lost]] - centred[y[lost]]).sum(axis=1)
        error = np.sqrt(spread / (topics - 1))
        # t is infinite for differences that are all equal, and 0 if all are 0
        t = np.where(error > TINY, difference / np.maximum(error, TINY) * np.sqrt(topics), np.inf)
        count += int(np.count_nonzero((difference > TINY) & (t > bound)))
    return count / pair_count(runs)


class Spread(NamedTuple):
    """The mean and the 5th and 95th percentiles of the defined values, NaN without any, and the number undefined."""

    mean: float
    low: float
    high: float
    undefined: int


def spread_of(values: Floats) -> Spread:
    """Return the spread of values over subsets: float64 [subsets], NaN if undefined."""
    known = np.sort(values[~np.isnan(values)])
    if not len(known):
        return Spread(np.nan, np.nan, np.nan, len(values))
    low, high = np.percentile(known, (5, 95))
    return Spread(float(known.mean()), float(low), float(high), len(values) - len(known))
