"""Mean scores of runs: ties, ranks, comparisons, and confidence intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.pairs import pair_differences


def round_means(means: Floats) -> Floats:
    """Return the means rounded to 12 decimals; equal ones are ties.

    Sums of the same numbers in another order differ in their last bits. Without rounding, about half of the true ties
    of a metric such as P@10 would be missed.
    """
    return np.asarray(np.round(means, 12))


def tied_pairs(means: Floats) -> NDArray[np.int64]:
    """Return how many pairs of runs each metric ties: int64 [metrics] from float64 [metrics, runs]."""
    groups = [np.unique(row, return_counts=True)[1] for row in round_means(means)]
    return np.array([(size * (size - 1) // 2).sum() for size in groups], dtype=np.int64)


def competition_ranks(means: Floats) -> NDArray[np.int64]:
    """Return each run's rank, int64 [runs], from `means` [runs]: 1 plus the number of better runs; ties share a rank.

    Runs without a mean (NaN) come last.
    """
    keys = np.where(np.isnan(means), np.inf, -round_means(means))
    return np.searchsorted(np.sort(keys), keys).astype(np.int64) + 1


def verdicts(means: Floats, asl: Floats, alpha: float) -> NDArray[np.int8]:
    """Return for each pair of runs 1 if the first is better, -1 if the second is, 0 if they do not differ.

    They differ where their `asl` [pairs] is below `alpha`; then `means` [runs] tell the better one.
    """
    return np.where(asl < alpha, np.sign(pair_differences(means)), 0).astype(np.int8)


def mean_intervals(scores: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and upper ends of Student's t interval for each run's mean score over topics.

    `scores` is float64 [..., topics], NaN if a topic has no defined score; such topics are left out. `confidence` is in
    (0, 1). Ends are float64 [...], NaN if fewer than two topics are defined, because there is no variance then.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    is_defined = ~np.isnan(scores)
    count = is_defined.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(is_defined, scores, 0.0).sum(axis=-1) / count
        squares = np.where(is_defined, scores - mean[..., np.newaxis], 0.0) ** 2
        error = np.sqrt(squares.sum(axis=-1) / (count - 1) / count)
        half = np.where(count > 1, stdtrit(count - 1.0, 0.5 + confidence / 2) * error, np.nan)
    return mean - half, mean + half


def load_distributions() -> None:
    """Import SciPy's distributions now. A server calls this at start, so that its first requests need not wait."""
    mean_intervals(np.zeros((1, 2)))
