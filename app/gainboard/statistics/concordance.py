"""Concordance of metrics: whether they agree on which of two runs is better, and whether they find it significant."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.means import round_means
from gainboard.statistics.pairs import pair_indices, pair_pieces

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
