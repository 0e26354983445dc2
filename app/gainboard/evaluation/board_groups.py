"""Groups of a board: which runs are not told apart, and which ranks each may have, by the bootstrap range."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.bootstrap_range import (
    BootstrapRange,
    affordable_resamples,
    bootstrap_ranges,
    critical_difference,
    range_levels,
)
from gainboard.statistics.multiple_comparisons import rank_sets, significance_groups
from gainboard.statistics.pairs import pair_count, pair_differences, pair_indices

Floats = NDArray[np.float64]
ALPHA: Final = 0.05
SEED: Final = 0
"""The seed of all boards: equal boards have equal groups."""
LEAST_TOPICS: Final = BootstrapRange.least_topics


@dataclass(frozen=True)
class BoardGroups:
    """The runs with a mean, and the test of all their pairs. A difference above `critical` is significant.

    `means` is float64 [runs] over the `topics` on which all these runs have a score, higher is better. `ranges` is
    [draws], in increasing order.
    """

    names: Sequence[str]
    means: Floats
    topics: int
    ranges: Floats

    @classmethod
    def of(cls, names: Sequence[str], scores: Floats) -> BoardGroups:
        """Test all pairs of the runs: float64 [runs, topics] without NaN, at least two runs and `LEAST_TOPICS`."""
        runs, topics = scores.shape
        ranges = bootstrap_ranges(scores, affordable_resamples(runs, topics), SEED)
        return cls(names, scores.mean(axis=1), topics, ranges)

    @cached_property
    def differs(self) -> NDArray[np.bool_]:
        """The runs that the test tells apart: bool [runs, runs]."""
        gaps = np.abs(self.means[:, np.newaxis] - self.means)
        return np.asarray(gaps > critical_difference(self.ranges, ALPHA))

    @cached_property
    def letters(self) -> Mapping[str, tuple[str, ...]]:
        """The letters of each run. Runs that share a letter are not told apart."""
        return dict(zip(self.names, significance_groups(self.means, self.differs), strict=True))

    @cached_property
    def rank_sets(self) -> Mapping[str, tuple[int, int]]:
        """The best and the worst rank that each run may have."""
        sets = rank_sets(self.means, self.differs).tolist()
        return {name: (best, worst) for name, (best, worst) in zip(self.names, sets, strict=True)}

    @property
    def draws(self) -> int:
        """The number of resamples."""
        return len(self.ranges)

    @property
    def pairs(self) -> int:
        """The number of pairs of runs."""
        return pair_count(len(self.names))

    @cached_property
    def different_pairs(self) -> int:
        """The number of pairs that the test tells apart."""
        return int(self.differs.sum()) // 2

    def levels(self) -> Floats:
        """Return the level of each pair: float64 [pairs]."""
        return range_levels(pair_differences(self.means), self.ranges)

    def verdicts(self) -> NDArray[np.int8]:
        """Return for each pair 1 if the first run is better, -1 if the second is, 0 if they are not told apart."""
        first, second = pair_indices(len(self.names))
        return (self.differs[first, second] * np.sign(pair_differences(self.means))).astype(np.int8)
