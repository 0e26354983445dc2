"""Means over subsets of the topics, trial by trial: what stability and swap rates count with."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats, Indices, resample_counts
from gainboard.statistics.pairs import pieces

TOLERANCE: Final = 1e-9
"""Differences of means up to it are none: sums of tenths or hundredths are off by their last bits."""
_TRIALS = 255
"""As many trials as `count_trials` can count in a byte."""


def trial_pieces(trials: int) -> Iterator[slice]:
    """Slices of the trials, each short enough for `count_trials`."""
    return pieces(slice(0, trials), _TRIALS)


def subset_means(scores: Floats, subsets: Indices) -> Floats:
    """Each run's mean over each subset: float64 [runs, trials] from [runs, topics] and intp [trials, c]."""
    means: Floats = scores @ resample_counts(subsets, scores.shape[1]).T / subsets.shape[1]
    return means


def count_trials(happened: NDArray[np.bool_]) -> NDArray[np.uint8]:
    """In how many trials it happened: uint8 [pairs] from bool [pairs, trials], at most 255 trials at a time.

    Bytes are added thirty-two at a time, where NumPy's own count would first widen each to eight.
    """
    counts: NDArray[np.uint8] = np.add.reduce(happened.view(np.uint8), axis=1, dtype=np.uint8)
    return counts
