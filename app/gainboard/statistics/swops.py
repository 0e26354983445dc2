"""Swops: pairs of runs that two metrics order differently."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gainboard.statistics.draws import Floats, Indices
from gainboard.statistics.pairs import pair_differences, pair_indices
from gainboard.statistics.ties import rounded


class Swops(NamedTuple):
    """`pairs` intp [swops, 2] holds runs i < j; `half_ties` counts the pairs that one metric only ties."""

    pairs: Indices
    half_ties: int


def swops_between(first: Floats, second: Floats) -> Swops:
    """The pairs of runs whose means, float64 [runs] by each of two metrics, differ in opposite directions."""
    signs = np.sign(pair_differences(rounded(np.stack((first, second), axis=1))))
    product = signs[:, 0] * signs[:, 1]
    opposite = np.stack(pair_indices(len(first)), axis=1)[product < 0]
    return Swops(opposite, int(((product == 0) & signs.any(axis=1)).sum()))
