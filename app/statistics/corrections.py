"""Corrections for many comparisons at once: of m true hypotheses, some look false at any level."""

from __future__ import annotations

import math

import numpy as np

from app.statistics.draws import Floats

NEAR = 1e-9
"""How much, relatively, rounding may take from one side of a comparison that is equal in exact arithmetic."""


def holm(asl: Floats) -> Floats:
    """Holm's step-down adjustment: float64 [pairs] in [0, 1], none below its `asl` [pairs].

    The j-th smallest is multiplied by m - j + 1, and nothing may come out below a smaller one (Holm, A simple
    sequentially rejective multiple test procedure, Scandinavian Journal of Statistics, 1979).
    """
    order = np.argsort(asl, kind="stable")
    factors = np.arange(len(asl), 0, -1.0)
    adjusted = np.empty_like(asl)
    adjusted[order] = np.maximum.accumulate(np.minimum(1.0, factors * asl[order]))
    return adjusted


def max_t(observed: Floats, largest: Floats) -> Floats:
    """The single-step max-T adjustment: float64 [pairs] in [0, 1], none below the pair's ASL.

    The share of resamples whose `largest` (over the pairs, in each resample) reaches what was `observed` for the
    pair; both as in `Outcome` (Westfall and Young, Resampling-based multiple testing, 1993).
    """
    below = np.searchsorted(np.sort(largest), observed * (1 - NEAR), side="left")
    adjusted: Floats = (len(largest) - below) / len(largest)
    return adjusted


def needed_resamples(pairs: int, alpha: float) -> int:
    """The least B with which a pair can be significant at `alpha` after Holm's correction over `pairs`: m / alpha."""
    return max(1, math.ceil(pairs / alpha - NEAR))
