"""Rank correlations that give the top of the ranking more weight: AP correlation and rank-biased overlap.

Rankings come as mean scores, float64 [metrics, runs] without NaN, rounded before any comparison as in `correlation`.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import round_means, tied_pairs
from gainboard.statistics.pairs import pair_indices, pair_pieces


def tau_ap_matrix(means: Floats, ties: Literal["b"] | None = None) -> Floats:
    """Return the AP correlation: [i, j] takes metric i as the reference and j as the estimate.

    For each run of the estimate's ranking, it takes the share of the runs above it that the reference also puts above
    it. The mean of the shares is scaled to -1 .. 1 (Yilmaz, Aslam and Robertson, SIGIR 2008). It is NaN if either
    metric has ties. `ties="b"` is Urbano and Marrero's tau_ap,b (ICTIR 2017) instead: it counts only runs strictly
    above, and is the mean of both directions, hence symmetric. It is NaN if either metric ties all runs.
    """
    means = round_means(means)
    agreement, untied = _weighted_agreement(means)
    # Each run below the first group gives a total weight of 1 to the runs above it, so the diagonal counts such runs.
    below_first = np.diagonal(untied)
    tau = (agreement + untied) / np.where(below_first > 0, below_first, np.nan) - 1
    if ties == "b":
        return (tau + tau.T) / 2
    tau[_ties_in_either(means)] = np.nan
    return tau


def _weighted_agreement(means: Floats) -> tuple[Floats, Floats]:
    """Return products of signs over pairs, weighted by the column's ranking, and whether neither is a tie."""
    metrics, runs = means.shape
    by_run = np.ascontiguousarray(means.T)
    above = np.ascontiguousarray(_above(means).T)
    first, second = pair_indices(runs)
    agreement, untied = np.zeros((metrics, metrics)), np.zeros((metrics, metrics))
    for piece in pair_pieces(runs, metrics):
        x, y = first[piece], second[piece]
        signs = np.sign(by_run[x] - by_run[y])
        weighted = signs / np.maximum(1, np.maximum(above[x], above[y]))
        agreement += signs.T @ weighted
        untied += np.abs(signs).T @ np.abs(weighted)
    return agreement, untied


def _above(means: Floats) -> NDArray[np.float64]:
    """Return how many runs each metric puts strictly above each run."""
    runs = means.shape[1]
    places = [runs - np.searchsorted(np.sort(row), row, side="right") for row in means]
    return np.array(places, dtype=np.float64).reshape(means.shape)


def rbo_matrix(means: Floats, p: float = 0.9) -> Floats:
    """Return extrapolated rank-biased overlap of full rankings (Webber et al., TOIS 28(4), 2010): symmetric.

    The smaller `p` (0 < p < 1), the less the lower ranks count. Results are in 0 .. 1. It is NaN if either metric has
    ties: any order of the tied runs would give another value.
    """
    means = round_means(means)
    metrics, runs = means.shape
    place = np.argsort(np.argsort(-means, axis=1), axis=1)
    depths = np.arange(1, runs + 1)
    # A run counts at every depth from the lower of its two ranks on, so its contribution is a sum over these depths.
    tail = np.cumsum((p**depths / depths)[::-1])[::-1]
    overlap = np.empty((metrics, metrics))
    for one in range(metrics):
        # Identical rankings give exactly 1. The result is mirrored, so that both triangles have equal bits.
        lost = (tail[place[one]] - tail[np.maximum(place[one], place[one:])]).sum(axis=1)
        overlap[one, one:] = overlap[one:, one] = 1 - (1 - p) / p * lost
    overlap[_ties_in_either(means)] = np.nan
    return overlap


def _ties_in_either(means: Floats) -> NDArray[np.bool_]:
    """Return whether row or column has ties, bool [metrics, metrics]."""
    has_ties = tied_pairs(means) > 0
    return has_ties | has_ties[:, np.newaxis]
