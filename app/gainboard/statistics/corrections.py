"""Corrections for many comparisons at once: of m true hypotheses, some look false at any level."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats

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


def max_t(
    observed: Floats, largest: Floats, infinite_counts: NDArray[np.int32], infinite_resamples: NDArray[np.int32]
) -> Floats:
    """Return the single-step max-T adjustment: float64 [pairs] in [0, 1], none below the pair's ASL.

    A pair's level is the share of resamples in which its own t is infinite or the largest finite t of all pairs
    reaches the pair's `observed` t [pairs] (Westfall and Young, Resampling-based multiple testing, 1993). `largest`
    [resamples] is that largest finite t. `infinite_resamples` lists, pair after pair, the resamples in which a pair's
    own t is infinite, at least those whose `largest` does not suffice; `infinite_counts` [pairs] says how many are
    each pair's.

    An infinite t counts for its own pair only. Two runs that differ on one topic have one in every resample without
    that topic, a third of all: counted for every pair, one near-duplicate run would leave no difference significant.
    """
    needed = observed * (1 - NEAR)
    reached = len(largest) - np.searchsorted(np.sort(largest), needed, side="left")
    pairs = np.repeat(np.arange(len(observed)), infinite_counts)
    # A resample whose largest finite t suffices is counted already.
    own = pairs[largest[infinite_resamples] < needed[pairs]]
    adjusted: Floats = (reached + np.bincount(own, minlength=len(observed))) / len(largest)
    return adjusted


def needed_resamples(pairs: int, alpha: float) -> int:
    """The least B with which a pair can be significant at `alpha` after Holm's correction over `pairs`: m / alpha."""
    return max(1, math.ceil(pairs / alpha - NEAR))
