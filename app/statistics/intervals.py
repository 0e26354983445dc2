"""Confidence intervals."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray


def mean_interval(scores: NDArray[np.float64], confidence: float = 0.95) -> tuple[float, float] | None:
    """Student's t interval for the mean of one system's scores over topics.

    `scores` is float64 [topics], NaN where a topic has no defined score; those are left out. `confidence` lies
    in (0, 1). None where fewer than two topics are defined: there is then no variance to go by.
    """
    defined = scores[~np.isnan(scores)]
    count = len(defined)
    if count < 2:
        return None
    half = _t_quantile(0.5 + confidence / 2, count - 1) * float(defined.std(ddof=1)) / math.sqrt(count)
    mean = float(defined.mean())
    return mean - half, mean + half


def _t_quantile(probability: float, degrees_of_freedom: int) -> float:
    # Imported here because SciPy takes longer to load than the rest of the server together.
    from scipy.special import stdtrit  # noqa: PLC0415

    return float(stdtrit(degrees_of_freedom, probability))
