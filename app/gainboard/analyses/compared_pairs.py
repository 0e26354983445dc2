"""Every pair of runs under one metric, stored as scores and as significance levels of two bytes each.

1,000 runs make half a million pairs per metric. As rows with names they would take a hundred times the memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gainboard.evaluation.matrices import Floats
from gainboard.statistics.draws import Indices
from gainboard.statistics.pairs import pair_count, pair_indices, pair_number
from gainboard.statistics.significance import find_test

MOST_LISTED = 100_000
"""The most pairs over all metrics that a result lists: about 17 MB of JSON. The other pairs are available in pages."""
PAIRS_AT_ONCE = 5_000


class ComparedPair(NamedTuple):
    """The verdict of a test on one pair. A member is None if there is no number."""

    runs: tuple[str, str]
    difference: float | None
    asl: float | None
    asl_corrected: float | None
    effect_size: float | None
    low: float | None
    high: float | None

    def as_json(self, is_corrected: bool) -> dict[str, Any]:
        """Return the pair in the form of results."""
        return {
            "runs": self.runs,
            "difference": self.difference,
            "asl": self.asl,
            **({"asl_corrected": self.asl_corrected} if is_corrected else {}),
            "effect_size": self.effect_size,
            "interval": [self.low, self.high],
        }


def as_counts(levels: Floats, resamples: int | None) -> NDArray[Any]:
    """Return levels as numbers of resamples, in the fewest bytes; unchanged if they are not such shares.

    `levels` is float64 [pairs]; `as_levels` returns exactly the same numbers.
    """
    if resamples is None:
        return levels
    counts = np.rint(levels * resamples)
    if not np.array_equal(counts / resamples, levels):
        return levels
    return counts.astype(np.min_scalar_type(resamples))


def as_levels(counts: NDArray[Any], resamples: int | None) -> Floats:
    """Return the levels that `as_counts` was given: float64 [pairs]."""
    if resamples is None or counts.dtype.kind == "f":
        return counts
    levels: Floats = counts / resamples
    return levels


@dataclass(frozen=True)
class ComparedPairs:
    """All pairs of the runs under one metric, in the order of `pairs`.

    `scores` is float64 [runs, topics], without NaN. `levels` and, with a correction, `corrected` are [pairs], as
    `as_counts` returns them.
    """

    metric: str
    test: str
    resamples: int | None
    runs: Sequence[str]
    scores: Floats
    levels: NDArray[Any]
    corrected: NDArray[Any] | None

    def __len__(self) -> int:
        return pair_count(len(self.runs))

    def __iter__(self) -> Iterator[ComparedPair]:
        for start in range(0, len(self), PAIRS_AT_ONCE):
            yield from self.at(np.arange(start, min(start + PAIRS_AT_ONCE, len(self))))

    @property
    def is_corrected(self) -> bool:
        """Return whether levels were corrected for many comparisons."""
        return self.corrected is not None

    def at(self, numbers: Indices) -> list[ComparedPair]:
        """Return the pairs with these numbers: intp [any], counted from 0."""
        effects = find_test(self.test).effects(self.scores, numbers)
        first, second = pair_indices(len(self.runs), numbers)
        corrected = self.corrected[numbers] if self.corrected is not None else np.full(len(numbers), np.nan)
        columns = (
            effects.difference,
            as_levels(self.levels[numbers], self.resamples),
            as_levels(corrected, self.resamples),
            effects.size,
            effects.low,
            effects.high,
        )
        names = [(self.runs[one], self.runs[other]) for one, other in zip(first.tolist(), second.tolist(), strict=True)]
        return list(map(ComparedPair, names, *map(_numbers, columns)))

    def select(self, run: str | None, below: float | None) -> Indices:
        """Return the numbers of the pairs of a run with a level below this (None: any run or level): intp, sorted.

        The level is the corrected one, if there is a correction. A run that is not among `runs` has no pairs.
        """
        numbers = self._of_run(run) if run is not None else np.arange(len(self))
        if below is None:
            return numbers
        decisive = self.corrected if self.corrected is not None else self.levels
        return numbers[as_levels(decisive[numbers], self.resamples) < below]

    def least_levels(self) -> Floats:
        """Return the lowest level among each run's pairs, corrected if all of them are: float64 [runs]."""
        decisive = as_levels(self.corrected if self.corrected is not None else self.levels, self.resamples)
        least = np.full(len(self.runs), np.inf)
        for side in pair_indices(len(self.runs)):
            np.minimum.at(least, side, decisive)
        return least

    def _of_run(self, run: str) -> Indices:
        if run not in self.runs:
            return np.arange(0)
        own, every = self.runs.index(run), np.arange(len(self.runs))
        numbers = pair_number(len(self.runs), np.minimum(every, own), np.maximum(every, own))
        others: Indices = numbers[every != own]
        return others


def _numbers(column: Floats) -> list[float | None]:
    if np.isfinite(column).all():
        return column.tolist()  # type: ignore[no-any-return]
    return [number if finite else None for number, finite in zip(column.tolist(), np.isfinite(column), strict=True)]
