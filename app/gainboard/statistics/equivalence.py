"""Equivalence: whether two runs differ by less than a margin that was stated beforehand."""

from __future__ import annotations

import numpy as np

from gainboard.statistics.draws import Floats
from gainboard.statistics.effects import TINY


def tost_levels(differences: Floats, margin: float) -> Floats:
    """Return the levels of the paired TOST on `differences` [pairs, topics], at least two topics: float64 [pairs].

    The hypothesis is that the mean difference is at least `margin` > 0 in size, in the units of the metric. The level
    is the larger one of two one-sided t-tests, against -margin and against +margin (Schuirmann, A comparison of the two
    one-sided tests procedure and the power approach, J. Pharmacokinetics and Biopharmaceutics 15, 1987). Without any
    spread, the level is 0 if the difference is smaller than the margin, and else 1. It is NaN if no topic differs: such
    runs may be one run, about whose differences nothing is known.
    """
    # Importing SciPy takes longer than the rest of the server together.
    from scipy.special import stdtr  # noqa: PLC0415

    topics = differences.shape[1]
    mean, spread = differences.mean(axis=1), differences.std(axis=1, ddof=1)
    error = np.where(spread > TINY, spread, np.nan) / np.sqrt(topics)
    above, below = stdtr(topics - 1, -(mean + margin) / error), stdtr(topics - 1, (mean - margin) / error)
    certain = np.where(np.abs(mean) < margin - TINY, 0.0, 1.0)
    certain[np.abs(differences).max(axis=1) <= TINY] = np.nan
    levels: Floats = np.where(spread > TINY, np.maximum(above, below), certain)
    return levels
