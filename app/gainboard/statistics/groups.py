"""Groups of runs that a test does not tell apart."""

from __future__ import annotations

from string import ascii_lowercase

import numpy as np
from numpy.typing import NDArray

from gainboard.statistics.draws import Floats
from gainboard.statistics.pairs import pair_indices


def significance_groups(means: Floats, asl: Floats, alpha: float = 0.05) -> list[tuple[str, ...]]:
    """The letters of each run's groups: a, b, ..., z, aa, ab, ... with the best mean's groups first.

    A group is a set of runs that stand next to each other by `means` [runs], of which no two differ significantly
    (`asl` [pairs] below `alpha`), and which no neighbour could join. Every run is in one at least. Under Tukey's
    test, where a larger difference of means is never less significant, these are all maximal sets of runs without a
    significant difference; under other tests there may be more.
    """
    order = np.argsort(-means, kind="stable")
    groups = _intervals(_differs(asl, len(means), alpha)[np.ix_(order, order)])
    letters: list[list[str]] = [[] for _ in means]
    for number, (first, last) in enumerate(groups):
        for run in order[first : last + 1]:
            letters[run].append(_letter(number))
    return [tuple(own) for own in letters]


def _differs(asl: Floats, runs: int, alpha: float) -> NDArray[np.bool_]:
    differs = np.zeros((runs, runs), bool)
    first, second = pair_indices(runs)
    differs[first, second] = differs[second, first] = asl < alpha
    return differs


def _intervals(differs: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """The first and last place of each maximal interval within which nothing `differs`."""
    found: list[tuple[int, int]] = []
    first = 0
    for last in range(len(differs)):
        conflicts = np.flatnonzero(differs[first:last, last])
        if len(conflicts):
            found.append((first, last - 1))
            first += int(conflicts[-1]) + 1
    return [*found, (first, len(differs) - 1)] if len(differs) else []


def _letter(number: int) -> str:
    rest, last = divmod(number, len(ascii_lowercase))
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]
