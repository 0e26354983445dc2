"""Rank correlation between the rankings that metrics make of the same runs.

Rankings come as mean scores, float64 [metrics, runs] without NaN, which are rounded before any comparison (`ties`);
results are matrices [metrics, metrics], NaN where a coefficient is undefined because a metric ties all runs.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from app.statistics.draws import Floats
from app.statistics.pairs import pair_count, pair_indices
from app.statistics.pieces import pair_pieces
from app.statistics.ties import rounded


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
    """Two-sided significance levels of tau-b against independence: SciPy's, exact where it finds that feasible."""
    from scipy.stats import kendalltau  # noqa: PLC0415

    means = rounded(means)
    varied = np.flatnonzero(np.ptp(means, axis=1) > 0)
    asls = np.full((len(means), len(means)), np.nan)
    for place, one in enumerate(varied):
        for other in varied[: place + 1]:
            asls[one, other] = asls[other, one] = kendalltau(means[one], means[other], method="auto").pvalue
    return asls


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
