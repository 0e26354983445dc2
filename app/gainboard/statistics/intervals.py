"""Confidence intervals."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def mean_intervals(scores: Floats, confidence: float = 0.95) -> tuple[Floats, Floats]:
    """Student's t interval for each system's mean score over topics: its lower and upper ends.

    `scores` is float64 [..., topics], NaN where a topic has no defined score; those are left out. `confidence`
    lies in (0, 1). Ends are float64 [...], NaN where fewer than two topics are defined: there is then no variance
    to go by.
    """
    # Imported here because SciPy takes longer to load than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    is_defined = ~np.isnan(scores)
    count = is_defined.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(is_defined, scores, 0.0).sum(axis=-1) / count
        squares = np.where(is_defined, scores - mean[..., np.newaxis], 0.0) ** 2
        error = np.sqrt(squares.sum(axis=-1) / (count - 1) / count)
        half = np.where(count > 1, stdtrit(count - 1.0, 0.5 + confidence / 2) * error, np.nan)
    return mean - half, mean + half
